//! The stored plans of a workload: one file `plans/PROCEDURE.NUMBER.xml` for each statement.
//!
//! A comment at the beginning of each file has the statement, so that a plan of an older statement
//! is detected.
//!
//! Decision: docs/decisions/0165-stored-plans-contain-costs-and-their-statement.md

use crate::collect::{Question, Statement, collect};
use crate::node::Plan;
use crate::read::{BYTES_MAX, Origin, PlanError, read};
use crate::server::{CollectError, ServerChoice};
use crate::spread;

use sql::file::{read_text, replace};
use sql::{CHECKS, EmbeddedStatement, WorkloadFolder};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The folder of plans within a workload's folder.
pub const FOLDER: &str = "plans";

/// Why the plans of a workload cannot be collected or read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(
        "{file}: the plan of {statement} is missing; create the plans with `namdb spade plan {folder}`"
    )]
    Missing { folder: String, file: String, statement: String },
    /// A plan belongs to another statement.
    #[error(
        "{file}: this is not the plan of {statement}: the statement in line {line} of its file has changed; create the plans with \
         `namdb spade plan {folder}`"
    )]
    Stale {
        folder: String,
        file: String,
        /// The current statement.
        statement: String,
        /// The line of the statement in its SQL file.
        line: u32,
    },
    /// A procedure's name cannot be a file name.
    #[error(
        "the name of the procedure `{procedure}` cannot be a file name; use letters, digits and _"
    )]
    Name { procedure: String },
    #[error("{file}: {error}")]
    File {
        file: String,
        /// The system's error message.
        error: String,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanFile {
    /// The name within the folder of plans.
    pub name: String,
    pub text: String,
}

/// Plans collected from PostgreSQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// PostgreSQL's major version.
    pub server_version: u32,
    /// One for each statement, in the same order.
    pub files: Vec<PlanFile>,
}

/// The changes that writing made, or would make.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    pub added: Vec<String>,
    /// Files with a different plan.
    pub changed: Vec<String>,
    /// Files without a statement.
    pub removed: Vec<String>,
    /// Number of unchanged files.
    pub same: usize,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Collects the plans of a workload's statements and of its checks from PostgreSQL. Each plan is
/// also read, so that an unsupported plan is reported now and not at its first use.
///
/// # Errors
/// PostgreSQL is not available, it refuses a file or a statement, or a plan is unsupported.
pub fn make(
    folder: &Path,
    workload: &WorkloadFolder,
    choice: &ServerChoice,
) -> Result<Made, FolderError> {
    let all =
        || workload.program.embedded_statements().chain(workload.checks.embedded_statements());
    let names: Vec<String> = all().map(file_name).collect::<Result<_, _>>()?;
    let mut files = vec![folder.join("schema.sql"), folder.join("procedures.sql")];
    if !workload.checks.procedures.is_empty() {
        files.push(folder.join(CHECKS));
    }
    let question = Question {
        files,
        sizes: spread::sizes(&workload.load),
        statements: workload.program.embedded_statements().map(asked).collect(),
        checks: workload.checks.embedded_statements().map(asked).collect(),
    };
    let answer = collect(&question, choice)?;
    let mut files = Vec::with_capacity(names.len());
    for ((name, statement), plan) in names.into_iter().zip(all()).zip(&answer.plans) {
        let made_by = format!("by PostgreSQL {}", answer.server_version);
        let text = format!("{}{plan}\n", comment(statement, &made_by));
        read_of(statement, &text, &origin(folder, statement, &name))?;
        files.push(PlanFile { name, text });
    }
    Ok(Made { server_version: answer.server_version, files })
}

/// Compares the files with the stored ones.
///
/// # Errors
/// A stored file cannot be read.
pub fn compare(folder: &Path, files: &[PlanFile]) -> Result<Changes, FolderError> {
    let mut there = stored(folder)?;
    let mut changes = Changes::default();
    for file in files {
        match there.remove(&file.name) {
            None => changes.added.push(file.name.clone()),
            Some(text) if text == file.text => changes.same += 1,
            Some(_) => changes.changed.push(file.name.clone()),
        }
    }
    changes.removed.extend(there.into_keys());
    Ok(changes)
}

/// Writes new and changed files, then removes files without a statement.
///
/// # Errors
/// A file cannot be written or removed; earlier files have been. Nothing is removed before all
/// files are written.
pub fn write(folder: &Path, files: &[PlanFile]) -> Result<Changes, FolderError> {
    let changes = compare(folder, files)?;
    let plans = folder.join(FOLDER);
    let cannot = |what: &str, path: &Path, error: std::io::Error| FolderError::File {
        file: shown(path),
        error: format!("cannot be {what}: {error}"),
    };
    if !plans.is_dir() {
        std::fs::create_dir_all(&plans).map_err(|error| cannot("made", &plans, error))?;
    }
    let differs = |file: &&PlanFile| {
        changes.added.contains(&file.name) || changes.changed.contains(&file.name)
    };
    for file in files.iter().filter(differs) {
        let path = plans.join(&file.name);
        let written = replace(&path, file.text.as_bytes());
        written.map_err(|error| cannot("written", &path, error))?;
    }
    for name in &changes.removed {
        let path = plans.join(name);
        std::fs::remove_file(&path).map_err(|error| cannot("removed", &path, error))?;
    }
    Ok(changes)
}

/// Reads the plans of a workload's statements, in the same order.
///
/// # Errors
/// A plan is missing, belongs to another statement, or cannot be read.
pub fn open(folder: &Path, statements: &[&EmbeddedStatement]) -> Result<Vec<Plan>, FolderError> {
    statements
        .iter()
        .map(|statement| {
            let name = file_name(statement)?;
            let origin = origin(folder, statement, &name);
            let text = match read_text(Path::new(&origin.file), BYTES_MAX as u64) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let (folder, file, statement) = (shown(folder), origin.file, origin.statement);
                    return Err(FolderError::Missing { folder, file, statement });
                }
                Err(error) => return Err(failed(Path::new(&origin.file), &error)),
            };
            // Without the first line, which has the version.
            let wanted = comment(statement, "");
            let wanted = wanted.split_once('\n').map_or("", |(_, rest)| rest);
            if !text.split_once('\n').is_some_and(|(_, rest)| rest.starts_with(wanted)) {
                let (folder, line) = (shown(folder), statement.line);
                let (file, statement) = (origin.file, origin.statement);
                return Err(FolderError::Stale { folder, file, statement, line });
            }
            Ok(read_of(statement, &text, &origin)?)
        })
        .collect()
}

/// Reads a statement's plan; errors name the line of the statement, where the user can change it.
fn read_of(statement: &EmbeddedStatement, text: &str, origin: &Origin) -> Result<Plan, PlanError> {
    read(text, origin).map_err(|error| PlanError {
        statement: format!("{} (line {} of its file)", error.statement, statement.line),
        ..error
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The statement's name, as `new_order.3`.
fn name(statement: &EmbeddedStatement) -> String {
    format!("{}.{}", statement.procedure, statement.number)
}

fn file_name(statement: &EmbeddedStatement) -> Result<String, FolderError> {
    let plain = |character: char| character.is_alphanumeric() || "_$".contains(character);
    if !statement.procedure.chars().all(plain) {
        return Err(FolderError::Name { procedure: statement.procedure.clone() });
    }
    Ok(format!("{}.xml", name(statement)))
}

fn asked(statement: &EmbeddedStatement) -> Statement {
    Statement {
        name: name(statement),
        text: statement.text.clone(),
        parameter_types: statement.parameter_types.clone(),
    }
}

fn origin(folder: &Path, statement: &EmbeddedStatement, file_name: &str) -> Origin {
    Origin {
        file: folder.join(FOLDER).join(file_name).display().to_string(),
        statement: name(statement),
        parameters: statement.parameter_types.len() as u32,
    }
}

/// The comment at the beginning of a file, which identifies the statement.
fn comment(statement: &EmbeddedStatement, made_by: &str) -> String {
    let mut text = format!("{} {made_by}\n\n{}\n", name(statement), statement.text.trim());
    let names = statement.parameter_types.iter().zip(&statement.variables);
    for (number, (type_name, variable)) in (1..).zip(names) {
        let field = variable.field.as_ref().map(|field| format!(".{field}")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "${number} {type_name} {}{field}", variable.name);
    }
    // XML comments may not contain `--`.
    let text = text.replace("--", "- -").replace("--", "- -");
    format!("<!-- {text}-->\n")
}

/// The text of each stored plan, by file name.
fn stored(folder: &Path) -> Result<BTreeMap<String, String>, FolderError> {
    let plans = folder.join(FOLDER);
    let entries = match std::fs::read_dir(&plans) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failed(&plans, &error)),
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path: PathBuf = entry.map_err(|error| failed(&plans, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(name, text);
        }
    }
    Ok(files)
}

fn failed(path: &Path, error: &std::io::Error) -> FolderError {
    FolderError::File { file: path.display().to_string(), error: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn file(name: &str, text: &str) -> PlanFile {
        PlanFile { name: name.to_owned(), text: text.to_owned() }
    }

    /// A failed write removes no plan, and unchanged files are not written.
    #[test]
    fn plans_stay_until_others_are_there() {
        let folder = std::env::temp_dir().join(format!("namdb-plans-{}", std::process::id()));
        let place = |name: &str| folder.join(FOLDER).join(name);
        write(&folder, &[file("a.1.xml", "a"), file("b.1.xml", "b")]).expect("there is room");
        let number = std::fs::metadata(place("a.1.xml")).expect("it is there").ino();

        let long = format!("{}.1.xml", "n".repeat(300));
        let files = [file("a.1.xml", "a"), file(&long, "n")];
        let told = write(&folder, &files).expect_err("no file has such a name").to_string();
        assert!(told.contains("nnn.1.xml: cannot be written: "), "{told}");
        assert_eq!(std::fs::read(place("b.1.xml")).expect("it stays"), b"b");

        let changes = write(&folder, &[file("a.1.xml", "a"), file("c.1.xml", "c")]);
        let changes = changes.expect("there is room");
        assert_eq!((changes.same, changes.removed.len()), (1, 1));
        assert!(place("c.1.xml").is_file() && !place("b.1.xml").exists());
        assert_eq!(std::fs::metadata(place("a.1.xml")).expect("it is there").ino(), number);
        std::fs::remove_dir_all(folder).expect("it is ours");
    }
}
