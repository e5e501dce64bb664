//! The plans beside a workload: one file `plans/PROCEDURE.NUMBER.xml` for each statement.
//!
//! Each file begins with a comment that has the statement, so that a plan that is of an older one is noticed.
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

/// The folder of plans in a workload's folder.
pub const FOLDER: &str = "plans";

/// Why there are no plans to work with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// PostgreSQL.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// A plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan that is not there.
    #[error(
        "{file}: there is no plan of {statement}; make the plans with `namdb spade plan {folder}`"
    )]
    Missing {
        /// The workload's folder.
        folder: String,
        /// Where it should be.
        file: String,
        /// Of which statement.
        statement: String,
    },
    /// A plan of something else.
    #[error(
        "{file}: this is no plan of {statement}, as line {line} of its file has that statement now; make the plans with \
         `namdb spade plan {folder}`"
    )]
    Stale {
        /// The workload's folder.
        folder: String,
        /// The file.
        file: String,
        /// The statement that it should be of.
        statement: String,
        /// Where that stands.
        line: u32,
    },
    /// A name that no file can have.
    #[error(
        "the procedure `{procedure}` has a name that is no name of a file; use letters, digits and _"
    )]
    Name {
        /// The procedure.
        procedure: String,
    },
    /// A file.
    #[error("{file}: {error}")]
    File {
        /// Which.
        file: String,
        /// What the system says.
        error: String,
    },
}

/// The file of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanFile {
    /// Its name in the folder of plans.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Plans as a PostgreSQL has just made them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// The first number of its version.
    pub server_version: u32,
    /// One for each statement, in the order of those.
    pub files: Vec<PlanFile>,
}

/// What writing has done, or what would have to be done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files that had another plan.
    pub changed: Vec<String>,
    /// Files that are of no statement.
    pub removed: Vec<String>,
    /// How many were as they are.
    pub same: usize,
}

impl Changes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Asks a PostgreSQL for the plans of a workload's statements, and of those of its checks. Each is read, so that one that
/// cannot be used is refused here and not when it is wanted.
///
/// # Errors
/// If there is no PostgreSQL, it refuses a file or a statement, or a plan has what is not known.
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

/// Compares files with those that are there.
///
/// # Errors
/// If one that is there cannot be read.
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

/// Writes files that are not there as they are, and then removes those that are of no statement any more.
///
/// # Errors
/// If one cannot be written or removed; those before it have been. None is removed before all are written.
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

/// Reads the plans of a workload's statements, in the order of those.
///
/// # Errors
/// If one is missing, is of another statement, or cannot be read.
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
            // All but the first line, which has the version.
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

/// Reads a statement's plan; what is wrong with it is told with the place of the statement, where it can be changed.
fn read_of(statement: &EmbeddedStatement, text: &str, origin: &Origin) -> Result<Plan, PlanError> {
    read(text, origin).map_err(|error| PlanError {
        statement: format!("{} (line {} of its file)", error.statement, statement.line),
        ..error
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What a statement is called: `new_order.3`.
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

/// The comment at the head of a file: whose plan it is.
fn comment(statement: &EmbeddedStatement, made_by: &str) -> String {
    let mut text = format!("{} {made_by}\n\n{}\n", name(statement), statement.text.trim());
    let names = statement.parameter_types.iter().zip(&statement.variables);
    for (number, (type_name, variable)) in (1..).zip(names) {
        let field = variable.field.as_ref().map(|field| format!(".{field}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(text, "${number} {type_name} {}{field}", variable.name);
    }
    // Two of these may not follow each other in a comment.
    let text = text.replace("--", "- -").replace("--", "- -");
    format!("<!-- {text}-->\n")
}

/// The files with plans that are there.
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

    /// What cannot be written takes no plan away, and what is as it was is not written.
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
