//! `namdb spade`: from SQL procedures to a physical design.

mod apply;
mod design;
mod forecast;
mod generate;
mod measure;
mod plan;
mod question;
mod tune;
mod verify;

use crate::Verdict;
use anyhow::Result;
use clap::{Args, Subcommand};
use namdb::procedures::Code;

const EXAMPLES: &str = "\
A workload of your own is a folder, and this is the way with it:
  namdb spade plan mine                                        the plans, once for each change of its SQL
  namdb bench mine --seconds 2                                 run it, with tables stored as usual
  namdb spade measure --profile connectx3-fdr --machines 5     once for each cluster
  namdb spade tune mine --out mine/design.json                 decide
  namdb spade verify mine                                      measure what was decided beside its forecast

docs/workload.md has every key of workload.toml, docs/sql.md tells which SQL is taken, docs/spade.md all else.";

/// Arguments of `namdb spade`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SpadeArguments {
    #[command(subcommand)]
    what: SpadeCommand,
}

#[derive(Subcommand)]
enum SpadeCommand {
    /// Measure the costs of single operations on a real or simulated cluster
    Measure(measure::MeasureArguments),
    /// Get the plans of a workload's statements from PostgreSQL
    Plan(plan::PlanArguments),
    /// Decide how a workload is stored, partitioned and executed
    Tune(tune::TuneArguments),
    /// Forecast the performance of given designs without building them
    Forecast(forecast::ForecastArguments),
    /// Build a design, measure it, and compare it with its forecast
    Verify(verify::VerifyArguments),
    /// Write Rust code for a workload's procedures
    Generate(generate::GenerateArguments),
    /// Write the default design of a workload, as a file to edit
    Design(design::DesignArguments),
    /// Create and load a workload's tables in a running cluster, as a design says
    Apply(apply::ApplyArguments),
}

/// Runs the command. `code` is generated code in addition to that of the shipped workloads.
pub fn run(arguments: &SpadeArguments, code: &[Code]) -> Result<Verdict> {
    match &arguments.what {
        SpadeCommand::Measure(arguments) => measure::run(arguments),
        SpadeCommand::Plan(arguments) => plan::run(arguments),
        SpadeCommand::Tune(arguments) => tune::run(arguments),
        SpadeCommand::Forecast(arguments) => forecast::run(arguments),
        SpadeCommand::Verify(arguments) => verify::run(arguments, code),
        SpadeCommand::Generate(arguments) => generate::run(arguments),
        SpadeCommand::Design(arguments) => design::run(arguments),
        SpadeCommand::Apply(arguments) => apply::run(arguments),
    }
}
