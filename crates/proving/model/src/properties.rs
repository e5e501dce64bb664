//! The properties that must hold in every state.

use crate::config::{BufferKind, Config};
use crate::protocol::Protocol;
use crate::reader::Reading;
use crate::serial::is_serializable;
use crate::state::{Counters, ROW_COUNT, Row, State, at_or_before};
use crate::survivors::alone_ends;
use crate::writer::{Phase, own_version};
use stateright::Property;

/// A reader accepted a payload with words of two versions as one. [ZB17 §3.1]
pub const NO_TORN_READ: &str = "no torn row is read";
/// The same, with the new version's header above words of an older payload.
pub const NO_NEW_HEADER_ON_OLD_PAYLOAD: &str = "no new header is read with an old payload";
/// A reader saw one of a transaction's rows and missed another.
pub const NO_FRACTURED_READ: &str = "no fractured read";
/// A reader saw another version than the newest one that its snapshot covers.
pub const READS_OF_SNAPSHOT: &str = "reads are those of the snapshot";
/// Two readers saw two independent writes in opposite orders.
pub const NO_LONG_FORK: &str = "no long fork";
/// Any two snapshots are comparable, readers' and writers'.
pub const SNAPSHOTS_COMPARABLE: &str = "snapshots are comparable";
/// A writer overwrote a version that it had not read.
pub const NO_LOST_UPDATE: &str = "no lost update";
/// The finished transactions have a serial order.
pub const SERIALIZABLE: &str = "serializable";
/// A session missed its own commit, which it knew to be committed.
pub const OWN_COMMITS_SEEN: &str = "sessions see their own commits";
/// At some moment a row had no version for a snapshot in use.
pub const ALWAYS_READABLE: &str = "every row is readable at every moment";
/// A process that runs alone terminates, wherever the others have stopped.
pub const ALONE_ENDS: &str = "every process left alone ends";
/// A commit was refused because of a row that no other process had locked.
pub const CONFLICTS_HAVE_CAUSE: &str = "conflicts only on rows another has locked";

/// The promises of our protocol under a configuration.
pub fn promises(config: &Config) -> Vec<Property<Protocol>> {
    let applies = |property: &Property<Protocol>| match property.name {
        ALWAYS_READABLE => config.buffer == BufferKind::Fresh,
        OWN_COMMITS_SEEN => config.sessions,
        SERIALIZABLE => config.guards.writers_validate,
        ALONE_ENDS => config.crashes,
        _ => true,
    };
    all().into_iter().filter(applies).collect()
}

/// The property with this name.
pub fn named(name: &'static str) -> Property<Protocol> {
    let property = all().into_iter().find(|property| property.name == name);
    property.expect("names are the constants above")
}

fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(NO_TORN_READ, |_, state| {
            readings(state).all(|(_, got, _)| got.foreign.is_none())
        }),
        Property::always(NO_NEW_HEADER_ON_OLD_PAYLOAD, |_, state| {
            readings(state).all(|(row, got, _)| {
                let foreign = got.foreign.and_then(|version| row.place_of(version));
                foreign.is_none_or(|place| Some(place) > row.place_of(got.version))
            })
        }),
        Property::always(NO_FRACTURED_READ, no_fractured_read),
        Property::always(READS_OF_SNAPSHOT, |_, state| {
            readings(state).all(|(row, got, seen)| got.version == row.newest_covered_by(seen))
        }),
        Property::always(NO_LONG_FORK, |_, state| no_long_fork(state)),
        Property::always(SNAPSHOTS_COMPARABLE, |_, state| snapshots_are_comparable(state)),
        Property::always(NO_LOST_UPDATE, no_lost_update),
        Property::always(SERIALIZABLE, is_serializable),
        Property::always(OWN_COMMITS_SEEN, |_, state| own_commits_are_seen(state)),
        Property::always(ALWAYS_READABLE, |_, state| is_readable_by_all(state)),
        Property::always(ALONE_ENDS, alone_ends),
        Property::always(CONFLICTS_HAVE_CAUSE, conflicts_have_cause),
    ]
}

/// Every row that some reader has accepted, with the reader's snapshot.
fn readings(state: &State) -> impl Iterator<Item = (&Row, Reading, Counters)> {
    state.readers.iter().flat_map(|reader| {
        let taken = state.rows.iter().zip(reader.got);
        taken.filter_map(|(row, got)| Some((row, got?, reader.snapshot?)))
    })
}

fn no_fractured_read(_: &Protocol, state: &State) -> bool {
    let fractured = |seen: &Row, got: Option<Reading>, other: &Row, missed: Option<Reading>| {
        let (Some(got), Some(missed)) = (got, missed) else {
            return false;
        };
        assert!(seen.place_of(got.version).is_some());
        other.place_of(got.version) > other.place_of(missed.version)
    };
    let [first, second] = &state.rows;
    state.readers.iter().all(|reader| {
        let [got, other] = reader.got;
        !fractured(first, got, second, other) && !fractured(second, other, first, got)
    })
}

fn no_long_fork(state: &State) -> bool {
    let [one, other] = &state.readers;
    let place = |row: usize, got: Option<Reading>| state.rows[row].place_of(got?.version);
    let orders = [0, 1].map(|row| {
        let places = place(row, one.got[row]).zip(place(row, other.got[row]));
        places.map(|(one, other)| one.cmp(&other))
    });
    let [Some(first), Some(second)] = orders else {
        return true;
    };
    first.is_eq() || second.is_eq() || first == second
}

fn snapshots_are_comparable(state: &State) -> bool {
    let of_readers = state.readers.iter().filter_map(|reader| reader.snapshot);
    let of_writers = state.writers.iter().filter_map(|writer| writer.snapshot);
    let mut snapshots = of_readers.chain(of_writers);
    let comparable = |a: Counters, b: Counters| at_or_before(a, b) || at_or_before(b, a);
    while let Some(snapshot) = snapshots.next() {
        if !snapshots.clone().all(|other| comparable(snapshot, other)) {
            return false;
        }
    }
    true
}

/// Each version directly follows the one that its writer has read.
fn no_lost_update(protocol: &Protocol, state: &State) -> bool {
    (0..state.writers.len()).all(|index| {
        let writer = &state.writers[index];
        let own = own_version(index, writer.counter);
        let follows_what_it_read = |row: usize| {
            let place = state.rows[row].place_of(own);
            place.is_none_or(|place| {
                state.rows[row].order[place - 1] == Some(writer.version_read[row])
            })
        };
        let committed = writer.is_beyond_return();
        let writes = protocol.config.writers[index].writes;
        !committed || (0..ROW_COUNT).filter(|row| writes[*row]).all(follows_what_it_read)
    })
}

fn own_commits_are_seen(state: &State) -> bool {
    state
        .readers
        .iter()
        .all(|reader| reader.snapshot.is_none_or(|snapshot| reader.floor.is_reached_by(snapshot)))
}

fn is_readable_by_all(state: &State) -> bool {
    let takeable_now = [state.slots, state.frozen.newest];
    let reading = state.readers.iter().filter(|reader| !reader.is_finished());
    let snapshots = takeable_now.into_iter().chain(reading.filter_map(|reader| reader.snapshot));
    let readable = |snapshot| state.rows.iter().all(|row| row.is_readable_at(snapshot));
    snapshots.into_iter().all(readable)
}

fn conflicts_have_cause(protocol: &Protocol, state: &State) -> bool {
    (0..state.writers.len()).all(|index| {
        let (Phase::Aborting { row } | Phase::Aborted { row }) = state.writers[index].phase else {
            return true;
        };
        let other_index = 1 - index;
        let other = &state.writers[other_index];
        let has_taken = state.rows[row].place_of(own_version(other_index, other.counter)).is_some();
        let was_refused = matches!(other.phase, Phase::Aborting { .. } | Phase::Aborted { .. });
        protocol.config.writers[other_index].writes[row]
            && (has_taken || was_refused || other.counter > 1)
    })
}
