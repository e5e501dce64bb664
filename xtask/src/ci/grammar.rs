//! Compares `sql` with PostgreSQL's own parser: the tests of `grammar` behind its feature
//! `pg_query`.
//!
//! The parser's sources are compiled for these tests only, with their own set of features, so that
//! all other crates are built without it. That needs libclang. Without it the tests are skipped and
//! the reason is printed; under `NAMDB_CI=1` they fail.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, bail};

use super::test_results::TestResults;
use crate::process;

pub const LINTS: &[&str] =
    &["clippy", "-p", "grammar", "--features", "pg_query", "--all-targets", "--", "-D", "warnings"];
pub const TESTS: &[&str] = &["test", "-p", "grammar", "--features", "pg_query"];

/// Folders in which distributions install libclang; a star is one folder per version or
/// architecture.
const FOLDERS: [(&str, &str); 5] = [
    ("/usr/lib", "*/lib"),
    ("/usr/lib", "*"),
    ("/usr/lib", ""),
    ("/usr/lib64", ""),
    ("/usr/local/lib", ""),
];

/// Runs lints and tests; `None` if they are skipped.
pub fn run(root: &Path) -> Result<Option<TestResults>> {
    if !has_libclang() {
        let reason = "libclang is missing, install libclang-dev";
        if std::env::var_os("NAMDB_CI").is_some_and(|value| value == "1") {
            bail!("{reason}: under CI the tests against PostgreSQL's parser may not be skipped");
        }
        eprintln!("grammar: skipped: {reason}");
        return Ok(None);
    }
    process::run(&mut process::cargo(root, LINTS))?;
    let tests = &mut process::cargo(root, TESTS);
    let output = process::tee(tests, &mut std::io::stdout().lock())?;
    Ok(Some(TestResults::read(&output)))
}

fn has_libclang() -> bool {
    // The library's build reads this variable for any other place.
    std::env::var_os("LIBCLANG_PATH").is_some()
        || FOLDERS.iter().any(|(folder, inside)| match inside.strip_prefix('*') {
            None => holds_libclang(Path::new(folder)),
            Some(rest) => {
                let rest = rest.trim_start_matches('/');
                let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                entries.into_iter().any(|entry| holds_libclang(&entry.path().join(rest)))
            }
        })
}

fn holds_libclang(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| is_libclang(&entry.file_name()))
}

/// `libclang.so` and `libclang-14.so.1`, but not `libclang-cpp.so`, which has another interface.
fn is_libclang(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("libclang")) else {
        return false;
    };
    let version = rest.split_once(".so").map(|(version, _)| version.trim_start_matches('-'));
    version.is_some_and(|version| {
        version.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libclang_is_told_from_its_neighbours() {
        for name in ["libclang.so", "libclang.so.1", "libclang-14.so.1", "libclang-14.0.6.so.1"] {
            assert!(is_libclang(OsStr::new(name)), "{name}");
        }
        for name in ["libclang-cpp.so.14", "libclang_rt.so", "libclang.a", "libclangAST.so"] {
            assert!(!is_libclang(OsStr::new(name)), "{name}");
        }
    }
}
