//! `ANALYZE`.

use crate::support::{Client, new_database};
use fabric::run_now;
use sql_session::SqlDatabase;

/// A table in which one kind is nearly everywhere, and the others are rare.
const SKEWED: &str = "
    CREATE TABLE item (id int PRIMARY KEY, kind int, name varchar(20));
    CREATE INDEX item_kind ON item (kind);
    INSERT INTO item SELECT g, CASE WHEN g % 100 = 0 THEN g / 100 ELSE 0 END, 'n' || g FROM generate_series(1, 20000) g";

fn access(client: &mut Client, kind: i32) -> String {
    let told =
        client.run(&format!("EXPLAIN (COSTS off) SELECT name FROM item WHERE kind = {kind}"));
    told.lines().next().unwrap_or_default().to_owned()
}

const BY_INDEX: &str = "Index Scan using item_kind on item";
const WHOLE: &str = "Seq Scan on item";

#[test]
fn a_common_value_is_read_by_a_scan_of_the_table() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run(SKEWED);
    assert_eq!([0, 7].map(|kind| access(&mut client, kind)), [BY_INDEX, BY_INDEX]);
    assert_eq!(client.run("ANALYZE item"), "ANALYZE");
    assert_eq!([0, 7].map(|kind| access(&mut client, kind)), [WHOLE, BY_INDEX]);
    // Another process, or this one after a restart, has the statistics as well.
    let again = run_now(SqlDatabase::open(database.host().clone())).expect("the catalog is there");
    let mut other = Client::of(&again);
    assert_eq!([0, 7].map(|kind| access(&mut other, kind)), [WHOLE, BY_INDEX]);
    let known = other.session.table_statistics();
    assert_eq!(known[0].rows, Some(20_000.0));
    assert_eq!(known[0].columns.len(), 3);
    assert!(known[0].columns[1].distinct.is_some_and(|distinct| (distinct - 201.0).abs() < 1.0));
    assert!(known[0].columns[0].histogram.len() > 50);
}

#[test]
fn statistics_end_with_their_table() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run(SKEWED);
    client.run("ANALYZE");
    client.run("DROP TABLE item");
    client.run(SKEWED);
    assert_eq!(access(&mut client, 0), BY_INDEX);
    let again = run_now(SqlDatabase::open(database.host().clone())).expect("the catalog is there");
    assert_eq!(access(&mut Client::of(&again), 0), BY_INDEX);
}
