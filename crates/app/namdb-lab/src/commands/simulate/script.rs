//! The files of a failing run that was shrunk: script, timeline, and what its clients saw.

use super::summary::Script;
use crate::{judgement, output};
use anyhow::{Context, Result};
use history_judge::{History, Level};
use scenario::{Scenario, Shrunk, file};
use std::path::Path;

/// Lines that the report has of why a run is wrong; all of them are in the timeline.
const LINES_TOLD: usize = 24;

/// Writes `failed-NAME-SEED.toml`, and beside it the timeline and the history.
pub fn write(shrunk: Shrunk, name: &str, seed: u64, folder: &Path) -> Result<Script> {
    let script = folder.join(format!("failed-{name}-{seed}.toml"));
    write_file(&script, shrunk.script.write().as_bytes())?;
    let mut timeline = shrunk.timeline;
    let (mut why, mut history) = (String::new(), None);
    if let Some(seen) = &shrunk.history {
        let path = script.with_extension("edn");
        let mut text = Vec::new();
        history_judge::write_edn(seen, &mut text).context("memory takes what is written")?;
        write_file(&path, &text)?;
        history = Some(path.display().to_string());
        why = findings(&text, &shrunk.script)?;
        timeline.push_str(&why);
    }
    write_file(&script.with_extension("txt"), timeline.as_bytes())?;
    Ok(Script { path: script.display().to_string(), seed, why: beginning(&why), history })
}

fn write_file(path: &Path, text: &[u8]) -> Result<()> {
    output::replace(path, text)
}

/// What the judge says of a history as it was written, so that lines of the file are told.
fn findings(text: &[u8], scenario: &Scenario) -> Result<String> {
    let history: History = history_judge::read_edn(text).context("the history was just written")?;
    // A history that cannot be judged is told by the sentence of the failure.
    let Ok(report) = history_judge::judge(&history) else { return Ok(String::new()) };
    let mut levels = vec![Level::StrongSessionSnapshot];
    if scenario.database.isolation.get() == file::plans::IsolationName::Serializable {
        levels.push(Level::Serializable);
    }
    Ok(judgement::findings_in_words(&history, &report, &levels))
}

/// The first lines, and how many follow.
fn beginning(why: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        why.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let more = lines.len().saturating_sub(LINES_TOLD);
    lines.truncate(LINES_TOLD);
    if more > 0 {
        lines.push(format!("and {more} lines more, in the timeline"));
    }
    lines
}
