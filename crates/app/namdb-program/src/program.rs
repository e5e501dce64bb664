//! The command line of the program `namdb`.
//!
//! Decision: docs/decisions/0275-a-users-generated-code-is-linked-by-the-users-program.md

use crate::commands::{
    bench as bench_command, check as check_command, cluster, compute_server, counts, demo, doctor,
    help, memory_server, named, soak, status, trace,
};
use crate::lab::{self, Lab, Passed};
use crate::output;
use crate::servers::{self, error::ServerError};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use namdb::procedures::Code;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  namdb demo                                 see it at work, in 20 seconds
  namdb bench tpcc --warehouses 4            measure TPC-C, then check the database
  namdb bench ycsb --workload B --records 1000000 --zipf 0.9
  namdb bench workloads/tatp                 stored procedures of a folder
  namdb bench smallbank --isolation serializable --json result.json
  namdb soak --minutes 60                    memory and latency over an hour, with a plot
  namdb trace tpcc                           every verb of one transaction of each type
  namdb check history run.edn                which isolation a recorded history is of
  namdb simulate --seeds 200                 scenarios with faults, over many seeds
  namdb reproduce all --quick                the papers' evaluation on simulated hardware
  namdb spade plan workloads/tpcc            the plans of SQL procedures, from PostgreSQL
  namdb doctor                               what keeps a cluster from running well here
  namdb cluster up --fabric tcp              memory servers as processes on this host
  namdb status                               its servers and tables
  namdb bench tpcc --cluster                 a benchmark on it

Data lives in the memory of this process, or of a cluster's memory servers, and ends with it.";

/// A main-memory transactional database for fast networks
#[derive(Parser)]
#[command(name = "namdb", version, after_help = EXAMPLES, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run TPC-C for some seconds and prove the database consistent
    Demo(demo::DemoArguments),
    /// Measure a workload, then check the database
    Bench(bench_command::BenchArguments),
    /// Run TPC-C for long, and report memory, aborts and latency over time
    Soak(soak::SoakArguments),
    /// Run a fixed number of transactions on one thread, for counting instructions
    Counts(counts::CountsArguments),
    /// Print the verbs of one transaction of each type
    Trace(trace::TraceArguments),
    /// Run scenarios over many seeds in simulated worlds, with faults
    #[command(disable_help_flag = true)]
    Simulate(Passed),
    /// Repeat the papers' evaluation on simulated hardware
    #[command(disable_help_flag = true)]
    Reproduce(Passed),
    /// Make SQL procedures into a physical design
    #[command(disable_help_flag = true)]
    Spade(Passed),
    /// Judge what a database did by what its clients saw
    Check(check_command::CheckArguments),
    /// Find what keeps a cluster from running well on this host, and how to fix it
    Doctor(doctor::DoctorArguments),
    /// Start or end a development cluster on this host
    Cluster(cluster::ClusterCommandArguments),
    /// Show who is in a cluster and what its memory servers hold
    Status(status::StatusArguments),
    /// Run one memory server of a cluster
    MemoryServer(memory_server::MemoryServerArguments),
    /// Run one compute server of a cluster
    ComputeServer(compute_server::ComputeServerArguments),
}

/// Runs the command that this process's arguments name; the result is the exit code. `code` is generated code of workloads
/// beside the shipped ones. Without `lab`, its commands start the program `namdb-lab`.
pub fn run(code: &[Code], lab: Option<&Lab>) -> ExitCode {
    let result = match read_arguments().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(arguments) => bench_command::run(arguments, code, lab),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Counts(arguments) => counts::run(&arguments),
        Command::Trace(arguments) => trace::run(arguments, code),
        Command::Simulate(_) | Command::Reproduce(_) | Command::Spade(_) => match lab {
            Some(lab) => (lab.command)(code),
            None => lab::start(),
        },
        Command::Check(arguments) => check_command::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Cluster(arguments) => cluster::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::MemoryServer(arguments) => memory_server::run(&arguments),
        Command::ComputeServer(arguments) => compute_server::run(&arguments, code),
    };
    match result {
        Ok(Verdict::Sound) => ExitCode::SUCCESS,
        Ok(Verdict::Damaged) => ExitCode::FAILURE,
        Ok(Verdict::Incomplete) => ExitCode::from(3),
        Ok(Verdict::Unexpected) => ExitCode::from(5),
        Err(error) => {
            tell(&error);
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Reads the arguments. What is wrong with them is told, and ends the program.
fn read_arguments() -> Arguments {
    let given = lab::with_help(named::with_folder(std::env::args_os().collect()));
    let mut command = help::laid_out(command());
    let found = command.try_get_matches_from_mut(&given);
    let read = found.and_then(|found| Arguments::from_arg_matches(&found));
    read.unwrap_or_else(|error| match named::unknown(&error, &given, &command) {
        Some(sentence) => end(&anyhow::anyhow!(sentence)),
        None => error.format(&mut command).exit(),
    })
}

/// The program's arguments, as clap knows them.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// The exit code of a process that has run and may not go on: whoever starts memory servers does not start it again.
const PLACE_LOST: u8 = 4;

fn exit_code(error: &anyhow::Error) -> u8 {
    let ends_a_run = error.downcast_ref().is_some_and(ServerError::ends_a_run);
    if ends_a_run { PLACE_LOST } else { 2 }
}

/// Says why the process ends, and ends it at once, whatever its other threads do.
pub fn end(error: &anyhow::Error) -> ! {
    tell(error);
    std::process::exit(exit_code(error).into())
}

/// Says why the program ends, and which of the doctor's checks looks into that.
fn tell(error: &anyhow::Error) {
    let code = doctor::code::code_for(error);
    let hint =
        code.map(|code| format!("`namdb doctor --cluster FILE` has more, in its check {code}"));
    match (hint, servers::log::is_started()) {
        (Some(hint), true) => {
            tracing::error!(check = code.map(tracing::field::display), "{error:#}; {hint}");
        }
        (None, true) => tracing::error!("{error:#}"),
        (hint, false) => {
            output::say(&format!("namdb: {error:#}"));
            hint.into_iter().for_each(|hint| output::say(&format!("namdb: {hint}")));
        }
    }
}

/// What the checks of a run say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All hold.
    Sound,
    /// One does not.
    Damaged,
    /// All that are about data hold, and calls have not succeeded as often as they should.
    Unexpected,
    /// Memory ran out, or a check could not be run, or runs did not cover what they should; what was run
    /// holds.
    Incomplete,
}
