//! The files of a shrunk failing run: script, timeline, and the history that its clients saw.

use super::summary::Script;
use crate::{judgement, output};
use anyhow::{Context, Result};
use history_judge::{History, Level};
use scenario::{Scenario, Shrunk, file};
use std::path::Path;

/// Maximal number of lines about the failure in the report; the timeline has all of them.
const LINES_TOLD: usize = 24;

/// Writes `failed-NAME-SEED.toml` with its timeline and history.
pub fn write(shrunk: Shrunk, name: &str, seed: u64, folder: &Path) -> Result<Script> {
    let script = folder.join(format!("failed-{name}-{seed}.toml"));
    write_file(&script, shrunk.script.write().as_bytes())?;
    let mut timeline = shrunk.timeline;
    let (mut why, mut history) = (String::new(), None);
    if let Some(seen) = &shrunk.history {
        let path = script.with_extension("edn");
        let mut text = Vec::new();
        history_judge::write_edn(seen, &mut text).context("writing to memory cannot fail")?;
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

/// The judge's findings on the history as written, with line numbers of that file.
fn findings(text: &[u8], scenario: &Scenario) -> Result<String> {
    let history: History = history_judge::read_edn(text).context("the history was just written")?;
    // If the history cannot be judged, the failure's own message says so.
    let Ok(report) = history_judge::judge(&history) else { return Ok(String::new()) };
    let mut levels = vec![Level::StrongSessionSnapshot];
    if scenario.database.isolation.get() == file::plans::IsolationName::Serializable {
        levels.push(Level::Serializable);
    }
    Ok(judgement::findings_in_words(&history, &report, &levels))
}

/// The first lines, and the number of further ones.
fn beginning(why: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        why.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let more = lines.len().saturating_sub(LINES_TOLD);
    lines.truncate(LINES_TOLD);
    if more > 0 {
        lines.push(format!("and {more} further lines, in the timeline"));
    }
    lines
}
