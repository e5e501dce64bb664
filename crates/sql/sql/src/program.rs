//! Reads a schema with its procedures, and whole workload folders.

use crate::catalog::Catalog;
use crate::embedded::EmbeddedStatement;
use crate::error::{Error, ErrorKind, Result};
use crate::errors::{Errors, Findings};
use crate::file::text_of;
use crate::load::{self, Load};
use crate::procedure::{ParameterMode, Procedure, Returns, Volatility};
use crate::source::{FILE_BYTES_MAX, Source};
use crate::{routine, schema};
use sqlparser::tokenizer::{Location, Span};
use std::path::Path;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub catalog: Catalog,
    /// The procedures, in file order.
    pub procedures: Vec<Procedure>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct WorkloadFolder {
    /// `schema.sql` and `procedures.sql`.
    pub program: Program,
    /// `schema.sql` and `checks.sql`; no procedures if `checks.sql` does not exist.
    pub checks: Program,
    /// `workload.toml`.
    pub load: Load,
}

impl Program {
    /// Parses the texts of `schema.sql` and `procedures.sql`.
    ///
    /// # Errors
    ///
    /// All errors and all unsupported SQL, with positions.
    pub fn parse(schema: &Source, procedures: &Source) -> Result<Self, Errors> {
        let mut findings = Findings::default();
        let catalog = catalog(Ok(schema.clone()), &mut findings);
        let program = Self::over(catalog, Ok(procedures.clone()), &mut findings);
        findings.into_result(program)
    }

    /// Parses the procedures of a file against the tables of `catalog`.
    fn over(catalog: Catalog, procedures: Result<Source>, findings: &mut Findings) -> Self {
        let procedures = match procedures.and_then(checked) {
            Ok(source) => routine::read(&source, &catalog, None, findings),
            Err(error) => {
                findings.add_unreadable_file(error);
                Vec::new()
            }
        };
        Self { catalog, procedures }
    }

    pub fn procedure(&self, name: &str) -> Option<&Procedure> {
        self.procedures.iter().find(|procedure| procedure.name == name)
    }

    /// The statements that need a plan, by procedure and number.
    pub fn embedded_statements(&self) -> impl Iterator<Item = &EmbeddedStatement> {
        self.procedures.iter().flat_map(|procedure| &procedure.statements)
    }

    /// Reads `schema.sql` and `procedures.sql` in `folder`; `workload.toml` may be missing.
    ///
    /// # Errors
    ///
    /// As [`Program::parse`], or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Errors> {
        let mut findings = Findings::default();
        let catalog = catalog(read(folder, "schema.sql"), &mut findings);
        let program = Self::over(catalog, read(folder, "procedures.sql"), &mut findings);
        findings.into_result(program)
    }

    /// Reads `schema.sql` and [`CHECKS`] in `folder`. Checks are functions without parameters; each
    /// returns the rows in which the procedures have left a wrong state. Without the file there are
    /// no checks.
    ///
    /// # Errors
    ///
    /// As [`Program::parse`]. A check also may not have parameters, must return rows, and must be
    /// declared `STABLE` or `IMMUTABLE`.
    pub fn read_checks(folder: &Path) -> Result<Self, Errors> {
        let mut findings = Findings::default();
        let catalog = catalog(read(folder, "schema.sql"), &mut findings);
        let checks = Self::checks_over(catalog, folder, &mut findings);
        findings.into_result(checks)
    }

    fn checks_over(catalog: Catalog, folder: &Path, findings: &mut Findings) -> Self {
        let file = folder.join(CHECKS);
        if matches!(file.try_exists(), Ok(false)) {
            return Self { catalog, procedures: Vec::new() };
        }
        let source = read(folder, CHECKS);
        let checks = Self::over(catalog, source.clone(), findings);
        let Ok(source) = source else { return checks };
        for check in &checks.procedures {
            if check.volatility == Volatility::Volatile
                || !check.parameters.iter().all(|parameter| parameter.mode == ParameterMode::Out)
                || !matches!(check.returns, Returns::Rows(_))
            {
                let sentence = format!(
                    "the check `{}` has parameters, returns no rows, or is not declared STABLE",
                    check.name
                );
                let error = of_check(&source, check, ErrorKind::Outside, sentence);
                findings.add(error.advise("write a check as a STABLE function without parameters that RETURNS TABLE (...), the rows that are wrong"));
            }
        }
        checks
    }
}

/// Parses the tables of `schema.sql`.
fn catalog(source: Result<Source>, findings: &mut Findings) -> Catalog {
    match source.and_then(checked) {
        Ok(source) => schema::read(&source, findings),
        Err(error) => {
            findings.add_unreadable_file(error);
            Catalog::default()
        }
    }
}

/// An error at the line where a check begins.
fn of_check(source: &Source, check: &Procedure, kind: ErrorKind, sentence: String) -> Error {
    let place = Location::new(u64::from(check.line), 1);
    Error::at(source, Span::new(place, place), kind, sentence)
}

/// The file with a workload's checks.
pub const CHECKS: &str = "checks.sql";

impl WorkloadFolder {
    ///
    /// # Errors
    ///
    /// All errors and all unsupported SQL, with positions, or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Errors> {
        let mut findings = Findings::default();
        let catalog = catalog(read(folder, "schema.sql"), &mut findings);
        let program = Program::over(catalog.clone(), read(folder, "procedures.sql"), &mut findings);
        // An error in a check may follow from an error in the schema, but not from one in a
        // procedure.
        let checks = Program::checks_over(catalog, folder, &mut findings);
        if let Ok(source) = read(folder, CHECKS) {
            for check in &checks.procedures {
                if program.procedure(&check.name).is_some() {
                    let sentence =
                        format!("the check `{}` has the name of a procedure", check.name);
                    findings.add(of_check(&source, check, ErrorKind::Name, sentence));
                }
            }
        }
        let load = match read(folder, "workload.toml").and_then(checked) {
            Ok(source) => load::read(&source, &program, &mut findings),
            Err(error) => {
                findings.add_unreadable_file(error);
                None
            }
        };
        match load {
            Some(load) => findings.into_result(Self { program, checks, load }),
            None => Err(findings.into_result(()).expect_err("it says why there is no load")),
        }
    }
}

fn read(folder: &Path, file: &str) -> Result<Source> {
    let path = folder.join(file);
    let name = path.display().to_string();
    let bytes = std::fs::read(&path)
        .map_err(|error| Error::file(&name, format!("cannot be read: {error}")))?;
    check_size(&name, bytes.len())?;
    let text = text_of(bytes).map_err(|(line, column)| Error {
        line,
        column,
        ..Error::file(&name, "is not text in UTF-8")
    })?;
    Ok(Source::new(&name, &text))
}

/// Refuses a source that is too long.
fn checked(source: Source) -> Result<Source> {
    check_size(source.name(), source.text().len())?;
    Ok(source)
}

fn check_size(name: &str, bytes: usize) -> Result<()> {
    if bytes > FILE_BYTES_MAX {
        let sentence = format!("has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
        return Err(Error::file(name, sentence));
    }
    Ok(())
}
