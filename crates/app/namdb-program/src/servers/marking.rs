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
use membership::{Opening, Registry};
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

/// Whether the member `own` marks what it has: servers with empty memory come last. A mark of
/// theirs alone would say that the images of the others are old.
fn may_mark(opening: &Opening, own: u64) -> bool {
    let has_marked = |member: &u64| opening.marked.contains(member);
    let keeps = |member: &&u64| opening.servers.contains(member);
    opening.is_whole
        && opening.members.contains(&own)
        && (keeps(&&own) || opening.members.iter().filter(keeps).all(has_marked))
}

/// Marks the data as old and says so, if the database is whole; returns whether that is done.
fn mark(registry: &Registry, data: &ServerData, own: u64) -> Result<bool> {
    // The silence of the registry is the concern of the lease.
    let Ok(Some(opening)) = registry.opening() else { return Ok(data.has_begun()) };
    if !may_mark(&opening, own) {
        return Ok(false);
    }
    let run = Run { database: opening.database, number: opening.run };
    data.begin(run).context("the data of this memory server cannot be marked as old")?;
    Ok(registry.note_marked(own).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_empty_memory_mark_when_all_others_have_marked() {
        let mut opening = Opening::new(vec![1, 2, 3], vec![1, 2, 90], 7, 4);
        let may = |opening: &Opening| [1, 2, 3, 4].map(|own| may_mark(opening, own));
        assert_eq!(may(&opening), [false; 4]);
        opening.is_whole = true;
        assert_eq!(may(&opening), [true, true, false, false]);
        opening.marked.insert(1);
        assert_eq!(may(&opening), [true, true, false, false]);
        opening.marked.insert(2);
        assert_eq!(may(&opening), [true, true, true, false]);
    }
}
