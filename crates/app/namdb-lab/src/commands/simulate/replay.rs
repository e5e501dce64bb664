//! Runs a failed run again.

use super::{select, write_trace};
use crate::{Verdict, output};
use anyhow::{Result, anyhow};
use scenario::{Replay, RunOptions, Scenario};
use std::path::Path;

/// Reads a script: its scenario, and the record of its failure.
fn read(script: &Path) -> Result<(Scenario, Replay)> {
    let scenario = select::read(script)?;
    let replay = scenario.replay.clone().ok_or_else(|| {
        let name = script.display();
        anyhow!("{name} is a scenario, not a script: it has no section [replay] with a seed")
    })?;
    Ok((scenario, replay))
}

/// Runs a script, and reports whether it still fails.
pub fn run(script: &Path, trace: Option<&Path>) -> Result<Verdict> {
    let (scenario, replay) = read(script)?;
    let report = match trace {
        Some(path) => write_trace(&scenario, replay.seed, path)?,
        None => scenario::run(&scenario, replay.seed, RunOptions::default()),
    };
    let (name, seed) = (&scenario.name, replay.seed);
    let commit = namdb_program::COMMIT;
    let Some(failure) = report.failure else {
        let sentence = format!(
            "scenario {name}, seed {seed}: nothing is wrong at commit {commit}\n  \
             at commit {}: {}\n",
            replay.commit, replay.fails
        );
        output::print(&sentence)?;
        return Ok(Verdict::Sound);
    };
    let how = if failure.to_string() == replay.fails { "still fails" } else { "fails otherwise" };
    let sentence = format!("scenario {name}, seed {seed}: {how} at commit {commit}\n  {failure}\n");
    output::print(&sentence)?;
    Ok(Verdict::Damaged)
}
