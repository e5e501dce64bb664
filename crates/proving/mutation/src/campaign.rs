//! A campaign: many mutants, some at once, with progress and results that survive an interruption.

use crate::child::now;
use crate::hunt::Hunter;
use crate::prepared::Prepared;
use crate::profile::Profile;
use crate::report::Score;
use crate::results::{self, MutantResult, Verdict};
use crate::site::Site;
use crate::test_programs::TestPrograms;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How mutants are hunted.
#[derive(Clone, Debug)]
pub struct Campaign {
    pub processes: usize,
    /// The time of each mutant in worlds.
    pub seconds: f64,
    /// No mutant begins after this time.
    pub limit: Option<Duration>,
    pub with_tests: bool,
    /// The file for results.
    pub file: PathBuf,
    /// Whether the results that it has count.
    pub is_resumed: bool,
    /// Whether the survivors among them are hunted again.
    pub is_again: bool,
}

/// Mutants that wait, and results.
struct State<'a> {
    waiting: VecDeque<&'a Site>,
    results: Vec<MutantResult>,
    done: usize,
}

/// Hunts the chosen mutants.
///
/// # Errors
/// If a child cannot be started, or results cannot be written.
pub fn run(
    prepared: &Prepared,
    profile: Profile,
    equivalent: BTreeMap<String, String>,
    chosen: &[&Site],
    campaign: &Campaign,
) -> Result<Vec<MutantResult>> {
    let tests = match campaign.with_tests {
        true => TestPrograms::build(&prepared.copy.folder)?,
        false => TestPrograms::none(),
    };
    let hunter = Hunter {
        copy: prepared.copy.folder.clone(),
        portfolio: prepared.portfolio.clone(),
        folder: prepared.folder.clone(),
        profile,
        equivalent,
        tests,
        seconds: campaign.seconds,
    };
    let earlier = earlier(campaign)?;
    let is_new = |site: &&&Site| !earlier.contains_key(&site.identity());
    let waiting: VecDeque<&Site> = chosen.iter().filter(is_new).copied().collect();
    let results = chosen.iter().filter_map(|site| earlier.get(&site.identity()).cloned()).collect();
    let all = waiting.len();
    let state = Mutex::new(State { waiting, results, done: 0 });
    let start = now();
    let one = || -> Result<()> {
        while let Some(site) = next(&state, start, campaign.limit) {
            let result = hunter.hunt(site)?;
            results::append(&campaign.file, &result)?;
            let mut state = state.lock().expect("no holder panics");
            state.results.push(result);
            state.done += 1;
            show_progress(&state, all, start.elapsed());
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..campaign.processes).map(|_| scope.spawn(one)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    Ok(state.into_inner().expect("no holder panics").results)
}

/// The results that count already, by identity.
fn earlier(campaign: &Campaign) -> Result<BTreeMap<String, MutantResult>> {
    let file = &campaign.file;
    if !campaign.is_resumed {
        if file.exists() {
            std::fs::remove_file(file)
                .with_context(|| format!("cannot remove {}", file.display()))?;
        }
        return Ok(BTreeMap::new());
    }
    let mut earlier = results::read(file)?;
    if campaign.is_again {
        earlier.retain(|_, result| result.verdict != Verdict::Survived);
    }
    Ok(earlier)
}

fn next<'a>(state: &Mutex<State<'a>>, start: Instant, limit: Option<Duration>) -> Option<&'a Site> {
    if limit.is_some_and(|limit| start.elapsed() > limit) {
        return None;
    }
    state.lock().expect("no holder panics").waiting.pop_front()
}

/// One line per mutant, with the remaining time if the others take as long.
fn show_progress(state: &State<'_>, all: usize, spent: Duration) {
    let result = state.results.last().expect("it was just put there");
    let left = spent.as_secs_f64() * (all - state.done) as f64 / state.done as f64;
    let percent = Score::of(&state.results).percent();
    let MutantResult { mutant, verdict, by, runs, seconds, .. } = result;
    eprintln!(
        "{} of {all}, {percent:.0} %, about {left:.0} s left: {verdict:?} {by} {runs} runs \
         {seconds:.1} s {mutant}",
        state.done
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_results_count_if_resumed_and_survivors_are_hunted_again_if_wanted() {
        let file = std::env::temp_dir().join(format!("campaign-{}.jsonl", std::process::id()));
        let result = |identity: &str, verdict| MutantResult {
            identity: identity.to_owned(),
            mutant: identity.to_owned(),
            verdict,
            by: String::new(),
            detail: String::new(),
            runs: 1,
            seconds: 1.0,
            visits: 1,
        };
        results::append(&file, &result("a", Verdict::Survived)).expect("it can be written");
        results::append(&file, &result("b", Verdict::Survived)).expect("it can be written");
        results::append(&file, &result("b", Verdict::Caught)).expect("it can be written");
        let mut campaign = Campaign {
            processes: 1,
            seconds: 1.0,
            limit: None,
            with_tests: false,
            file: file.clone(),
            is_resumed: true,
            is_again: false,
        };
        let names = |campaign: &Campaign| -> Vec<String> {
            earlier(campaign).expect("it can be read").into_keys().collect()
        };
        assert_eq!(names(&campaign), ["a", "b"]);
        campaign.is_again = true;
        assert_eq!(names(&campaign), ["b"], "the last line of a mutant counts");
        campaign.is_resumed = false;
        assert!(names(&campaign).is_empty() && !file.exists());
    }
}
