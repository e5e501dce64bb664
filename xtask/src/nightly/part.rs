//! The parts of the nightly run.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::done::Done;
use crate::{counts, figures, hosts, kill_test, mutation, process, soft_roce, workspace};

/// Seeds of each fast scenario in one round.
const SEEDS: u64 = 1_000;
/// Seeds of each mutant's search, which the rarest mutants need.
const MUTANT_SEEDS: u64 = 15_000;
/// For how long the test of a memory server that stands still lets it: longer than a connection
/// waits for an answer.
const PAUSE_SECONDS: &str = "8";

/// How long a round of overload lasts.
const OVERLOAD_SECONDS: &str = "1200";

/// Simulated directories of one round.
const WORLDS: u64 = 10_000;
/// Damaged control and checkpoint files of one round.
const DAMAGES: u64 = 20_000;

/// Something that takes minutes.
pub struct Part {
    pub name: &'static str,
    pub what: &'static str,
    /// New seeds in each round, or kills, each with choices of its own.
    pub seeds: u64,
    /// Runs the part; the number counts the rounds before at this commit.
    run: fn(&Path, u64) -> Result<Done>,
}

/// In the order in which they run.
pub const PARTS: [Part; 13] = [
    Part { name: "tests", what: "all tests, optimised as the program is", seeds: 0, run: tests },
    Part { name: "seeds", what: "1,000 seeds of every fast scenario", seeds: SEEDS, run: seeds },
    Part { name: "mutants", what: "a search for every planted bug", seeds: 0, run: mutants },
    Part {
        name: "mutation",
        what: "a sample of the mutants of the sources",
        seeds: 0,
        run: mutants_of_sources,
    },
    Part {
        name: "reach",
        what: "branches that simulated runs hardly take",
        seeds: mutation::NIGHTLY_RUNS,
        run: reach,
    },
    Part {
        name: "kills",
        what: "1,000 kills of a process that commits, and 600 of a cluster's clients",
        seeds: kill_test::NIGHTLY_KILLS,
        run: kills,
    },
    Part {
        name: "overload",
        what: "a cluster beside four busy threads per processor",
        seeds: 0,
        run: overload,
    },
    Part {
        name: "worlds",
        what: "10,000 simulated directories with crashes and damages",
        seeds: WORLDS,
        run: worlds,
    },
    Part { name: "soft-roce", what: "real RDMA verbs in virtual machines", seeds: 0, run: verbs },
    Part {
        name: "hosts",
        what: "a cluster on several hosts, with failures",
        seeds: 0,
        run: several_hosts,
    },
    Part { name: "figures", what: "quick experiments, byte by byte", seeds: 0, run: experiments },
    Part { name: "counts", what: "instructions per transaction", seeds: 0, run: instructions },
    Part {
        name: "grammar",
        what: "`sql` compared with PostgreSQL's own parser",
        seeds: 0,
        run: grammar,
    },
];

impl Part {
    pub fn run(&self, root: &Path, rounds: u64) -> Result<Done> {
        (self.run)(root, rounds)
    }
}

fn tests(root: &Path, _rounds: u64) -> Result<Done> {
    let mut all = process::cargo(root, &["test", "--release", "--workspace"]);
    process::run(all.env("NAMDB_TEST_PAUSE_SECONDS", PAUSE_SECONDS))?;
    let exhaustive = ["test", "--release", "-p", "model", "--test", "exhaustive"];
    ran(&mut process::cargo(root, &exhaustive))
}

fn seeds(root: &Path, rounds: u64) -> Result<Done> {
    let build = ["build", "--release", "-p", "namdb-lab", "--bin", "namdb-lab"];
    process::run(&mut process::cargo(root, &build))?;
    let mut command = Command::new(workspace::target_directory(root)?.join("release/namdb-lab"));
    // The gate takes the first seeds.
    let first = (rounds + 1) * SEEDS;
    command.current_dir(root).arg("simulate");
    command.args(["--seeds", &SEEDS.to_string(), "--first-seed", &first.to_string()]);
    ran(&mut command)
}

/// Every round takes the same seeds: others would miss the rarest mutants by chance.
fn mutants(root: &Path, _rounds: u64) -> Result<Done> {
    let search = ["run", "--release", "--quiet", "-p", "mutants", "--bin", "mutants", "--"];
    let mut command = process::cargo(root, &search);
    command.args(["--seeds", &MUTANT_SEEDS.to_string(), "--minutes", "10"]);
    ran(&mut command)
}

fn mutants_of_sources(root: &Path, rounds: u64) -> Result<Done> {
    mutation::nightly_mutants(root, &super::commit(root)?, rounds).map(|()| Done::Ran)
}

fn reach(root: &Path, rounds: u64) -> Result<Done> {
    mutation::nightly_reach(root, rounds).map(|()| Done::Ran)
}

fn kills(root: &Path, rounds: u64) -> Result<Done> {
    kill_test::nightly(root, rounds).map(|()| Done::Ran)
}

/// Three rounds add up to an hour.
fn overload(root: &Path, _rounds: u64) -> Result<Done> {
    let test = ["test", "--release", "-p", "namdb-program", "--test", "detector", "--"];
    let mut command = process::cargo(root, &test);
    command.args(["overload::fourfold_overload_evicts_nobody", "--exact", "--nocapture"]);
    ran(command.env("NAMDB_TEST_OVERLOAD_SECONDS", OVERLOAD_SECONDS))
}

fn worlds(root: &Path, rounds: u64) -> Result<Done> {
    let test = ["test", "--release", "-p", "durability", "--test", "crash", "--", "--nocapture"];
    let mut command = process::cargo(root, &test);
    command.args(["nothing_acknowledged_is_lost", "damaged_files_are_refused_by_name"]);
    // The gate takes the first seeds.
    let first = (rounds + 1) * WORLDS;
    command.env("DURABILITY_FIRST_SEED", first.to_string());
    command.env("DURABILITY_SEEDS", WORLDS.to_string());
    command.env("DURABILITY_DAMAGES", DAMAGES.to_string());
    ran(&mut command)
}

fn verbs(root: &Path, _rounds: u64) -> Result<Done> {
    soft_roce::run(root, &soft_roce::Options::tests())
}

fn several_hosts(root: &Path, _rounds: u64) -> Result<Done> {
    hosts::run(root, &hosts::Options::all())
}

fn experiments(root: &Path, _rounds: u64) -> Result<Done> {
    figures::run(root, &figures::Options::default()).map(|()| Done::Ran)
}

fn instructions(root: &Path, _rounds: u64) -> Result<Done> {
    counts::run(root, &counts::Options::default())
}

fn grammar(root: &Path, _rounds: u64) -> Result<Done> {
    let results = crate::ci::grammar::run(root)?;
    Ok(results.map_or(Done::Skipped, |_| Done::Ran))
}

fn ran(command: &mut Command) -> Result<Done> {
    process::run(command).map(|()| Done::Ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_for_mutants_reaches_every_seed_known_to_catch_one() {
        let caught = include_str!("../../../crates/proving/mutants/caught.txt");
        let lines: Vec<&str> = caught.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!lines.is_empty());
        for line in lines {
            let seed = line.split_whitespace().nth(1).and_then(|seed| seed.parse::<u64>().ok());
            assert!(seed.expect("the second word is a seed") < MUTANT_SEEDS, "{line}");
        }
    }
}
