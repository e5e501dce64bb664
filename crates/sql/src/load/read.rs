//! From `workload.toml` as written to what is checked against the program.

use super::convert::Converter;
use super::raw::{Named, RawDistribution, RawLoad, RawMachines, RawProcedure, RawTable};
use super::{Amount, Distribution, Load, Machines, ProcedureLoad, TableLoad};
use crate::error::{Error, ErrorKind, Result};
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

/// Reads `workload.toml` for the tables and procedures of `program`.
///
/// # Errors
///
/// A key that does not exist, a table, procedure or argument that is missing or unknown, or a draw that does not fit, with
/// its place.
pub fn read_load(source: &Source, program: &Program) -> Result<Load> {
    let raw: RawLoad = toml::from_str(source.text()).map_err(|error| {
        let range = error.span().unwrap_or(0..0);
        place_error(source, range, error.message().to_owned())
    })?;
    let reader =
        LoadReader { source, program, units: *raw.units.get_ref(), rows: row_amounts(&raw.tables) };
    if reader.units == 0 {
        return Err(place_error(source, raw.units.span(), "there is at least one unit".to_owned()));
    }
    Ok(Load {
        machines: reader.machines(&raw.machines)?,
        tables: reader.tables(&raw.tables)?,
        procedures: reader.procedures(&raw.procedures)?,
        name: raw.name,
        unit: raw.unit,
        units: reader.units,
    })
}

/// What draws are checked against.
pub(super) struct LoadReader<'a> {
    pub(super) source: &'a Source,
    pub(super) program: &'a Program,
    pub(super) units: u64,
    rows: BTreeMap<String, Amount>,
}

fn row_amounts(tables: &Named<RawTable>) -> BTreeMap<String, Amount> {
    let amount = |(name, table): (&Spanned<String>, &RawTable)| {
        (name.get_ref().clone(), table.rows.get_ref().clone())
    };
    tables.iter().map(amount).collect()
}

pub(super) fn place_error(source: &Source, range: Range<usize>, sentence: String) -> Error {
    let span = Span::new(source.location(range.start), source.location(range.end));
    Error::at(source, span, ErrorKind::Load, sentence)
}

impl LoadReader<'_> {
    pub(super) fn error(&self, range: Range<usize>, sentence: impl Into<String>) -> Error {
        place_error(self.source, range, sentence.into())
    }

    /// The value of `amount` at the default scale, or none if it has none.
    pub(super) fn value(&self, amount: &Amount) -> Option<i64> {
        self.value_within(amount, ROWS_DEPTH_MAX)
    }

    fn value_within(&self, amount: &Amount, depth: u32) -> Option<i64> {
        let deeper = depth.checked_sub(1)?;
        amount.evaluate(self.units, &|table| self.value_within(self.rows.get(table)?, deeper))
    }

    fn machines(&self, raw: &RawMachines) -> Result<Machines> {
        for number in [&raw.count, &raw.threads] {
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
        let (count, threads) = (*raw.count.get_ref(), *raw.threads.get_ref());
        Ok(Machines { count, threads, memory_gib, profile: raw.profile.clone() })
    }

    fn tables(&self, raw: &Named<RawTable>) -> Result<Vec<TableLoad>> {
        if let Some((name, _)) =
            raw.iter().find(|(name, _)| self.program.catalog.position(name.get_ref()).is_none())
        {
            let sentence = format!("schema.sql has no table `{}`", name.get_ref());
            return Err(self.error(name.span(), sentence));
        }
        let mut tables = Vec::new();
        for table in &self.program.catalog.tables {
            let Some(raw) = raw.get(&*table.name) else {
                let sentence = format!("[tables] does not say how many rows `{}` has", table.name);
                return Err(self.error(0..0, sentence));
            };
            if self.value(raw.rows.get_ref()).is_none_or(|rows| rows < 0) {
                let sentence = "this is no number of rows at the default scale";
                return Err(self.error(raw.rows.span(), sentence));
            }
            let columns = table.columns.iter().map(|column| Drawn {
                name: &column.name,
                sql_type: &column.sql_type,
                nullable: column.nullable,
            });
            let columns = self.drawn(&raw.columns, columns.collect(), "column", None)?;
            tables.push(TableLoad {
                table: table.name.clone(),
                rows: raw.rows.get_ref().clone(),
                columns,
            });
        }
        Ok(tables)
    }

    fn procedures(&self, raw: &Spanned<Named<RawProcedure>>) -> Result<Vec<ProcedureLoad>> {
        for name in raw.get_ref().keys() {
            if self.program.procedure(name.get_ref()).is_none() {
                let sentence = format!("procedures.sql has no procedure `{}`", name.get_ref());
                return Err(self.error(name.span(), sentence));
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
            procedures.push(self.procedure(procedure, one, name.span(), frequency)?);
        }
        if sum <= 0.0 {
            return Err(self.error(raw.span(), "at least one frequency is more than 0"));
        }
        Ok(procedures)
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
        let arguments = self.drawn(&raw.arguments, inputs.collect(), "parameter", needed)?;
        Ok(ProcedureLoad { procedure: procedure.name.clone(), frequency, arguments })
    }

    /// The draws of arguments or columns in their order. `needed` is where to say that one is missing.
    fn drawn(
        &self,
        raw: &Named<Spanned<RawDistribution>>,
        wanted: Vec<Drawn<'_>>,
        what: &str,
        needed: Option<Range<usize>>,
    ) -> Result<Vec<(String, Distribution)>> {
        for name in raw.keys() {
            if !wanted.iter().any(|one| one.name == name.get_ref()) {
                let sentence = format!("there is no {what} `{}`", name.get_ref());
                let names: Vec<&str> = wanted.iter().map(|one| one.name).collect();
                let error = self.error(name.span(), sentence);
                return Err(error.advise(format!("there is {}", names.join(", "))));
            }
        }
        let mut converter = Converter { reader: self, earlier: Vec::new() };
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
