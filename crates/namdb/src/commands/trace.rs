//! `namdb trace`: what one transaction of each type sends, verb by verb.

use super::WorldArguments;
use super::choice::{Choice, Job};
use crate::Verdict;
use crate::bench::world::{self, WorldPlan};
use crate::bench::{LocalWorkload, text};
use anyhow::Result;
use clap::Args;
use fabric::{Fabric, run_now};
use std::collections::BTreeMap;
use workload::TransactionResult;

const EXAMPLES: &str = "\
Examples:
  namdb trace tpcc --warehouses 1
  namdb trace ycsb --ops-per-txn 3 --records 1000
  namdb trace smallbank --isolation serializable --records 1000

Each `round trip` is one batch, posted at once and waited for once; the lines below it are its verbs.";

/// Transactions that fill the caches before anything is written down.
const WARM_UP: u32 = 1000;
/// Transactions to draw at most, in search of one of each type.
const DRAWS_MAX: u32 = 5000;

/// Options of `trace`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArguments {
    #[command(subcommand)]
    choice: Choice,
    #[command(flatten)]
    world: WorldArguments,
}

/// Runs until every type was seen once, and prints the traces.
pub fn run(arguments: &TraceArguments) -> Result<Verdict> {
    let world = &arguments.world;
    let job = Trace { plan: WorldPlan { threads: 1, ..world.plan() } };
    let traces = arguments.choice.run(world.isolation.into(), 1, world.seed, job)?;
    for (name, trace) in traces {
        println!("{name}");
        for line in trace.lines() {
            println!("  {line}");
        }
        println!();
    }
    Ok(Verdict::Sound)
}

struct Trace {
    plan: WorldPlan,
}

impl Job for Trace {
    type Output = Vec<(&'static str, String)>;

    fn run<W: LocalWorkload>(self, workload: W, parameters: String) -> Result<Self::Output> {
        let db = world::open(&self.plan, workload.memory_bytes())?;
        let database = world::handle(&db);
        eprintln!("  loading {}: {parameters}", workload.name());
        run_now(workload.create_tables(&database))?;
        let mut lane = run_now(database.lane())?;
        run_now(workload.load_part(&database, &mut lane, 0, 1, &|_| ()))?;
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
                let total = format!(
                    "in all: {}, {}, {}\n",
                    text::counted(counts.round_trips, "round trip"),
                    text::counted(counts.verbs, "verb"),
                    text::bytes(counts.bytes)
                );
                traces.entry(finished.kind).or_insert(trace + &total);
            }
            if traces.len() == names.len() {
                break;
            }
        }
        Ok(traces.into_iter().map(|(kind, trace)| (names[kind], trace)).collect())
    }
}
