//! `namdb trace`: shows the verbs of one transaction of each type.

use super::WorldArguments;
use super::choice::{Choice, Job};
use crate::Verdict;
use crate::bench::progress::Progress;
use crate::bench::report::Parameters;
use crate::bench::world::{self, WorldPlan};
use crate::bench::{AnyWorkload, LocalWorkload, json, text};
use crate::output;
use anyhow::Result;
use clap::Args;
use fabric::{Counts, Fabric, run_now};
use namdb::procedures::Code;
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use workload::TransactionResult;

const EXAMPLES: &str = "\
Examples:
  namdb trace tpcc --warehouses 1
  namdb trace ycsb --ops-per-txn 3 --records 1000
  namdb trace smallbank --isolation serializable --records 1000

Each `round trip` is one batch: its verbs, listed below it, are posted together and awaited together.";

/// Transactions that fill the caches before the trace starts.
const WARM_UP: u32 = 1000;
/// Maximal number of transactions drawn in search of one of each type.
const DRAWS_MAX: u32 = 5000;

/// Arguments of `namdb trace`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArguments {
    #[command(subcommand)]
    choice: Choice,
    #[command(flatten)]
    world: WorldArguments,
    /// Also write the traces as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs transactions until each type has occurred, and prints their traces. `code` is generated
/// code in addition to that of the shipped workloads.
pub fn run(mut arguments: TraceArguments, code: &[Code]) -> Result<Verdict> {
    arguments.choice.link(code);
    if let Some(path) = &arguments.json {
        json::probe(path, &[])?;
    }
    let world = &arguments.world;
    let job = Trace { plan: WorldPlan { threads: 1, ..world.plan() } };
    let traces = arguments.choice.run(world.isolation.into(), 1, world.seed, job)?;
    let mut told = String::new();
    for TypeTrace { name, lines, .. } in &traces {
        told.extend([name, "\n"]);
        lines.iter().for_each(|line| told.extend(["  ", line, "\n"]));
        told.push('\n');
    }
    json::deliver(&traces, arguments.json.as_deref(), &told)?;
    Ok(Verdict::Sound)
}

/// The trace of one transaction.
#[derive(Serialize)]
struct TypeTrace {
    name: &'static str,
    round_trips: u64,
    verbs: u64,
    bytes: u64,
    /// Round trips and their verbs, in order.
    lines: Vec<String>,
}

impl TypeTrace {
    fn new(name: &'static str, trace: &str, counts: Counts) -> Self {
        let Counts { round_trips, verbs, bytes, .. } = counts;
        let mut lines: Vec<String> = trace.lines().map(str::to_owned).collect();
        lines.push(format!(
            "in all: {}, {}, {}",
            text::counted(round_trips, "round trip"),
            text::counted(verbs, "verb"),
            text::bytes(bytes)
        ));
        Self { name, round_trips, verbs, bytes, lines }
    }
}

struct Trace {
    plan: WorldPlan,
}

impl Job for Trace {
    type Output = Vec<TypeTrace>;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Vec<TypeTrace>> {
        self.run_here(workload, parameters)
    }
}

impl Trace {
    fn run_here<W: LocalWorkload>(
        self,
        workload: W,
        parameters: Parameters,
    ) -> Result<Vec<TypeTrace>> {
        let db = world::open(&self.plan, workload.memory_bytes())?;
        let database = world::handle(&db);
        output::say(&format!("  {}: {}", workload.name(), parameters.words));
        run_now(workload.create_tables(&database))?;
        let mut lane = run_now(database.lane())?;
        let progress = Progress::begin("loading", workload.load_rows());
        let rows = Cell::new(0);
        let show = |inserted| {
            rows.set(rows.get() + inserted);
            progress.show(rows.get(), &text::counted(rows.get(), "row"));
        };
        run_now(workload.load_part(&database, &mut lane, 0, 1, &show))?;
        progress.finish(&text::counted(rows.get(), "row"));
        let mut terminal = workload.terminal(&database, 0, 1, self.plan.seed)?;
        for _ in 0..WARM_UP {
            run_now(workload.run_one(&mut lane, &mut terminal))?;
        }
        let names = workload.transaction_types();
        let mut traces = BTreeMap::new();
        lane.env().counters().set_tracing(true);
        for _ in 0..DRAWS_MAX {
            let before = lane.env().counters().counts();
            let finished = run_now(workload.run_one(&mut lane, &mut terminal))?;
            let counts = lane.env().counters().counts() - before;
            let trace = lane.env().counters().take_trace();
            if finished.result == TransactionResult::Committed {
                let name = names[finished.kind];
                traces.entry(finished.kind).or_insert_with(|| TypeTrace::new(name, &trace, counts));
            }
            if traces.len() == names.len() {
                break;
            }
        }
        Ok(traces.into_values().collect())
    }
}
