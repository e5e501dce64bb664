//! The results of mutants, one line of JSON each, so that a run can be resumed.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The outcome of a hunt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A world or a test fails with it.
    Caught,
    Survived,
    /// The list says that no run can tell it from the program.
    Equivalent,
    /// No run of the profile comes to its place.
    NotReached,
    /// The seed that fails with it fails without it, too.
    FailsAnyway,
}

/// The result of one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MutantResult {
    pub identity: String,
    /// File, line, function and change.
    pub mutant: String,
    pub verdict: Verdict,
    /// The world or test program that fails, and the seed.
    #[serde(default)]
    pub by: String,
    /// The failure, or the reason.
    #[serde(default)]
    pub detail: String,
    pub runs: u64,
    pub seconds: f64,
    /// In how many of all runs of the profile the place was visited.
    pub visits: u64,
}

/// Reads earlier results, by identity. A missing file has none.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &Path) -> Result<BTreeMap<String, MutantResult>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    // The last line may be half written, if the run was killed.
    let results = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    Ok(results.map(|result: MutantResult| (result.identity.clone(), result)).collect())
}

/// Appends a result.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, result: &MutantResult) -> Result<()> {
    let line = serde_json::to_string(result).context("a result is not JSON")?;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.with_context(|| format!("cannot write {}", path.display()))
}
