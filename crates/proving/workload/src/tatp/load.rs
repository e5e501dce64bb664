//! Loading: subscribers with all their rows, several per transaction.

use super::config::TatpConfig;
use super::keys;
use super::population::{Loaded, Row, fill};
use super::schema::{special_facility, subscriber};
use super::tables::Tables;
use crate::attempts::{insist, result_of};
use crate::error::WorkloadError;
use crate::loading::{chunks, insert, share};
use fabric::Env;
use layout::Key;
use std::ops::Range;
use txn::{Lane, TableId};

/// Subscribers per transaction of the load, with about ten rows each.
const CHUNK: u64 = 16;
/// The smallest number of subscribers that justifies a loader of its own: few subscribers have few
/// buckets, on which loaders would wait for each other.
pub const PART: u64 = 1_000;

/// Loads part `part` of `parts`.
pub async fn load_part<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    (part, parts): (u64, u64),
    progress: &dyn Fn(u64),
) -> Result<(), WorkloadError> {
    let subscribers = share(u64::from(config.subscribers), part, parts);
    load_subscribers(lane, tables, config, subscribers, progress).await
}

/// Loads the subscribers of these numbers, counted from 0. Calls back with the number of rows of
/// each transaction.
///
/// # Errors
/// If there is no room, or if they exist already.
pub async fn load_subscribers<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    subscribers: Range<u64>,
    progress: &dyn Fn(u64),
) -> Result<(), WorkloadError> {
    for chunk in chunks(subscribers, CHUNK) {
        let loaded: Vec<Loaded> =
            chunk.map(|position| Loaded::new(config, position as i32 + 1)).collect();
        let rows: Vec<(&Loaded, Row, (TableId, Key))> =
            loaded.iter().flat_map(|loaded| rows_of(tables, loaded)).collect();
        let keys: Vec<_> = rows.iter().map(|&(_, _, key)| key).collect();
        insert(lane, &keys, &mut |position, record| {
            let (loaded, row, _) = rows[position];
            fill(config, loaded, row, record);
        })
        .await?;
        progress(keys.len() as u64);
    }
    Ok(())
}

/// Rewrites the columns that transactions change of these subscribers, with unchanged values: this
/// allocates their memory for an old version, as after a while of use.
///
/// # Errors
/// If there is no room, or if they do not exist.
pub async fn write_again<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    subscribers: Range<u64>,
) -> Result<(), WorkloadError> {
    for chunk in chunks(subscribers, CHUNK) {
        let loaded: Vec<Loaded> =
            chunk.map(|position| Loaded::new(config, position as i32 + 1)).collect();
        let rows = loaded.iter().flat_map(|loaded| rows_of(tables, loaded));
        let changing = rows.filter_map(|(_, row, key)| match row {
            Row::Subscriber => Some((subscriber::VLR_LOCATION, key)),
            Row::Facility(_) => Some((special_facility::DATA_A, key)),
            Row::Access(_) | Row::Forwarding(..) => None,
        });
        let (columns, keys): (Vec<_>, Vec<_>) = changing.unzip();
        insist(lane, async |lane| {
            let mut transaction = lane.begin(config.isolation).await?;
            let mut found = Vec::new();
            transaction.read_many(&keys, &mut found).await?;
            for (row, &column) in found.into_iter().zip(&columns) {
                let row = row.ok_or(WorkloadError::MissingRow { table: "subscriber" })?;
                let value = transaction.row(row).int(column);
                transaction.update(row).set_int(column, value);
            }
            Ok(result_of(transaction.commit().await))
        })
        .await?;
    }
    Ok(())
}

/// All rows of a subscriber with their keys.
fn rows_of<'a>(
    tables: &'a Tables,
    loaded: &'a Loaded,
) -> impl Iterator<Item = (&'a Loaded, Row, (TableId, Key))> {
    let s_id = loaded.s_id;
    let access = move |kind| (Row::Access(kind), (tables.access_info, keys::typed(s_id, kind)));
    let facility =
        move |kind| (Row::Facility(kind), (tables.special_facility, keys::typed(s_id, kind)));
    let forwarding = move |(kind, start)| {
        let key = keys::call_forwarding(s_id, kind, start);
        (Row::Forwarding(kind, start), (tables.call_forwarding, key))
    };
    std::iter::once((Row::Subscriber, (tables.subscriber, keys::subscriber(s_id))))
        .chain(loaded.access_types().map(access))
        .chain(loaded.facility_types().map(facility))
        .chain(loaded.forwarding_times().map(forwarding))
        .map(move |(row, key)| (loaded, row, key))
}
