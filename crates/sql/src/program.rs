//! A schema with its procedures, and a workload folder.

use crate::catalog::Catalog;
use crate::embedded::EmbeddedStatement;
use crate::error::{Error, ErrorKind, Result};
use crate::file::text_of;
use crate::load::{Load, read_load};
use crate::procedure::{ParameterMode, Procedure, Returns, Volatility};
use crate::routine::read_procedures;
use crate::schema::read_schema;
use crate::source::{FILE_BYTES_MAX, Source};
use sqlparser::tokenizer::{Location, Span};
use std::path::Path;

/// Tables and procedures, resolved and typed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The tables.
    pub catalog: Catalog,
    /// The procedures, in the order of the file.
    pub procedures: Vec<Procedure>,
}

/// A workload folder.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkloadFolder {
    /// `schema.sql` and `procedures.sql`.
    pub program: Program,
    /// `schema.sql` and `checks.sql`; no procedures where there is no such file.
    pub checks: Program,
    /// `workload.toml`.
    pub load: Load,
}

impl Program {
    /// Reads the texts of `schema.sql` and `procedures.sql`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or outside the supported SQL, with its place.
    pub fn parse(schema: &Source, procedures: &Source) -> Result<Self> {
        for source in [schema, procedures] {
            check_size(source.name(), source.text().len())?;
        }
        let catalog = read_schema(schema)?;
        let procedures = read_procedures(procedures, &catalog)?;
        Ok(Self { catalog, procedures })
    }

    /// The procedure called `name`.
    pub fn procedure(&self, name: &str) -> Option<&Procedure> {
        self.procedures.iter().find(|procedure| procedure.name == name)
    }

    /// The statements that a planner has to see, by procedure and number.
    pub fn embedded_statements(&self) -> impl Iterator<Item = &EmbeddedStatement> {
        self.procedures.iter().flat_map(|procedure| &procedure.statements)
    }

    /// Reads `schema.sql` and `procedures.sql` in `folder`; `workload.toml` need not be there.
    ///
    /// # Errors
    ///
    /// As [`Program::parse`]; or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        Self::parse(&read(folder, "schema.sql")?, &read(folder, "procedures.sql")?)
    }

    /// Reads `schema.sql` and [`CHECKS`] in `folder`: functions without parameters that look at what the procedures have
    /// left behind, and give back the rows that are wrong. Without such a file there are none.
    ///
    /// # Errors
    ///
    /// As [`Program::parse`]; or one of them takes parameters, gives back anything but rows, or is not declared to change nothing.
    pub fn read_checks(folder: &Path) -> Result<Self> {
        let schema = read(folder, "schema.sql")?;
        let file = folder.join(CHECKS);
        if matches!(file.try_exists(), Ok(false)) {
            return Self::parse(&schema, &Source::new(CHECKS, ""));
        }
        let source = read(folder, CHECKS)?;
        let checks = Self::parse(&schema, &source)?;
        for check in &checks.procedures {
            if check.volatility == Volatility::Volatile
                || !check.parameters.iter().all(|parameter| parameter.mode == ParameterMode::Out)
                || !matches!(check.returns, Returns::Rows(_))
            {
                let (name, place) = (&check.name, Location::new(u64::from(check.line), 1));
                let sentence = format!(
                    "the check `{name}` takes parameters, gives back no rows, or may change some"
                );
                let span = Span::new(place, place);
                let error = Error::at(&source, span, ErrorKind::Outside, sentence);
                return Err(error.advise("a check is a function without parameters, STABLE, that RETURNS TABLE (...): the rows that are wrong"));
            }
        }
        Ok(checks)
    }
}

/// The file of a workload's checks.
pub const CHECKS: &str = "checks.sql";

impl WorkloadFolder {
    /// Reads the files in `folder`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or outside what is supported, with its place; or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let program = Program::read(folder)?;
        let checks = Program::read_checks(folder)?;
        if let Some(check) =
            checks.procedures.iter().find(|check| program.procedure(&check.name).is_some())
        {
            let sentence = format!("the check `{}` has the name of a procedure", check.name);
            return Err(Error::file(&folder.join(CHECKS).display().to_string(), sentence));
        }
        let load = read_load(&read(folder, "workload.toml")?, &program)?;
        Ok(Self { program, checks, load })
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

fn check_size(name: &str, bytes: usize) -> Result<()> {
    if bytes > FILE_BYTES_MAX {
        let sentence = format!("has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
        return Err(Error::file(name, sentence));
    }
    Ok(())
}
