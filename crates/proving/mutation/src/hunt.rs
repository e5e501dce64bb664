//! The hunt for one mutant: worlds until one fails, then the tests.

use crate::child::{self, Ended, Patience, Switch, now};
use crate::profile::Profile;
use crate::results::{MutantResult, Verdict};
use crate::site::Site;
use crate::test_programs::TestPrograms;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run without a result for this long hangs. Without a mutant the longest takes a few seconds.
const SILENCE: Duration = Duration::from_secs(60);
/// The longest text of a failure that is kept.
const DETAIL_LETTERS_MAX: usize = 300;

/// The means of a hunt.
pub struct Hunter {
    /// The copy of the workspace.
    pub copy: PathBuf,
    /// The program of crate `portfolio`, built there.
    pub portfolio: PathBuf,
    /// The folder for schedules.
    pub folder: PathBuf,
    pub profile: Profile,
    pub equivalent: BTreeMap<String, String>,
    pub(crate) tests: TestPrograms,
    /// The time in which worlds run, for each mutant.
    pub seconds: f64,
}

/// The content of a child's last line.
#[derive(Clone, PartialEq, Debug, Default)]
struct Found {
    world: String,
    seed: u64,
    runs: u64,
    caught: Option<String>,
}

impl Found {
    /// Takes over a line of the child.
    fn note(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return };
        if let Some(world) = line["world"].as_str() {
            self.world = world.to_owned();
        }
        self.seed = line["seed"].as_u64().unwrap_or(self.seed);
        self.runs = line["run"].as_u64().or(line["runs"].as_u64()).unwrap_or(self.runs);
        if let Some(caught) = line["caught"].as_str() {
            self.caught = Some(caught.to_owned());
        }
    }
}

impl Hunter {
    /// Hunts one mutant.
    ///
    /// # Errors
    /// If a child cannot be started, or a file cannot be written.
    pub fn hunt(&self, site: &Site) -> Result<MutantResult> {
        let mut result = MutantResult {
            identity: site.identity(),
            mutant: site.describe(),
            verdict: Verdict::Survived,
            by: String::new(),
            detail: String::new(),
            runs: 0,
            seconds: 0.0,
            visits: self.profile.visits(site.number),
        };
        if let Some(reason) = self.equivalent.get(&result.identity) {
            result.verdict = Verdict::Equivalent;
            result.detail.clone_from(reason);
            return Ok(result);
        }
        let schedule = self.profile.schedule(site.number);
        if schedule.is_empty() {
            result.verdict = Verdict::NotReached;
            return Ok(result);
        }
        let start = now();
        self.in_worlds(site, &schedule, &mut result)?;
        if result.verdict == Verdict::Survived
            && let Some((by, detail)) = self.tests.hunt(site.number)?
        {
            (result.verdict, result.by, result.detail) = (Verdict::Caught, by, detail);
        }
        result.seconds = start.elapsed().as_secs_f64();
        Ok(result)
    }

    fn in_worlds(&self, site: &Site, schedule: &str, result: &mut MutantResult) -> Result<()> {
        let path = self.folder.join(format!("schedule-{}", site.number));
        std::fs::write(&path, schedule)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let arguments = [
            "hunt".to_owned(),
            format!("--schedule={}", path.display()),
            format!("--seconds={}", self.seconds),
        ];
        let all = Duration::from_secs_f64(self.seconds) + 2 * SILENCE;
        let patience = Patience { silence: SILENCE, all };
        let mut found = Found::default();
        let switch = Switch::On(site.number);
        let (copy, program) = (&self.copy, &self.portfolio);
        let ended =
            child::run(copy, program, &arguments, switch, patience, |line| found.note(line))?;
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        result.runs = found.runs;
        let how = match (&found.caught, &ended) {
            (Some(caught), _) => caught.clone(),
            (None, Ended::Code(0)) => return Ok(()),
            (None, Ended::Hangs) => "hangs".to_owned(),
            (None, Ended::Code(code)) => format!("ends with code {code}"),
            (None, Ended::Signal(signal)) => format!("crashes: {signal}"),
        };
        result.verdict = match passes(copy, program, &found.world, found.seed)? {
            true => Verdict::Caught,
            false => Verdict::FailsAnyway,
        };
        result.by = format!("{} seed {}", found.world, found.seed);
        result.detail = how.chars().take(DETAIL_LETTERS_MAX).collect();
        Ok(())
    }
}

/// Whether a run succeeds without any mutant.
fn passes(copy: &Path, program: &Path, world: &str, seed: u64) -> Result<bool> {
    let arguments = ["once".to_owned(), world.to_owned(), seed.to_string()];
    let patience = Patience { silence: 2 * SILENCE, all: 2 * SILENCE };
    let mut is_right = false;
    let ended = child::run(copy, program, &arguments, Switch::Off, patience, |line| {
        let line: Option<Value> = serde_json::from_str(line).ok();
        is_right = line.is_some_and(|line| line["failure"].is_null());
    })?;
    Ok(ended == Ended::Code(0) && is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_child_decides() {
        let mut found = Found::default();
        found.note(r#"{"run": 1, "world": "bank", "seed": 0}"#);
        found.note("no JSON");
        found.note(r#"{"run": 2, "world": "roomy", "seed": 4}"#);
        let running = Found { world: "roomy".to_owned(), seed: 4, runs: 2, caught: None };
        assert_eq!(found, running);
        found.note(r#"{"caught": "G1c", "world": "roomy", "seed": 4, "runs": 2}"#);
        assert_eq!(found.caught.as_deref(), Some("G1c"));
    }
}
