//! Generates a cargo project for generated code: a library with it, and the program `namdb` that
//! links it.
//!
//! Its files are written once and then belong to the user; only the folder of the generated module
//! is overwritten. So a project may link several workloads, have other dependencies, and extend
//! `main`.
//!
//! Decision: docs/decisions/0275-a-users-generated-code-is-linked-by-the-users-program.md

use crate::folder::{FolderError, failure};
use crate::names::identifier;
use sql::file::replace;
use std::path::{Path, PathBuf};

/// The crates of namdb, besides `namdb` itself, that generated code uses.
const USED: [&str; 4] = ["fabric", "layout", "procedure_runtime", "txn"];
/// Names that cargo, a project's own files or its dependencies use.
const TAKEN: [&str; 8] =
    ["build", "deps", "examples", "incremental", "lib", "main", "namdb", "test"];

/// Where a project finds the crates of namdb.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// In a checkout on this host.
    Checkout(PathBuf),
    /// In the repository at this address.
    Repository(String),
}

/// A project for the code of a workload.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
    /// Name of the package, its library and program, and the generated module.
    name: String,
    workload: String,
}

/// The result of writing a project's files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    /// Files that were created.
    pub written: Vec<String>,
    /// Existing files, which were left unchanged.
    pub kept: Vec<String>,
    /// Whether the existing library does not declare the module.
    pub lacks_module: bool,
}

impl Project {
    /// Describes the project in `folder` for the code of a workload.
    pub fn new(folder: &Path, workload: &str) -> Self {
        let mut name = identifier(workload);
        if TAKEN.contains(&name.as_str()) {
            name.push_str("_workload");
        }
        Self { folder: folder.to_path_buf(), name, workload: workload.to_owned() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of package, program and module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of the generated module.
    pub fn module(&self) -> PathBuf {
        self.folder.join("src").join(&self.name)
    }

    /// Writes the missing files, or with `checks_only` only lists them.
    ///
    /// # Errors
    ///
    /// A file or folder is not accessible.
    pub fn write(&self, source: &Source, checks_only: bool) -> Result<Files, FolderError> {
        let sources = self.folder.join("src");
        if !checks_only {
            std::fs::create_dir_all(&sources).map_err(|error| failure(&sources, "made", error))?;
        }
        let mut texts = vec![
            ("Cargo.toml", self.manifest(source)),
            ("src/lib.rs", self.crate_root()),
            ("src/main.rs", self.program()),
        ];
        if let Source::Checkout(root) = source
            && !self.folder.join("Cargo.toml").exists()
            && let Ok(lock) = std::fs::read_to_string(root.join("Cargo.lock"))
        {
            // A new project starts with the versions that this checkout was tested with.
            texts.push(("Cargo.lock", lock));
        }
        let mut files = Files::default();
        for (name, text) in texts {
            let path = self.folder.join(name);
            if path.exists() {
                files.kept.push(name.to_owned());
                continue;
            }
            files.written.push(name.to_owned());
            if !checks_only {
                replace(&path, text.as_bytes())
                    .map_err(|error| failure(&path, "written", error))?;
            }
        }
        let library = std::fs::read_to_string(sources.join("lib.rs")).unwrap_or_default();
        let module = format!("mod {};", self.name);
        let is_kept = files.kept.iter().any(|name| name == "src/lib.rs");
        files.lacks_module = is_kept && !library.contains(&module);
        Ok(files)
    }

    fn manifest(&self, source: &Source) -> String {
        let name = &self.name;
        let used = USED.iter().map(|used| format!("{used} = {{ {} }}\n", self.place(source, used)));
        let used: String = used.collect();
        let (namdb, lab) = (self.place(source, "namdb"), self.place(source, "namdb-lab"));
        format!(
            r#"[package]
name = "{name}"
description = "The program namdb with the code of the workload {workload}"
version = "0.1.0"
edition = "2024"
publish = false

[features]
default = ["program"]
# Rust programs that only call procedures do without it.
program = ["dep:namdb-lab"]

[[bin]]
name = "{name}"
path = "src/main.rs"
required-features = ["program"]

[dependencies]
namdb = {{ {namdb}, features = ["procedures"] }}
namdb-lab = {{ {lab}, optional = true }}
# What generated code names.
{used}
# Wherever this folder lies, it is a workspace of its own.
[workspace]
"#,
            workload = self.workload,
        )
    }

    /// Returns the location of a crate of namdb for the manifest.
    fn place(&self, source: &Source, name: &str) -> String {
        let root = match source {
            Source::Repository(address) => return format!("git = {address:?}"),
            Source::Checkout(root) => root,
        };
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let (root, folder) = (whole(root), whole(&self.folder));
        // A project inside the checkout refers to it by a relative path.
        let root = match folder.strip_prefix(&root) {
            Ok(inside) => inside.components().map(|_| "..").collect(),
            Err(_) => root,
        };
        format!("path = {:?}", root.join("crates").join(wing(name)).join(name))
    }

    fn crate_root(&self) -> String {
        let Self { name, workload, .. } = self;
        format!(
            r#"//! The procedures of the workload `{workload}` as Rust, for programs to link.
#![forbid(unsafe_code)]

#[allow(
    unused_mut,
    unused_assignments,
    unused_variables,
    clippy::all,
    reason = "a program has written it"
)]
pub mod {name};

use namdb::procedures::Code;

/// The code of each workload, for `namdb_lab::run` and the options of
/// `namdb::procedures::Database::open`.
pub fn code() -> Vec<Code> {{
    vec![namdb::procedures::code::<{name}::Tables>()]
}}
"#
        )
    }

    fn program(&self) -> String {
        let Self { name, workload, .. } = self;
        format!(
            r#"//! The program `namdb` with the code of the workload `{workload}`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {{
    namdb_lab::run(&{name}::code())
}}
"#
        )
    }
}

/// The folder around a crate of namdb.
fn wing(name: &str) -> &'static str {
    match name {
        "namdb" | "namdb-lab" => "app",
        "procedure_runtime" => "sql",
        _ => "engine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(folder: &Path) -> Project {
        Project::new(folder, "Mine")
    }

    #[test]
    fn existing_files_are_kept_and_a_missing_module_is_reported() {
        let folder = std::env::temp_dir().join(format!("namdb-project-{}", std::process::id()));
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let source = Source::Checkout(checkout);
        let all = ["Cargo.toml", "src/lib.rs", "src/main.rs", "Cargo.lock"].map(str::to_owned);
        let missing = project(&folder).write(&source, true).expect("nothing is written");
        assert_eq!((missing.written, folder.exists()), (all.to_vec(), false));
        let first = project(&folder).write(&source, false).expect("there is room");
        assert_eq!((first.written, first.kept.len(), first.lacks_module), (all.to_vec(), 0, false));
        let main = folder.join("src/main.rs");
        std::fs::write(&main, "fn main() {}\n").expect("it is ours");
        let again = project(&folder).write(&source, false).expect("there is room");
        assert_eq!(again, Files { kept: all[..3].to_vec(), ..Files::default() });
        assert_eq!(std::fs::read_to_string(&main).expect("it is there"), "fn main() {}\n");
        let other = Project::new(&folder, "other").write(&source, false).expect("there is room");
        assert!(other.lacks_module, "the library was written for another workload");
        std::fs::remove_dir_all(folder).expect("it is ours");
    }

    #[test]
    fn crates_are_found_from_inside_of_a_checkout_and_from_elsewhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize();
        let root = root.expect("it is a checkout");
        let source = Source::Checkout(root.clone());
        let inside = project(&root.join("crates/sql/codegen")).manifest(&source);
        assert!(inside.contains(r#"txn = { path = "../../../crates/engine/txn" }"#), "{inside}");
        let outside = project(&std::env::temp_dir()).manifest(&source);
        let whole = format!("txn = {{ path = {:?} }}", root.join("crates/engine/txn"));
        assert!(outside.contains(&whole), "{outside}");
        let address = "https://example.org/namdb.git";
        let of_repository = project(&root).manifest(&Source::Repository(address.to_owned()));
        assert!(of_repository.contains(&format!("txn = {{ git = \"{address}\" }}")));
        assert!(of_repository.contains("namdb = { git = "), "{of_repository}");
    }

    #[test]
    fn names_that_are_taken_are_not_used() {
        let name = |workload| Project::new(Path::new("."), workload).name().to_owned();
        assert_eq!(
            ["namdb", "txn", "My Shop"].map(name),
            ["namdb_workload", "txn_value", "my_shop"]
        );
    }
}
