//! The profile of the worlds without a mutant: which sites their runs visit, and how often. It
//! decides where a mutant is hunted, shows that the worlds pass without one, and is what `reach`
//! reports.

use crate::child::{self, Ended, Patience, Switch};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// The time of one world's profile after which something is wrong.
const WORLD_TIME: Duration = Duration::from_secs(600);

/// The runs of one world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorldProfile {
    pub world: String,
    pub runs: u64,
    pub seconds: f64,
    /// The failures by seed; with the engine as it is, each is a finding.
    pub failures: BTreeMap<u64, String>,
    /// In how many runs each site was visited.
    pub sites: BTreeMap<u32, u64>,
}

/// The runs of all worlds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    pub worlds: Vec<WorldProfile>,
}

/// The seeds of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    pub first: u64,
    pub count: u64,
    /// A world stops earlier after this time.
    pub seconds: f64,
}

/// The names of all worlds.
///
/// # Errors
/// If the program lists none.
pub fn worlds(folder: &Path, program: &Path) -> Result<Vec<String>> {
    let patience = Patience { silence: WORLD_TIME, all: WORLD_TIME };
    let mut names = Vec::new();
    child::run(folder, program, &["list".to_owned()], Switch::Off, patience, |line| {
        names.push(line.to_owned());
    })?;
    ensure!(!names.is_empty(), "the portfolio lists no world");
    Ok(names)
}

impl Profile {
    /// Runs the seeds of every world, several worlds at once.
    ///
    /// # Errors
    /// If a world ends without a result.
    pub fn take(folder: &Path, program: &Path, seeds: Seeds, processes: usize) -> Result<Self> {
        let patience = Patience { silence: WORLD_TIME, all: WORLD_TIME };
        let names = worlds(folder, program)?;
        let (all, worlds) = (names.len(), Mutex::new(Vec::new()));
        let queue = Mutex::new(names);
        let one = || -> Result<()> {
            loop {
                let next = queue.lock().expect("no holder panics").pop();
                let Some(name) = next else { return Ok(()) };
                let arguments = [
                    "profile".to_owned(),
                    format!("--first-seed={}", seeds.first),
                    format!("--seeds={}", seeds.count),
                    format!("--seconds={}", seeds.seconds),
                    name.clone(),
                ];
                let mut text = String::new();
                let ended =
                    child::run(folder, program, &arguments, Switch::Counting, patience, |line| {
                        text.push_str(line);
                    })?;
                ensure!(
                    ended == Ended::Code(0),
                    "the profile of the world {name} ends with {ended:?}, without any mutant"
                );
                let world: WorldProfile = serde_json::from_str(&text)
                    .with_context(|| format!("the profile of {name} is no JSON: {text:?}"))?;
                let mut worlds = worlds.lock().expect("no holder panics");
                worlds.push(world);
                eprint!("\rmutation: profile of {} of {all} worlds", worlds.len());
            }
        };
        std::thread::scope(|scope| -> Result<()> {
            let threads: Vec<_> = (0..processes.max(1)).map(|_| scope.spawn(one)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
        })?;
        eprintln!();
        let mut worlds = worlds.into_inner().expect("no holder panics");
        worlds.sort_by(|one, other| one.world.cmp(&other.world));
        Ok(Self { worlds })
    }

    /// All runs.
    pub fn runs(&self) -> u64 {
        self.worlds.iter().map(|world| world.runs).sum()
    }

    /// The runs that visit a site.
    pub fn visits(&self, site: u32) -> u64 {
        self.worlds.iter().filter_map(|world| world.sites.get(&site)).sum()
    }

    /// The worlds that visit a site with the part of their runs that do, one per line; worlds with
    /// failures are left out. Empty if no world does.
    pub fn schedule(&self, site: u32) -> String {
        let mut text = String::new();
        for world in self.worlds.iter().filter(|world| world.failures.is_empty()) {
            if let Some(&visits) = world.sites.get(&site) {
                let share = visits as f64 / world.runs as f64;
                writeln!(text, "{} {share:.3}", world.world).expect("a string takes all");
            }
        }
        text
    }

    /// The failures of the engine as it is, a sentence each.
    pub fn failures(&self) -> Vec<String> {
        let of = |world: &WorldProfile| {
            let name = world.world.clone();
            let sentence =
                move |(seed, failure): (&u64, &String)| format!("{name}, seed {seed}: {failure}");
            world.failures.iter().map(sentence).collect::<Vec<_>>()
        };
        self.worlds.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(name: &str, runs: u64, sites: &[(u32, u64)]) -> WorldProfile {
        WorldProfile {
            world: name.to_owned(),
            runs,
            seconds: 1.0,
            failures: BTreeMap::new(),
            sites: sites.iter().copied().collect(),
        }
    }

    #[test]
    fn a_mutant_is_hunted_where_runs_visit_it() {
        let mut profile =
            Profile { worlds: vec![world("a", 10, &[(1, 10), (2, 1)]), world("b", 4, &[(1, 1)])] };
        assert_eq!(profile.schedule(1), "a 1.000\nb 0.250\n");
        assert_eq!(profile.schedule(2), "a 0.100\n");
        assert_eq!(profile.schedule(3), "");
        assert_eq!((profile.visits(1), profile.runs()), (11, 14));
        profile.worlds[1].failures.insert(7, "wrong".to_owned());
        assert_eq!(profile.schedule(1), "a 1.000\n", "a world that fails anyway shows nothing");
        assert_eq!(profile.failures(), ["b, seed 7: wrong"]);
    }
}
