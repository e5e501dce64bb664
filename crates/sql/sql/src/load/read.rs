//! Checks the raw `workload.toml` against the program.
//!
//! Decision: docs/decisions/0279-rows-in-workload-toml-says-how-many-rows-calls-add.md

use super::convert::Converter;
use super::raw::{
    Named, RawDistribution, RawLoad, RawMachines, RawProcedure, RawRows, RawSuccess, RawTable,
};
use super::written::{Written, written};
use super::{Amount, Distribution, Draw, Expectation, Load, Machines, ProcedureLoad};
use super::{Range as Bounds, Rows, TableLoad};
use crate::catalog::{Table, TableColumn};
use crate::error::{Error, ErrorKind, Result};
use crate::errors::{Errors, Findings};
use crate::near::{meant, near};
use crate::procedure::Procedure;
use crate::program::Program;
use crate::source::Source;
use crate::types::SqlType;
use sqlparser::tokenizer::Span;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::ops::Range;
use toml::Spanned;

/// Maximum length of a chain of tables whose row counts depend on each other.
const ROWS_DEPTH_MAX: u32 = 16;

/// Maximum length of the names of a workload and of its unit, in bytes.
const SHOWN_BYTES_MAX: usize = 128;

/// Reads `workload.toml` for the tables and procedures of `program`.
///
/// # Errors
///
/// Unknown keys; missing or unknown tables, procedures and arguments; and draws of a wrong type,
/// with positions.
pub fn read_load(source: &Source, program: &Program) -> Result<Load, Errors> {
    let mut findings = Findings::default();
    match read(source, program, &mut findings) {
        Some(load) => findings.into_result(load),
        None => Err(findings.into_result(()).expect_err("it says why there is no load")),
    }
}

/// As [`read_load`], for a program that may have errors already. `None` if the load has an error.
pub(crate) fn read(source: &Source, program: &Program, findings: &mut Findings) -> Option<Load> {
    let errors_before = findings.count();
    let written = written(source, findings);
    let load = written.and_then(|Written { mut raw, left_out }| {
        let RawLoad { tables, procedures, .. } = &mut raw;
        let known = program.catalog.tables.iter().map(|table| &*table.name);
        correct(tables, &known.collect::<Vec<_>>(), no_table, (source, &mut *findings));
        let known = program.procedures.iter().map(|procedure| &*procedure.name);
        let known: Vec<&str> = known.collect();
        correct(procedures.get_mut(), &known, no_procedure, (source, &mut *findings));
        let (units, rows) = (*raw.units.get_ref(), row_amounts(&raw.tables));
        let all = RefCell::new(take(findings));
        let reader = LoadReader { source, program, units, rows, findings: all, left_out };
        let load = reader.load(raw);
        *findings = reader.findings.into_inner();
        load
    });
    findings.sort_from(errors_before);
    load.filter(|_| findings.count() == errors_before)
}

/// Reports each unknown name that is similar to a known name without an entry, and treats its entry
/// as that of the known name.
fn correct<T>(
    named: &mut Named<T>,
    known: &[&str],
    sentence: impl Fn(&str) -> String,
    (source, findings): (&Source, &mut Findings),
) {
    let is_wrong = |name: &&Spanned<String>| {
        !known.contains(&&**name.get_ref()) && !findings.is_damaged(name.get_ref())
    };
    let wrong: Vec<Spanned<String>> = named.keys().filter(is_wrong).cloned().collect();
    for name in wrong {
        let free = known.iter().copied().filter(|known| !named.contains_key(*known));
        let Some(meant) = near(name.get_ref(), free) else { continue };
        let error = place_error(source, name.span(), sentence(name.get_ref()));
        findings.add(error.advise(format!("is `{meant}` meant?")));
        if let Some(entry) = named.remove(&**name.get_ref()) {
            named.insert(Spanned::new(name.span(), meant.to_owned()), entry);
        }
    }
}

/// The context of the checks of draws.
pub(super) struct LoadReader<'a> {
    pub(super) source: &'a Source,
    pub(super) program: &'a Program,
    pub(super) units: u64,
    rows: BTreeMap<String, Amount>,
    findings: RefCell<Findings>,
    /// Names whose entries have errors that are already reported.
    left_out: BTreeSet<String>,
}

/// The tables with a given row count.
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

    /// The error that there is no such table.
    pub(super) fn no_table(&self, range: Range<usize>, name: &str) -> Error {
        let tables = self.program.catalog.tables.iter().map(|table| table.name.as_str());
        self.error(range, no_table(name)).advise(meant(name, tables))
    }

    /// The value, or `None` after reporting its error.
    fn keep<T>(&self, read: Result<T>) -> Option<T> {
        let report = |error: Error| {
            // Do not report a table as missing if its definition has an error, or if a whole file
            // is unreadable.
            let mut findings = self.findings.borrow_mut();
            if !findings.has_damaged(|name| error.sentence == no_table(name)) {
                findings.add(error);
            }
        };
        read.map_err(report).ok()
    }

    /// Whether the entry or the definition of `name` has an error, which is already reported.
    fn is_damaged(&self, name: &str) -> bool {
        self.left_out.contains(name) || self.findings.borrow().is_damaged(name)
    }

    fn load(&self, raw: RawLoad) -> Option<Load> {
        let errors_before = self.findings.borrow().count();
        if self.units == 0 {
            let error = self.error(raw.units.span(), "`units` must be at least 1");
            self.keep::<()>(Err(error));
        }
        let machines = self.keep(self.machines(&raw.machines));
        let tables = self.tables(&raw.tables);
        let procedures = self.procedures(&raw.procedures);
        let (name, unit) = (self.keep(self.shown(raw.name)), self.keep(self.shown(raw.unit)));
        let (machines, name, unit) = (machines?, name?, unit?);
        let load = Load { name, unit, units: self.units, machines, tables, procedures };
        if self.findings.borrow().count() == errors_before {
            self.keep(self.check_rows(&raw.tables, &load))?;
        }
        Some(load)
    }

    /// Whether the row count of a table is drawn.
    pub(super) fn is_drawn(&self, table: &str) -> bool {
        !self.rows.contains_key(table)
    }

    /// The value of `amount` at the default scale, if it has one.
    pub(super) fn value(&self, amount: &Amount) -> Option<i64> {
        self.value_within(amount, ROWS_DEPTH_MAX)
    }

    fn value_within(&self, amount: &Amount, depth: u32) -> Option<i64> {
        let deeper = depth.checked_sub(1)?;
        amount.evaluate(self.units, &|table| self.value_within(self.rows.get(table)?, deeper))
    }

    /// Checks a text that is printed and used in names of files and crates.
    fn shown(&self, text: Spanned<String>) -> Result<String> {
        let place = text.span();
        let text = text.into_inner();
        if text.trim().is_empty() {
            return Err(self.error(place, "this name is empty"));
        }
        if text.len() > SHOWN_BYTES_MAX {
            let sentence =
                format!("this has {} bytes; the maximum is {SHOWN_BYTES_MAX}", text.len());
            return Err(self.error(place, sentence));
        }
        if text.contains(char::is_control) {
            return Err(self.error(place, "this contains invisible characters"));
        }
        Ok(text)
    }

    fn machines(&self, raw: &RawMachines) -> Result<Machines> {
        for number in raw.count.iter().chain(&raw.threads) {
            if *number.get_ref() == 0 {
                return Err(self.error(number.span(), "this must be at least 1"));
            }
        }
        let memory_gib = raw.memory_gib.as_ref().map(|memory| *memory.get_ref());
        if let (Some(gib), Some(raw)) = (memory_gib, &raw.memory_gib)
            && !(gib.is_finite() && gib > 0.0)
        {
            return Err(self.error(raw.span(), "memory must be more than 0 GiB"));
        }
        let said = |number: &Option<Spanned<u32>>| number.as_ref().map(|number| *number.get_ref());
        let (count, threads) = (said(&raw.count), said(&raw.threads));
        Ok(Machines { count, threads, memory_gib, profile: raw.profile.clone() })
    }

    fn tables(&self, all: &Named<RawTable>) -> Vec<TableLoad> {
        for name in all.keys() {
            let is_known = self.program.catalog.position(name.get_ref()).is_some();
            if !is_known && !self.is_damaged(name.get_ref()) {
                self.keep::<()>(Err(self.no_table(name.span(), name.get_ref())));
            }
        }
        let mut tables = Vec::new();
        for table in &self.program.catalog.tables {
            match all.get_key_value(&*table.name) {
                Some((name, raw)) => tables.extend(self.keep(self.table(table, (name, raw), all))),
                None if self.left_out.contains(&table.name) => {}
                None => {
                    let sentence =
                        format!("[tables] has no entry for `{}`; write its `rows`", table.name);
                    self.keep::<()>(Err(self.error(0..0, sentence)));
                }
            }
        }
        tables
    }

    fn table(
        &self,
        table: &Table,
        (name, raw): (&Spanned<String>, &RawTable),
        all: &Named<RawTable>,
    ) -> Result<TableLoad> {
        let line = self.source.location(name.span().start).line as u32;
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
        let columns = self.drawn(&raw.columns, columns.collect(), "column", None, converter);
        Ok(TableLoad { table: table.name.clone(), line, rows, columns })
    }

    /// The columns of the parent row, which a row may refer to as `TABLE.COLUMN`.
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
                let sentence = "this is not a valid row count at the default scale";
                return Err(self.error(raw.rows.span(), sentence));
            }
            (RawRows::Amount(rows), None) => return Ok(Rows::Counted(rows.clone())),
            (RawRows::Drawn(_), None) => {
                let sentence = "a drawn row count needs `for_each` with the parent table";
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

    /// Refuses tables whose expected row count is unknown.
    fn check_rows(&self, raw: &Named<RawTable>, load: &Load) -> Result<()> {
        let expectation = Expectation::new(load, load.units);
        for (name, table) in raw {
            let is_known = load.table(name.get_ref()).is_some();
            if !is_known || expectation.rows(name.get_ref()).is_some() {
                continue;
            }
            let sentence = "the expected row count is unknown; use `uniform`, `one_of`, \
                `mixture`, `same` or `cases` over columns that are drawn so, and no table that has itself as a parent";
            return Err(self.error(table.rows.span(), sentence));
        }
        Ok(())
    }

    fn procedures(&self, raw: &Spanned<Named<RawProcedure>>) -> Vec<ProcedureLoad> {
        for name in raw.get_ref().keys() {
            let is_known = self.program.procedure(name.get_ref()).is_some();
            if !is_known && !self.is_damaged(name.get_ref()) {
                let sentence = no_procedure(name.get_ref());
                let names = self.program.procedures.iter().map(|one| one.name.as_str());
                let meant = meant(name.get_ref(), names);
                self.keep::<()>(Err(self.error(name.span(), sentence).advise(meant)));
            }
        }
        let mut procedures = Vec::new();
        let mut is_called = false;
        for procedure in &self.program.procedures {
            let mut entries = raw.get_ref().iter();
            let Some((name, one)) = entries.find(|(name, _)| *name.get_ref() == procedure.name)
            else {
                if !self.left_out.contains(&procedure.name) {
                    let sentence = format!(
                        "[procedures] has no entry for `{}`; write its `frequency`",
                        procedure.name
                    );
                    let place = raw.span().start..raw.span().start;
                    self.keep::<()>(Err(self.error(place, sentence)));
                }
                is_called = true;
                continue;
            };
            is_called |= *one.frequency.get_ref() > 0.0;
            procedures.extend(self.keep(self.procedure(procedure, one, name.span())));
        }
        if !is_called && self.left_out.is_empty() {
            self.keep::<()>(Err(
                self.error(raw.span(), "at least one frequency must be more than 0")
            ));
        }
        procedures
    }

    /// The share of calls that succeed, as minimum and maximum.
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
    ) -> Result<ProcedureLoad> {
        let frequency = *raw.frequency.get_ref();
        if !(frequency.is_finite() && frequency >= 0.0) {
            return Err(self.error(raw.frequency.span(), "a frequency must be at least 0"));
        }
        let inputs = procedure.inputs().map(|(_, variable)| Drawn {
            name: &variable.name,
            sql_type: &variable.sql_type,
            nullable: true,
        });
        let idle = frequency == 0.0 && raw.arguments.is_empty();
        let needed = if idle { None } else { Some(place) };
        let converter = Converter { reader: self, earlier: Vec::new(), counts_rows: false };
        let inputs = inputs.collect();
        let arguments = self.drawn(&raw.arguments, inputs, "parameter", needed, converter);
        let succeeds = self.keep(self.share(raw)).flatten();
        // If the body has an error, it is unknown which tables it changes.
        let rows = match self.is_damaged(&procedure.name) {
            true => Vec::new(),
            false => self.row_changes(procedure, &raw.rows)?,
        };
        let procedure = procedure.name.clone();
        Ok(ProcedureLoad { procedure, frequency, succeeds, rows, arguments })
    }

    /// The draws of the `wanted` arguments or columns, in their order. `needed` is the position for
    /// errors about missing ones; they are optional if it is `None`.
    fn drawn(
        &self,
        raw: &Named<Spanned<RawDistribution>>,
        wanted: Vec<Drawn<'_>>,
        what: &str,
        needed: Option<Range<usize>>,
        mut converter: Converter<'_>,
    ) -> Vec<(String, Distribution)> {
        for name in raw.keys() {
            if !wanted.iter().any(|one| one.name == name.get_ref()) {
                let sentence = format!("there is no {what} `{}`", name.get_ref());
                let names: Vec<&str> = wanted.iter().map(|one| one.name).collect();
                let advice = match meant(name.get_ref(), names.iter().copied()) {
                    none if none.is_empty() => format!("there is {}", names.join(", ")),
                    meant => meant,
                };
                self.keep::<()>(Err(self.error(name.span(), sentence).advise(advice)));
            }
        }
        let mut drawn = Vec::new();
        for one in wanted {
            let Some(raw) = raw.get(one.name) else {
                if let Some(place) = needed.clone().filter(|_| !self.left_out.contains(one.name)) {
                    let sentence = format!("the {what} `{}` has no draw", one.name);
                    self.keep::<()>(Err(self.error(place, sentence)));
                }
                continue;
            };
            let distribution = self.keep(converter.distribution(raw, one.sql_type));
            if let Some(distribution) = distribution {
                if !one.nullable && distribution.null > 0.0 {
                    let sentence = format!("`{}` is NOT NULL", one.name);
                    self.keep::<()>(Err(self.error(raw.span(), sentence)));
                }
                drawn.push((one.name.to_owned(), distribution));
            }
            converter.earlier.push((one.name.to_owned(), one.sql_type.clone()));
        }
        drawn
    }
}

fn no_procedure(name: &str) -> String {
    format!("procedures.sql has no procedure `{name}`")
}

fn no_table(name: &str) -> String {
    format!("schema.sql has no table `{name}`")
}

/// An argument or column that needs a draw.
struct Drawn<'a> {
    name: &'a str,
    sql_type: &'a SqlType,
    nullable: bool,
}
