//! The search: tries seeds one after another, until one detects the mutant.

use crate::kind::Kind;
use crate::planted::Planted;
use crate::run::{Catch, Ran, run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Seeds tried.
    pub seeds: u64,
    /// Time spent.
    pub time: Duration,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The seed that detected it, and the detection.
    pub caught: Option<(u64, Catch)>,
    /// Seeds tried.
    pub seeds: u64,
    /// How often the code reached the guards.
    pub asked: u64,
    /// Time spent.
    pub time: Duration,
    /// A seed that fails with all guards in place: then the mutant counts as not detected.
    pub unmutated: Option<(u64, Catch)>,
}

/// The results of worlds with all guards. Mutants share kinds, so each world is run once.
#[derive(Debug, Default)]
pub struct Controls(Mutex<BTreeMap<(String, u64), Option<Catch>>>);

impl Controls {
    /// The defect of a world of this kind and seed with all guards.
    pub fn wrong(&self, kind: &Kind, seed: u64) -> Option<Catch> {
        let key = (format!("{kind:?}"), seed);
        let known = self.0.lock().expect("no holder panics").get(&key).cloned();
        known.unwrap_or_else(|| {
            let wrong = run(kind, seed, &[]).caught;
            self.0.lock().expect("no holder panics").insert(key, wrong.clone());
            wrong
        })
    }
}

/// Tries seeds until the clients' history shows a defect; if none does, returns the first failed
/// assertion or structural error. Each seed must also succeed with all guards in place.
pub fn search(planted: &Planted, bounds: Bounds, controls: &Controls) -> Searched {
    let start = now();
    let mut searched =
        Searched { caught: None, seeds: 0, asked: 0, time: Duration::ZERO, unmutated: None };
    let guards = planted.guards();
    for seed in 0..bounds.seeds {
        searched.seeds = seed + 1;
        let Ran { caught, asked, .. } = run(&planted.kind, seed, &guards);
        searched.asked += asked;
        if let Some(wrong) = controls.wrong(&planted.kind, seed) {
            searched.unmutated = Some((seed, wrong));
            break;
        }
        if let Some(caught) = caught {
            let is_final = caught.is_black_box() || !planted.needs_judge;
            if searched.caught.is_none() || is_final {
                searched.caught = Some((seed, caught));
            }
            if is_final {
                break;
            }
        }
        if start.elapsed() > bounds.time {
            break;
        }
    }
    searched.time = start.elapsed();
    searched
}

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
fn now() -> Instant {
    Instant::now()
}
