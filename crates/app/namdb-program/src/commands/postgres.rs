//! `namdb bench DIR --postgres`: runs the same procedures in PostgreSQL and then in namdb.

use super::bench::Measure;
use super::choice::{FolderArguments, Job};
use super::interruption;
use crate::Verdict;
use crate::bench::progress::Progress;
use crate::bench::{json, table};
use crate::postgres::beside::{Beside, TheirReport};
use crate::postgres::clients::{self, ClientPlan};
use crate::postgres::server::{self, LoadedServer};
use anyhow::{Result, ensure};
use folder_benchmark::Stored;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Measures PostgreSQL, stops its server, measures namdb, and prints both results.
pub fn run(folder: &FolderArguments, measure: Measure<'_>, json: Option<&Path>) -> Result<Verdict> {
    let world = measure.world;
    let (stored, parameters) = folder.workload(world.isolation.into(), world.seed)?;
    let plan = ClientPlan {
        clients: folder.clients.unwrap_or_else(|| world.thread_count()),
        warm_up_s: measure.warm_up_s,
        window_s: measure.seconds,
        isolation: folder.postgres_isolation.words(),
    };
    let theirs = theirs(folder, &stored, &plan)?;
    ensure!(!interruption().load(Relaxed), "ended by the user before namdb was measured");
    let report = measure.run(stored, parameters)?;
    let ours = table::draw(&report);
    let beside = Beside::new(theirs, report);
    json::deliver(&beside, json, &format!("{ours}\n{}", beside.draw()))?;
    Ok(beside.verdict())
}

fn theirs(folder: &FolderArguments, stored: &Stored, plan: &ClientPlan) -> Result<TheirReport> {
    let url = folder.postgres.as_deref().filter(|url| !url.is_empty());
    let server = server::open(stored, url, plan.clients)?;
    let loaded = LoadedServer::load(&server, stored, &folder.folder)?;
    let progress = Progress::begin("PostgreSQL", (plan.window_s * 1e3) as u64);
    let mut show = |seconds: f64| progress.show((seconds * 1e3) as u64, "calling");
    let run = clients::run(&loaded.address, stored, plan, interruption(), &mut show)?;
    let names: Vec<&str> =
        stored.ready().procedures.iter().map(|of| of.routine.name.as_str()).collect();
    let report = TheirReport::new(&run, plan, &names, loaded.version, loaded.loaded);
    progress.finish(&format!("{:.0} transactions/s", report.txn_per_s));
    Ok(report)
}
