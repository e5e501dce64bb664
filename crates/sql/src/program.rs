//! A schema with its procedures, and a workload folder.

use crate::catalog::Catalog;
use crate::embedded::EmbeddedStatement;
use crate::error::{Error, Result};
use crate::load::{Load, read_load};
use crate::procedure::Procedure;
use crate::routine::read_procedures;
use crate::schema::read_schema;
use crate::source::{FILE_BYTES_MAX, Source};
use std::path::Path;

/// Tables and procedures, resolved and typed.
#[derive(Clone, PartialEq, Debug)]
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
}

impl WorkloadFolder {
    /// Reads the three files in `folder`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or outside what is supported, with its place; or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let program = Program::read(folder)?;
        let load = read_load(&read(folder, "workload.toml")?, &program)?;
        Ok(Self { program, load })
    }
}

fn read(folder: &Path, file: &str) -> Result<Source> {
    let path = folder.join(file);
    let name = path.display().to_string();
    let bytes = std::fs::read(&path)
        .map_err(|error| Error::file(&name, format!("cannot be read: {error}")))?;
    check_size(&name, bytes.len())?;
    let text = String::from_utf8(bytes).map_err(|_| Error::file(&name, "is not text in UTF-8"))?;
    Ok(Source::new(&name, &text))
}

fn check_size(name: &str, bytes: usize) -> Result<()> {
    if bytes > FILE_BYTES_MAX {
        let sentence = format!("has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
        return Err(Error::file(name, sentence));
    }
    Ok(())
}
