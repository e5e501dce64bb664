//! The list of worlds: each turns a seed into a run and its verdict.

use anyhow::{Context, Result};
use mutants::kind::{self, Finding, Kind};
use mutants::run::run;
use scenario::{RunOptions, Scenario};
use std::path::Path;

/// A source of simulated runs.
pub struct World {
    pub name: String,
    run: Box<dyn Fn(u64) -> Option<String>>,
}

impl World {
    fn new(name: impl Into<String>, run: impl Fn(u64) -> Option<String> + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// Runs a seed; the failure, if there is one. A panic is for the caller to catch.
    pub fn run(&self, seed: u64) -> Option<String> {
        (self.run)(seed)
    }
}

/// The kinds of the planted bugs' worlds.
const KINDS: &[(&str, Kind)] = &[
    ("roomy", kind::ROOMY),
    ("crowd", kind::CROWD),
    ("kept", kind::KEPT),
    ("staggered", kind::STAGGERED),
    ("frozen", kind::FROZEN),
    ("fetched-late", kind::FETCHED_LATE),
    ("shared", kind::SHARED),
    ("serial", kind::SERIAL),
    ("lossy", kind::LOSSY),
    ("wrap", kind::WRAP),
    ("tight", kind::TIGHT),
    ("hot", kind::HOT),
    ("slow", kind::SLOW),
    ("piled", kind::PILED),
    ("slow-cards", kind::SLOW_CARDS),
    ("kept-versions", kind::KEPT_VERSIONS),
    ("long", kind::LONG),
    ("growing", kind::GROWING),
    ("growing-hot", kind::GROWING_HOT),
    ("growing-cards", kind::GROWING_CARDS),
    ("moving", kind::MOVING),
    ("moving-kept", kind::MOVING_KEPT),
    ("moving-fetched", kind::MOVING_FETCHED),
    ("moving-cards", kind::MOVING_CARDS),
    ("moving-hash", kind::MOVING_HASH),
    ("moving-serial", kind::MOVING_SERIAL),
    ("owned", kind::OWNED),
    ("owned-cards", kind::OWNED_CARDS),
    ("owned-new", kind::OWNED_NEW),
    ("owned-by-hash", kind::OWNED_BY_HASH),
    ("owned-outside", kind::OWNED_OUTSIDE),
    ("tidal", kind::TIDAL),
    ("one-bucket", kind::ONE_BUCKET),
    ("piled-slow", kind::PILED_SLOW),
    ("owned-born", kind::OWNED_BORN),
    ("remade", kind::REMADE),
    ("resting", kind::RESTING),
    ("wide", kind::WIDE),
    ("wide-indexed", kind::WIDE_INDEXED),
];

/// All worlds; the scenarios are those of the folder.
///
/// # Errors
/// If a scenario cannot be read.
pub fn worlds(scenarios: &Path) -> Result<Vec<World>> {
    let mut worlds: Vec<World> =
        KINDS.iter().map(|&(name, kind)| of_kind(name, move |_| kind)).collect();
    // Rare states need several features at once.
    worlds.push(of_kind("swarm", mutants::swarm::kind));
    let lone = KINDS.iter().filter(|(_, kind)| never_refuses(kind));
    worlds.extend(lone.map(|&(name, kind)| of_lone_session(name, kind)));
    worlds.extend(read_scenarios(scenarios)?);
    worlds.extend(read_scenarios(&scenarios.join("regressions"))?);
    Ok(worlds)
}

/// The world of a kind, which may depend on the seed.
fn of_kind(name: &str, kind: impl Fn(u64) -> Kind + 'static) -> World {
    World::new(name, move |seed| {
        let caught = run(&kind(seed), seed, &[]).caught?;
        Some(format!("{}: {caught:?}", caught.name()))
    })
}

/// Whether a session that is alone in a world of this kind never aborts. Completions get lost;
/// inserts by kept leaves are refused where the key exists; and an index entry of a deleted row
/// refuses the next row with its key until it is collected.
fn never_refuses(kind: &Kind) -> bool {
    kind.lost_batch_one_in == 0 && !kind.keeps_leaves && kind.finding == Finding::Keys
}

/// The world of a kind with one session. Nothing conflicts with it, so a transaction that aborts is
/// a failure: guards that refuse too much are found here, and only here.
fn of_lone_session(name: &str, kind: Kind) -> World {
    let kind = Kind { sessions: 1, is_staggered: false, ..kind };
    World::new(format!("{name}-alone"), move |seed| {
        let ran = run(&kind, seed, &[]);
        if let Some(caught) = ran.caught {
            return Some(format!("{}: {caught:?}", caught.name()));
        }
        let aborted = ran.aborted;
        (aborted > 0).then(|| format!("progress: {aborted} transactions of the only session abort"))
    })
}

fn read_scenarios(folder: &Path) -> Result<Vec<World>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|file| read_scenario(file)).collect()
}

/// A scenario over its seeds. The seed of a script is the first one: seed 0 replays the script.
fn read_scenario(file: &Path) -> Result<World> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let scenario = Scenario::read(&file.display().to_string(), &text)?;
    let first = scenario.replay.as_ref().map_or(0, |replay| replay.seed);
    Ok(World::new(scenario.name.clone(), move |seed| {
        let report = scenario::run(&scenario, first.wrapping_add(seed), RunOptions::default());
        report.failure.map(|failure| failure.to_string())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_world_has_a_name_of_its_own_and_scenarios_are_among_them() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios"));
        let worlds = worlds(folder).expect("the scenarios are right");
        let names: BTreeSet<&str> = worlds.iter().map(|world| world.name.as_str()).collect();
        assert_eq!(names.len(), worlds.len());
        assert!(names.contains("bank") && names.contains("unique-key-over-a-split"), "{names:?}");
    }

    #[test]
    fn a_run_of_the_engine_as_it_is_has_no_failure() {
        let world = of_kind("roomy", |_| kind::ROOMY);
        assert_eq!(world.run(3), None);
        let alone = of_lone_session("roomy", kind::ROOMY);
        assert_eq!((alone.name.as_str(), alone.run(3)), ("roomy-alone", None));
    }

    #[test]
    fn an_abort_of_a_lone_session_is_a_failure() {
        // Lost completions abort transactions, which is why such kinds are left out.
        assert!(!never_refuses(&kind::LOSSY));
        let lossy = of_lone_session("lossy", kind::LOSSY);
        let failure = (0..20).find_map(|seed| lossy.run(seed)).expect("some completion is lost");
        assert!(failure.starts_with("progress: "), "{failure}");
    }
}
