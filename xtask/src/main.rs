//! The workspace's tooling: `cargo xtask ci`, `nightly`, `release`, `times`, and the
//! single checks that these run.
//!
//! It is outside the layers: no crate of the product is a dependency of it, so it still builds,
//! and can say what is wrong, when the product does not.

#![forbid(unsafe_code)]

mod block;
mod ci;
mod clock;
mod counts;
mod done;
mod drivers;
mod figures;
mod generated;
mod hosts;
mod kill_test;
mod mutants;
mod mutation;
mod nightly;
mod peers_durable;
mod process;
mod refill;
mod release;
mod setup;
mod soft_roce;
mod tidy;
mod times;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks of the namdb workspace")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the fast checks, in order, and stop at the first that fails
    Ci(ci::Options),
    /// Run the checks that take minutes, part by part
    Nightly(nightly::Options),
    /// Install the git hooks of this clone
    Setup,
    /// Install the drivers of other languages that tests of the SQL server run
    Drivers,
    /// Check the rules no compiler knows: layers, unsafe code, lengths, leftovers, English
    Tidy(tidy::Options),
    /// Write docs/layout.md: what each word of remote memory is
    Layout(generated::Options),
    /// Write docs/metrics.md: what servers tell about themselves
    Metrics(generated::Options),
    /// Run quick experiments of the papers' evaluation again, and compare their bytes
    Figures(figures::Options),
    /// Compare instructions and round trips per transaction with the recorded ones
    Counts(counts::Options),
    /// Build the program with profile-guided optimisation
    Release,
    /// Time the build, the rebuild and the test command in a fresh clone
    Times(times::Options),
    /// Search every planted bug for a world in which the judge of histories notices it
    Mutants(mutants::Options),
    /// Hunt mutants of the sources of `txn`, `index` and `memory` in simulated worlds and tests
    Mutate(mutation::Options),
    /// List the branches of these crates that simulated runs hardly take
    Reach(mutation::Options),
    /// Kill a process that commits, again and again, and check what the next opening finds
    KillTest(kill_test::Options),
    /// Kill a memory server with replicas, and measure until it has its data again
    Refill(refill::Options),
    /// Measure durable updates of namdb beside RocksDB, redb and SQLite, on one disk
    PeersDurable(peers_durable::Options),
    /// Run our programs over real RDMA verbs in virtual machines that have a Soft-RoCE device
    SoftRoce(soft_roce::Options),
    /// Run a cluster on several hosts, which are network namespaces, and hurt it
    Hosts(hosts::Options),
}

fn main() -> ExitCode {
    // Not `Result`, which would add a backtrace of this program wherever RUST_BACKTRACE is set.
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<()> {
    let root = workspace::root()?;
    match task {
        Task::Ci(options) => ci::run(&root, options),
        Task::Setup => setup::run(&root),
        Task::Drivers => drivers::run(&root),
        Task::Tidy(options) => tidy::run_with(&root, options),
        Task::Layout(options) => generated::run(&root, &generated::LAYOUT, options),
        Task::Metrics(options) => generated::run(&root, &generated::METRICS, options),
        Task::Figures(options) => figures::run(&root, options),
        Task::Counts(options) => counts::run(&root, options).map(drop),
        Task::Nightly(options) => nightly::run(&root, options),
        Task::Release => release::run(&root),
        Task::Times(options) => times::run(&root, options),
        Task::Mutants(options) => mutants::run(&root, options),
        Task::Mutate(options) => mutation::run(&root, "mutate", options),
        Task::Reach(options) => mutation::run(&root, "reach", options),
        Task::KillTest(options) => kill_test::run(&root, options),
        Task::Refill(options) => refill::run(&root, options),
        Task::PeersDurable(options) => peers_durable::run(&root, options),
        Task::SoftRoce(options) => soft_roce::run(&root, options).map(drop),
        Task::Hosts(options) => hosts::run(&root, options).map(drop),
    }
}
