//! `namdb spade`: from SQL procedures to a physical design.

mod plan;

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
    /// Ask a PostgreSQL for the plans of a workload's statements
    Plan(plan::PlanArguments),
}

/// Runs the command.
pub fn run(arguments: &SpadeArguments) -> Result<Verdict> {
    match &arguments.what {
        What::Plan(arguments) => plan::run(arguments),
    }
}
