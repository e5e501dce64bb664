//! From `workload.toml` as written to what is checked against the program.

use super::convert::Converter;
use super::raw::{
    Named, RawDistribution, RawLoad, RawMachines, RawProcedure, RawRows, RawSuccess, RawTable,
};
use super::{Amount, Distribution, Draw, Expectation, Load, Machines, ProcedureLoad};
use super::{Range as Bounds, Rows, TableLoad};
use crate::catalog::{Table, TableColumn};
use crate::error::{Error, ErrorKind, Result};
use crate::near::meant;
use crate::procedure::Procedure;
use crate::program::Program;
use crate::source::Source;
use crate::types::SqlType;
use sqlparser::tokenizer::Span;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Deepest chain of tables whose rows depend on those of others.
const ROWS_DEPTH_MAX: u32 = 16;

/// Longest name of a workload, and of its unit.
const SHOWN_BYTES_MAX: usize = 128;

/// Reads `workload.toml` for the tables and procedures of `program`.
///
/// # Errors
///
/// A key that does not exist, a table, procedure or argument that is missing or unknown, or a draw that does not fit, with
/// its place.
pub fn read_load(source: &Source, program: &Program) -> Result<Load> {
    let raw: RawLoad = toml::from_str(source.text()).map_err(|error| {
        let range = error.span().unwrap_or(0..0);
        let meant = meant_by(error.message());
        place_error(source, range, error.message().to_owned()).advise(meant)
    })?;
    let reader =
        LoadReader { source, program, units: *raw.units.get_ref(), rows: row_amounts(&raw.tables) };
    if reader.units == 0 {
        return Err(place_error(source, raw.units.span(), "there is at least one unit".to_owned()));
    }
    let load = Load {
        machines: reader.machines(&raw.machines)?,
        tables: reader.tables(&raw.tables)?,
        procedures: reader.procedures(&raw.procedures)?,
        name: reader.shown(raw.name)?,
        unit: reader.shown(raw.unit)?,
        units: reader.units,
    };
    reader.check_rows(&raw.tables, &load)?;
    Ok(load)
}

/// The key or word that was meant by an unknown one, which stands first of all that the message puts in backticks; the known
/// ones follow it.
fn meant_by(message: &str) -> String {
    if !["unknown field `", "unknown variant `"].iter().any(|begin| message.starts_with(begin)) {
        return String::new();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let written = words.next().unwrap_or_default();
    meant(written, words)
}

/// What draws are checked against.
pub(super) struct LoadReader<'a> {
    pub(super) source: &'a Source,
    pub(super) program: &'a Program,
    pub(super) units: u64,
    rows: BTreeMap<String, Amount>,
}

/// The rows of tables that are counted and not drawn.
fn row_amounts(tables: &Named<RawTable>) -> BTreeMap<String, Amount> {
    let amount = |(name, table): (&Spanned<String>, &RawTable)| {
        let RawRows::Amount(rows) = table.rows.get_ref() else { return None };
        table.for_each.is_none().then(|| (name.get_ref().clone(), rows.clone()))
    };
    tables.iter().filter_map(amount).collect()
}

pub(super) fn place_error(source: &Source, range: Range<usize>, sentence: String) -> Error {
    let span = Span::new(source.location(range.start), source.location(range.end));
    Error::at(source, span, ErrorKind::Load, sentence)
}

impl LoadReader<'_> {
    pub(super) fn error(&self, range: Range<usize>, sentence: impl Into<String>) -> Error {
        place_error(self.source, range, sentence.into())
    }

    /// That there is no such table.
    pub(super) fn no_table(&self, range: Range<usize>, name: &str) -> Error {
        let tables = self.program.catalog.tables.iter().map(|table| table.name.as_str());
        self.error(range, format!("schema.sql has no table `{name}`")).advise(meant(name, tables))
    }

    /// Whether it takes draws to tell how many rows a table has.
    pub(super) fn is_drawn(&self, table: &str) -> bool {
        !self.rows.contains_key(table)
    }

    /// The value of `amount` at the default scale, or none if it has none.
    pub(super) fn value(&self, amount: &Amount) -> Option<i64> {
        self.value_within(amount, ROWS_DEPTH_MAX)
    }

    fn value_within(&self, amount: &Amount, depth: u32) -> Option<i64> {
        let deeper = depth.checked_sub(1)?;
        amount.evaluate(self.units, &|table| self.value_within(self.rows.get(table)?, deeper))
    }

    /// A text that is printed, and that names files and crates.
    fn shown(&self, text: Spanned<String>) -> Result<String> {
        let place = text.span();
        let text = text.into_inner();
        if text.trim().is_empty() {
            return Err(self.error(place, "this is shown to people, and is empty"));
        }
        if text.len() > SHOWN_BYTES_MAX {
            let sentence =
                format!("this has {} bytes; at most {SHOWN_BYTES_MAX} are taken", text.len());
            return Err(self.error(place, sentence));
        }
        if text.contains(char::is_control) {
            return Err(self.error(place, "there are characters in it that cannot be seen"));
        }
        Ok(text)
    }

    fn machines(&self, raw: &RawMachines) -> Result<Machines> {
        for number in raw.count.iter().chain(&raw.threads) {
            if *number.get_ref() == 0 {
                return Err(self.error(number.span(), "this is at least 1"));
            }
        }
        let memory_gib = raw.memory_gib.as_ref().map(|memory| *memory.get_ref());
        if let (Some(gib), Some(raw)) = (memory_gib, &raw.memory_gib)
            && !(gib.is_finite() && gib > 0.0)
        {
            return Err(self.error(raw.span(), "memory is more than 0 GiB"));
        }
        let said = |number: &Option<Spanned<u32>>| number.as_ref().map(|number| *number.get_ref());
        let (count, threads) = (said(&raw.count), said(&raw.threads));
        Ok(Machines { count, threads, memory_gib, profile: raw.profile.clone() })
    }

    fn tables(&self, all: &Named<RawTable>) -> Result<Vec<TableLoad>> {
        if let Some((name, _)) =
            all.iter().find(|(name, _)| self.program.catalog.position(name.get_ref()).is_none())
        {
            return Err(self.no_table(name.span(), name.get_ref()));
        }
        let mut tables = Vec::new();
        for table in &self.program.catalog.tables {
            let Some(raw) = all.get(&*table.name) else {
                let sentence = format!("[tables] does not say how many rows `{}` has", table.name);
                return Err(self.error(0..0, sentence));
            };
            tables.push(self.table(table, raw, all)?);
        }
        Ok(tables)
    }

    fn table(&self, table: &Table, raw: &RawTable, all: &Named<RawTable>) -> Result<TableLoad> {
        let of_parent = match &raw.for_each {
            Some(parent) => self.columns_of_parent(parent, all)?,
            None => Vec::new(),
        };
        let rows = self.rows(raw, &of_parent)?;
        let columns = table.columns.iter().map(|column| Drawn {
            name: &column.name,
            sql_type: &column.sql_type,
            nullable: column.nullable,
        });
        let converter = Converter { reader: self, earlier: of_parent, counts_rows: true };
        let columns = self.drawn(&raw.columns, columns.collect(), "column", None, converter)?;
        Ok(TableLoad { table: table.name.clone(), rows, columns })
    }

    /// What the parent's rows are known by, which a row may refer to.
    fn columns_of_parent(
        &self,
        parent: &Spanned<String>,
        all: &Named<RawTable>,
    ) -> Result<Vec<(String, SqlType)>> {
        let name = parent.get_ref();
        let (Some(table), Some(raw)) = (self.program.catalog.table(name), all.get(&**name)) else {
            return Err(self.no_table(parent.span(), name));
        };
        let drawn = table.columns.iter().filter(|column| raw.columns.contains_key(&*column.name));
        let named =
            |column: &TableColumn| (format!("{name}.{}", column.name), column.sql_type.clone());
        Ok(drawn.map(named).collect())
    }

    fn rows(&self, raw: &RawTable, of_parent: &[(String, SqlType)]) -> Result<Rows> {
        if let RawRows::Amount(rows) = raw.rows.get_ref()
            && let Some(unknown) =
                rows.tables().find(|table| self.program.catalog.position(table).is_none())
        {
            return Err(self.no_table(raw.rows.span(), unknown));
        }
        let count = match (raw.rows.get_ref(), &raw.for_each) {
            (RawRows::Amount(rows), None) if self.value(rows).is_none_or(|rows| rows < 0) => {
                let sentence = "this is no number of rows at the default scale";
                return Err(self.error(raw.rows.span(), sentence));
            }
            (RawRows::Amount(rows), None) => return Ok(Rows::Counted(rows.clone())),
            (RawRows::Drawn(_), None) => {
                let sentence = "rows are drawn for each row of a table, which `for_each` names";
                return Err(self.error(raw.rows.span(), sentence));
            }
            (RawRows::Amount(rows), Some(_)) => {
                let range = Bounds { low: rows.clone(), high: rows.clone() };
                let draw = Draw::Uniform { range, decimals: 0, except: None, distinct: false };
                Distribution { null: 0.0, draw }
            }
            (RawRows::Drawn(drawn), Some(_)) => {
                let drawn = Spanned::new(raw.rows.span(), RawDistribution::clone(drawn));
                let earlier = of_parent.to_vec();
                let converter = Converter { reader: self, earlier, counts_rows: false };
                converter.distribution(&drawn, &SqlType::Int8)?
            }
        };
        let parent = raw.for_each.as_ref().map(|parent| parent.get_ref().clone());
        Ok(Rows::ForEach { parent: parent.unwrap_or_default(), count })
    }

    /// It has to be known how many rows each table has, or has on the average.
    fn check_rows(&self, raw: &Named<RawTable>, load: &Load) -> Result<()> {
        let expectation = Expectation::new(load, load.units);
        for (name, table) in raw {
            if expectation.rows(name.get_ref()).is_some() {
                continue;
            }
            let sentence = "nobody can tell how many rows this makes on the average; use `uniform`, `one_of`, \
                `mixture`, `same` or `cases` over columns that are drawn so, and no table that has itself as a parent";
            return Err(self.error(table.rows.span(), sentence));
        }
        Ok(())
    }

    fn procedures(&self, raw: &Spanned<Named<RawProcedure>>) -> Result<Vec<ProcedureLoad>> {
        for name in raw.get_ref().keys() {
            if self.program.procedure(name.get_ref()).is_none() {
                let sentence = format!("procedures.sql has no procedure `{}`", name.get_ref());
                let names = self.program.procedures.iter().map(|one| one.name.as_str());
                let meant = meant(name.get_ref(), names);
                return Err(self.error(name.span(), sentence).advise(meant));
            }
        }
        let mut procedures = Vec::new();
        let mut sum = 0.0;
        for procedure in &self.program.procedures {
            let Some((name, one)) =
                raw.get_ref().iter().find(|(name, _)| *name.get_ref() == procedure.name)
            else {
                let sentence =
                    format!("[procedures] does not say how often `{}` is called", procedure.name);
                return Err(self.error(raw.span().start..raw.span().start, sentence));
            };
            let frequency = *one.frequency.get_ref();
            if !(frequency.is_finite() && frequency >= 0.0) {
                return Err(self.error(one.frequency.span(), "a frequency is 0 or more"));
            }
            sum += frequency;
            let mut load = self.procedure(procedure, one, name.span(), frequency)?;
            load.succeeds = self.share(one)?;
            load.rows = self.row_changes(procedure, &one.rows)?;
            procedures.push(load);
        }
        if sum <= 0.0 {
            return Err(self.error(raw.span(), "at least one frequency is more than 0"));
        }
        Ok(procedures)
    }

    /// The share of calls that succeed, as bounds.
    fn share(&self, raw: &RawProcedure) -> Result<Option<(f64, f64)>> {
        let Some(share) = &raw.succeeds else { return Ok(None) };
        let (low, high) = match *share.get_ref() {
            RawSuccess::One(share) => (share, share),
            RawSuccess::Between([low, high]) => (low, high),
        };
        if !(0.0 <= low && low <= high && high <= 1.0) {
            let sentence =
                "a share of calls is from 0 to 1, or two such numbers, the smaller one first";
            return Err(self.error(share.span(), sentence));
        }
        Ok(Some((low, high)))
    }

    fn procedure(
        &self,
        procedure: &Procedure,
        raw: &RawProcedure,
        place: Range<usize>,
        frequency: f64,
    ) -> Result<ProcedureLoad> {
        let inputs = procedure.inputs().map(|(_, variable)| Drawn {
            name: &variable.name,
            sql_type: &variable.sql_type,
            nullable: true,
        });
        let idle = frequency == 0.0 && raw.arguments.is_empty();
        let needed = if idle { None } else { Some(place) };
        let converter = Converter { reader: self, earlier: Vec::new(), counts_rows: false };
        let inputs = inputs.collect();
        let arguments = self.drawn(&raw.arguments, inputs, "parameter", needed, converter)?;
        let procedure = procedure.name.clone();
        let (succeeds, rows) = (None, Vec::new());
        Ok(ProcedureLoad { procedure, frequency, succeeds, rows, arguments })
    }

    /// The draws of arguments or columns in their order. `needed` is where to say that one is missing.
    fn drawn(
        &self,
        raw: &Named<Spanned<RawDistribution>>,
        wanted: Vec<Drawn<'_>>,
        what: &str,
        needed: Option<Range<usize>>,
        mut converter: Converter<'_>,
    ) -> Result<Vec<(String, Distribution)>> {
        for name in raw.keys() {
            if !wanted.iter().any(|one| one.name == name.get_ref()) {
                let sentence = format!("there is no {what} `{}`", name.get_ref());
                let names: Vec<&str> = wanted.iter().map(|one| one.name).collect();
                let advice = match meant(name.get_ref(), names.iter().copied()) {
                    none if none.is_empty() => format!("there is {}", names.join(", ")),
                    meant => meant,
                };
                return Err(self.error(name.span(), sentence).advise(advice));
            }
        }
        let mut drawn = Vec::new();
        for one in wanted {
            match (raw.get(one.name), &needed) {
                (Some(raw), _) => {
                    let distribution = converter.distribution(raw, one.sql_type)?;
                    if !one.nullable && distribution.null > 0.0 {
                        let sentence = format!("`{}` is NOT NULL", one.name);
                        return Err(self.error(raw.span(), sentence));
                    }
                    converter.earlier.push((one.name.to_owned(), one.sql_type.clone()));
                    drawn.push((one.name.to_owned(), distribution));
                }
                (None, Some(place)) => {
                    let sentence = format!("nothing says how the {what} `{}` is drawn", one.name);
                    return Err(self.error(place.clone(), sentence));
                }
                (None, None) => {}
            }
        }
        Ok(drawn)
    }
}

/// An argument or column that is to be drawn.
struct Drawn<'a> {
    name: &'a str,
    sql_type: &'a SqlType,
    nullable: bool,
}
