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

/// Options of `spade`.
#[derive(Args)]
pub struct SpadeArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure what single operations cost on a cluster, real or simulated
    Measure(measure::MeasureArguments),
    /// Ask a PostgreSQL for the plans of a workload's statements
    Plan(plan::PlanArguments),
    /// Decide how a workload is stored, partitioned and carried out
    Tune(tune::TuneArguments),
    /// Say what given designs should reach, side by side, before one of them is made
    Forecast(forecast::ForecastArguments),
    /// Build a design, measure it, and put that beside its forecast
    Verify(verify::VerifyArguments),
    /// Write Rust for a workload's procedures
    Generate(generate::GenerateArguments),
    /// Print how a workload's tables are stored where no file says it, as a file to start from
    Design(design::DesignArguments),
    /// Make and load a workload's tables in a running cluster, as a design says
    Apply(apply::ApplyArguments),
}

/// Runs the command.
pub fn run(arguments: &SpadeArguments) -> Result<Verdict> {
    match &arguments.what {
        What::Measure(arguments) => measure::run(arguments),
        What::Plan(arguments) => plan::run(arguments),
        What::Tune(arguments) => tune::run(arguments),
        What::Forecast(arguments) => forecast::run(arguments),
        What::Verify(arguments) => verify::run(arguments),
        What::Generate(arguments) => generate::run(arguments),
        What::Design(arguments) => design::run(arguments),
        What::Apply(arguments) => apply::run(arguments),
    }
}
