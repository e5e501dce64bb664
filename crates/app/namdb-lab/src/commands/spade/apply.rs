//! `namdb spade apply`: creates and loads a workload's tables in a running cluster, as a design
//! says.
//!
//! Decision: docs/decisions/0252-designs-partition-real-clusters-as-they-do-simulated-ones.md

use crate::Verdict;
use crate::bench::checks::BeforeRun;
use crate::bench::load;
use crate::bench::report::TablesReport;
use crate::bench::site::{Site, SiteWorkload};
use crate::bench::world::THREADS_MAX;
use crate::bench::{json, text};
use crate::commands::bench::drop_tables;
use crate::commands::memory_server::{CLUSTER_FILE, parse_setting};
use crate::commands::{catch_interrupts, interruption, parse_count, parse_units};
use crate::output;
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteJob};
use crate::servers::health::Health;
use anyhow::{Result, ensure};
use clap::Args;
use folder_benchmark::{DesignOrigin, Options, Stored};
use membership::{ClusterFile, Member};
use namdb::{Isolation, host};
use serde::Serialize;
use spade::design::{Partition, Placement, TableDesign};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  namdb spade apply workloads/tpcc                     in the cluster of namdb.toml, with the folder's design.json
  namdb spade apply mine --design tuned.json           with the design in a file
  namdb bench mine --design tuned.json --cluster --loaded    run the workload on these tables

Threads of this process create and load the tables. --fresh drops tables of an earlier run. The command reports the parts
of the design that the engine does not support.

Exit codes: 0 all tables exist; 2 they could not be created; 3 they could not be examined.";

/// Version of the JSON format.
const FORMAT: u32 = 1;
/// Concurrent transactions per loading thread if verbs take time.
const LANES: u32 = 8;

/// Arguments of `namdb spade apply`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ApplyArguments {
    /// The workload's folder
    folder: PathBuf,
    /// How tables are stored [default: design.json of the folder, or the output of `namdb spade
    /// design`]
    #[arg(long, value_name = "FILE")]
    design: Option<PathBuf>,
    /// The cluster's file
    #[arg(long, value_name = "FILE", default_value = CLUSTER_FILE)]
    cluster: PathBuf,
    /// Override a setting of the file
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// Scale, such as the number of warehouses [default: as in workload.toml]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_units)]
    units: Option<u64>,
    /// Number of loading threads [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(THREADS_MAX)))]
    threads: Option<u32>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    /// Drop the tables of an earlier run
    #[arg(long)]
    fresh: bool,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report {
    format: u32,
    workload: String,
    design: Option<String>,
    units: u64,
    servers: u16,
    rows: u64,
    load_seconds: f64,
    tables: Vec<TableMade>,
    /// Parts of the design that the engine does not support.
    notes: Vec<String>,
    /// Tables that could not be examined.
    problems: Vec<String>,
}

/// A created table.
#[derive(Serialize)]
struct TableMade {
    table: String,
    stored: String,
    /// Number of parts, each on its own memory server; 1 if it is not partitioned.
    parts: u32,
    /// Number of memory servers that have all of it; 1 if it is not replicated.
    copies: u32,
    rows: u64,
    used_bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &ApplyArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        let files = [&*arguments.folder, &*arguments.cluster];
        let inputs: Vec<&Path> = files.into_iter().chain(arguments.design.as_deref()).collect();
        json::probe(path, &inputs)?;
    }
    catch_interrupts()?;
    let options = Options {
        units: arguments.units,
        wants_plans: true,
        linked: &[],
        design: arguments.design.as_deref(),
        isolation: Isolation::Snapshot,
        seed: arguments.seed,
    };
    let stored = Stored::read(&arguments.folder, &options)?;
    let cluster = ClusterFile::load(&arguments.cluster, &arguments.set)?;
    let health = Arc::new(Health::new(interruption()));
    let client = ClusterClient::join(cluster, Member::client(), &Arc::default(), &health)?;
    let threads = arguments.threads.unwrap_or((host::processor_count() as u32).min(THREADS_MAX));
    let errand = Apply { stored: &stored, threads, is_fresh: arguments.fresh };
    let made = cluster_site::run(&client, LANES, &stored, errand);
    if let Err(error) = client.leave() {
        output::say(&format!("namdb: cannot leave the cluster: {error:#}"));
    }
    let report = made?;
    json::deliver(&report, arguments.json.as_deref(), &in_words(&report))?;
    Ok(if report.problems.is_empty() { Verdict::Sound } else { Verdict::Incomplete })
}

/// Creates and loads the tables.
struct Apply<'a> {
    stored: &'a Stored,
    threads: u32,
    is_fresh: bool,
}

impl<W> SiteJob<W> for Apply<'_> {
    type Output = Report;

    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Report>
    where
        W: SiteWorkload<S>,
    {
        if self.is_fresh {
            drop_tables(site, workload)?;
        }
        let loaded = load::load(site, workload, self.threads, interruption())?;
        let servers = site.facts().servers;
        let before = BeforeRun::new(site, workload, loaded);
        let design = self.stored.design();
        let tables = design.tables.iter().map(|table| made(table, &before.memory)).collect();
        ensure!(!design.tables.is_empty(), "the workload has no tables");
        Ok(Report {
            format: FORMAT,
            workload: design.workload.clone(),
            design: match self.stored.origin() {
                DesignOrigin::File(path) => Some(path.display().to_string()),
                DesignOrigin::Default | DesignOrigin::Given => None,
            },
            units: self.stored.units(),
            servers,
            rows: loaded.rows,
            load_seconds: loaded.seconds,
            tables,
            notes: workload.notes(usize::from(servers)),
            problems: before.problems,
        })
    }
}

fn made(design: &TableDesign, memory: &TablesReport) -> TableMade {
    let there = memory.per_table.get(&design.table);
    TableMade {
        table: design.table.clone(),
        stored: stored_as(design),
        parts: there.map_or(1, |table| table.parts),
        copies: there.map_or(1, |table| table.copies),
        rows: there.map_or(0, |table| table.rows),
        used_bytes: there.map_or(0, |table| table.used_bytes),
    }
}

/// Describes how a table is stored.
fn stored_as(design: &TableDesign) -> String {
    let slots = text::counted(u64::from(design.neighbourhood), "slot");
    let way = match (design.storage, &design.placement) {
        (layout::Storage::Tree, _) => format!("tree, nodes of {} B", design.node_bytes),
        (storage, placement) => {
            let inside = match storage {
                layout::Storage::HashOutside => "hash table, rows outside",
                _ => "hash table, rows inlined",
            };
            let way = match placement {
                Placement::Dense { .. } => "counted".to_owned(),
                Placement::Hashed { load_percent } => format!("{load_percent} % full"),
            };
            format!("{inside}, {slots}, {way}")
        }
    };
    match &design.partition {
        Partition::By { columns, .. } => format!("{way}, by {}", columns.join(", ")),
        _ => way,
    }
}

fn in_words(report: &Report) -> String {
    let design = match &report.design {
        Some(file) => format!("as {file} says"),
        None => "with the default design".to_owned(),
    };
    let mut said = format!(
        "{}: {} {design}, {} in {:.1} s, {}\n",
        report.workload,
        text::counted(report.tables.len() as u64, "table"),
        text::counted(report.rows, "row"),
        report.load_seconds,
        text::counted(u64::from(report.servers), "memory server"),
    );
    let width = report.tables.iter().map(|table| table.table.len()).max().unwrap_or(0);
    for TableMade { table, stored, parts, copies, rows, used_bytes } in &report.tables {
        let (rows, bytes) = (text::counted(*rows, "row"), text::bytes(*used_bytes));
        let parts = text::parts(*parts, *copies).map_or(String::new(), |said| format!(", {said}"));
        said.push_str(&format!("  {table:width$}  {rows}, {bytes}: {stored}{parts}\n"));
    }
    report.problems.iter().for_each(|problem| said.push_str(&format!("  {problem}\n")));
    said
}
