//! A memory server with replicas marks what it has on disk as old: when the database is whole, and
//! before it is published.
//!
//! Until then the next start finds what this one has found. So a failure while the database begins,
//! before anything was acknowledged, loses nothing.
//!
//! Decision: docs/decisions/0376-images-are-old-when-the-database-is-whole.md

use super::data::ServerData;
use anyhow::{Context, Result};
use durability::run_file::Run;
use membership::Registry;
use namdb::host::{sleep_ms, spawn};
use std::sync::Arc;

/// Between two looks at the registry.
const LOOK_MS: u64 = 20;
/// Between two attempts, if the disk refuses the mark.
const RETRY_MS: u64 = 1_000;

/// Marks the data of the member `own` on a separate thread, when the time has come.
pub fn follow(registry: &Registry, data: &Arc<ServerData>, own: u64) -> Result<()> {
    let (registry, data) = (registry.clone(), data.clone());
    let work = move || {
        while !data.has_ended() {
            match mark(&registry, &data, own) {
                Ok(true) => return,
                Ok(false) => sleep_ms(LOOK_MS),
                Err(_) if data.has_ended() => return,
                Err(error) => {
                    tracing::error!("the database cannot begin: {error:#}");
                    sleep_ms(RETRY_MS);
                }
            }
        }
    };
    spawn("marking", work).context("no thread can be started")?;
    Ok(())
}

/// Marks the data as old and says so, if the database is whole; returns whether that is done.
fn mark(registry: &Registry, data: &ServerData, own: u64) -> Result<bool> {
    // The silence of the registry is the concern of the lease.
    let Ok(Some(opening)) = registry.opening() else { return Ok(data.has_begun()) };
    if !opening.is_whole || !opening.members.contains(&own) {
        return Ok(false);
    }
    let run = Run { database: opening.database, number: opening.run };
    data.begin(run).context("the data of this memory server cannot be marked as old")?;
    Ok(registry.note_marked(own).is_ok())
}
