//! The command line of the program `namdb`.
//!
//! Decision: docs/decisions/0275-a-users-generated-code-is-linked-by-the-users-program.md

use crate::commands::{
    bench as bench_command, check as check_command, cluster, compute_server, counts, demo,
    directory, doctor, help, memory_server, named, soak, sql, start, status, trace,
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
  namdb start --data here                    a SQL server: psql -h 127.0.0.1 connects
  namdb sql                                  a prompt for it
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
  namdb bench tpcc --data here               a benchmark that keeps its data in a directory
  namdb backup here copy                     a copy of it, also while it is in use

Without --data, data lives in the memory of this process, or of a cluster's memory servers, and ends \
with it.";

/// A main-memory transactional database for fast networks
#[derive(Parser)]
#[command(name = "namdb", version, after_help = EXAMPLES, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run TPC-C for some seconds and prove that the database is consistent
    Demo(demo::DemoArguments),
    /// Serve SQL to clients of PostgreSQL, such as psql
    Start(start::StartArguments),
    /// Send SQL to a server, from a prompt, a file or the command line
    Sql(sql::SqlArguments),
    /// Measure a workload, then check the database
    Bench(bench_command::BenchArguments),
    /// Run TPC-C for a long time, and report memory, aborts and latency over time
    Soak(soak::SoakArguments),
    /// Run a fixed number of transactions on one thread, for counting instructions
    Counts(counts::CountsArguments),
    /// Print the verbs of one transaction of each type
    Trace(trace::TraceArguments),
    /// Run scenarios with faults over many seeds in a simulated world
    #[command(disable_help_flag = true)]
    Simulate(Passed),
    /// Reproduce the papers' evaluation on simulated hardware
    #[command(disable_help_flag = true)]
    Reproduce(Passed),
    /// Turn SQL procedures into a physical design (SPADE)
    #[command(disable_help_flag = true)]
    Spade(Passed),
    /// Copy the directory of a database, also one in use
    Backup(directory::BackupArguments),
    /// Make a directory out of a copy
    Restore(directory::RestoreArguments),
    /// Check every file, row and index of a directory
    Verify(directory::VerifyArguments),
    /// Show the tables, the checkpoint and the redo log of a directory
    Inspect(directory::InspectArguments),
    /// Find the isolation level of a recorded history
    Check(check_command::CheckArguments),
    /// Find what keeps a cluster from running well on this host, and how to fix it
    Doctor(doctor::DoctorArguments),
    /// Start or stop a development cluster on this host
    Cluster(cluster::ClusterCommandArguments),
    /// Show the members of a cluster and the memory of its tables
    Status(status::StatusArguments),
    /// Run one memory server of a cluster
    MemoryServer(memory_server::MemoryServerArguments),
    /// Run one compute server of a cluster
    ComputeServer(compute_server::ComputeServerArguments),
}

/// Runs the command named by this process's arguments and returns the exit code. `code` is
/// generated code in addition to that of the shipped workloads. Without `lab`, its commands start
/// the program `namdb-lab`.
pub fn run(code: &[Code], lab: Option<&Lab>) -> ExitCode {
    let result = match read_arguments().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Start(arguments) => start::run(&arguments),
        Command::Sql(arguments) => sql::run(&arguments),
        Command::Bench(arguments) => bench_command::run(arguments, code, lab),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Counts(arguments) => counts::run(&arguments),
        Command::Trace(arguments) => trace::run(arguments, code),
        Command::Simulate(_) | Command::Reproduce(_) | Command::Spade(_) => match lab {
            Some(lab) => (lab.command)(code),
            None => lab::start(),
        },
        Command::Backup(arguments) => directory::back_up_directory(&arguments),
        Command::Restore(arguments) => directory::restore_directory(&arguments),
        Command::Verify(arguments) => directory::verify_directory(&arguments),
        Command::Inspect(arguments) => directory::inspect_directory(&arguments),
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

/// Parses the arguments; prints an error and exits if they are invalid.
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

/// The command line as a clap command.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Exit code of a process that ran and has lost its lease or its database; a service manager must
/// not restart it.
const CANNOT_CONTINUE: u8 = 4;

fn exit_code(error: &anyhow::Error) -> u8 {
    let ends_a_run = error.downcast_ref().is_some_and(ServerError::ends_a_run);
    if ends_a_run { CANNOT_CONTINUE } else { 2 }
}

/// Prints the error and exits at once, whatever other threads do.
pub fn end(error: &anyhow::Error) -> ! {
    tell(error);
    std::process::exit(exit_code(error).into())
}

/// Prints the error, and the doctor's check that examines its cause.
fn tell(error: &anyhow::Error) {
    let code = doctor::code::code_for(error);
    let hint =
        code.map(|code| format!("check {code} of `namdb doctor --cluster FILE` has details"));
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

/// Result of a run's checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All checks hold.
    Sound,
    /// A check of data fails.
    Damaged,
    /// All checks of data hold, but calls did not succeed as often as expected.
    Unexpected,
    /// Memory ran out, a check could not be run, or runs did not cover what they should; all checks
    /// that ran hold.
    Incomplete,
}
