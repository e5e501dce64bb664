//! The protocol as published has anomalies, even where words take effect in address order.
//! [ZB17 §3.1 listing 1, §4.1, §5.1]

use crate::run::{assert_all, counterexample};
use model::config::{BOTH_ROWS, Config, FIRST_ROW, Guards, NO_ROW, SECOND_ROW};
use model::properties::{
    NO_FRACTURED_READ, NO_LONG_FORK, NO_LOST_UPDATE, NO_NEW_HEADER_ON_OLD_PAYLOAD, NO_TORN_READ,
    named,
};
use model::state::Version;

const FIRST_WRITE: Version = Version { slot: 0, counter: 1 };
const SECOND_WRITE: Version = Version { slot: 1, counter: 1 };

fn without_publish_wait(config: Config) -> Config {
    Config { guards: Guards { publish_waits: false, ..Guards::PUBLISHED }, ..config }
}

/// The reader has the old header and then words of the new payload, because it does not check the
/// header again.
#[test]
fn published_protocol_has_torn_reads() {
    let config = Config { reader_count: 1, ..Config::published(FIRST_ROW, NO_ROW) };
    let end = counterexample("published, torn read", config, NO_TORN_READ);
    let got = end.readers.iter().find_map(|reader| reader.got[0]).expect("the first row was read");
    assert_eq!(got.version, Version::INITIAL);
    assert_eq!(got.foreign, Some(FIRST_WRITE));
}

/// The header comes first and is unlocked by the same write, so another writer may lock the row and
/// write it while the payload of the first is still under way: the row remains a mixture.
#[test]
fn published_protocol_shows_new_header_on_old_payload() {
    let config = Config { reader_count: 1, ..Config::published(FIRST_ROW, FIRST_ROW) };
    let end =
        counterexample("published, new header, old payload", config, NO_NEW_HEADER_ON_OLD_PAYLOAD);
    let got = end.readers.iter().find_map(|reader| reader.got[0]).expect("the first row was read");
    let place = |version| end.rows[0].place_of(version);
    assert!(place(got.version) > place(got.foreign.expect("a word of another version")));
    assert!(!end.rows[0].header.locked);
}

/// One writer suffices if the slot may be written before the installs have completed: a snapshot
/// that covers the new version reads the payload before it has arrived.
#[test]
fn published_protocol_without_publish_wait_shows_it_with_one_writer() {
    let one_reader = Config { reader_count: 1, ..Config::published(FIRST_ROW, NO_ROW) };
    let config = without_publish_wait(one_reader);
    let end = counterexample(
        "published, no publish wait, new header, old payload",
        config,
        NO_NEW_HEADER_ON_OLD_PAYLOAD,
    );
    let got = end.readers.iter().find_map(|reader| reader.got[0]).expect("the first row was read");
    assert_eq!(got.version, FIRST_WRITE);
    assert_eq!(got.foreign, Some(Version::INITIAL));
}

/// With both guards a version is neither covered nor overwritten before its payload has arrived. So
/// this direction of the tear cannot occur even with the header first; the other one remains.
#[test]
fn publish_wait_and_snapshot_check_keep_new_header_and_old_payload_apart() {
    let guards = Guards { swap_from_version_read: true, ..Guards::PUBLISHED };
    let config = Config { guards, ..Config::published(FIRST_ROW, FIRST_ROW) };
    let properties = vec![named(NO_NEW_HEADER_ON_OLD_PAYLOAD)];
    assert_all("published, with snapshot check at lock", config, properties);
    counterexample("published, with snapshot check at lock", config, NO_TORN_READ);
}

/// A vector is not read at one moment, even from left to right: the slow reader has the first slot
/// from before and the second from after both publishes; the fast reader finishes in between.
#[test]
fn published_protocol_has_long_forks() {
    let config = Config::published(FIRST_ROW, SECOND_ROW);
    let end = counterexample("published, long fork", config, NO_LONG_FORK);
    let mut seen = end.readers.map(|reader| reader.got.map(|got| got.map(|got| got.version)));
    seen.sort_unstable();
    let only_second = [Some(Version::INITIAL), Some(SECOND_WRITE)];
    let only_first = [Some(FIRST_WRITE), Some(Version::INITIAL)];
    assert_eq!(seen, [only_second, only_first]);
}

/// The slot shows a commit whose second row is not installed yet.
#[test]
fn published_protocol_without_publish_wait_has_fractured_reads() {
    let config = without_publish_wait(Config::published(BOTH_ROWS, NO_ROW));
    let end = counterexample("published, fractured read", config, NO_FRACTURED_READ);
    let fractured = end.readers.iter().any(|reader| {
        let versions = reader.got.map(|got| got.map(|got| got.version));
        versions.contains(&Some(FIRST_WRITE)) && versions.contains(&Some(Version::INITIAL))
    });
    assert!(fractured);
}

/// The header is swapped from the version found in place, without a check that the snapshot covers
/// it: the second writer has read the version before, and overwrites the newer one.
#[test]
fn published_protocol_loses_updates() {
    let config = Config { reader_count: 0, ..Config::published(FIRST_ROW, FIRST_ROW) };
    let end = counterexample("published, lost update", config, NO_LOST_UPDATE);
    assert!(end.writers.iter().all(|writer| writer.is_beyond_return()));
    assert!(end.writers.iter().all(|writer| writer.version_read[0] == Version::INITIAL));
}
