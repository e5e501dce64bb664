//! Advisory locks and locks of tables.

use crate::support::{Client, new_database};
use std::time::{Duration, Instant};

#[test]
fn advisory_locks_exclude_other_sessions() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    assert_eq!(client.run("SELECT pg_advisory_lock(7)"), "\nSELECT 1");
    assert_eq!(client.run("SELECT pg_try_advisory_lock(7)"), "t\nSELECT 1");
    assert_eq!(other.run("SELECT pg_try_advisory_lock(7)"), "f\nSELECT 1");
    assert_eq!(other.run("SELECT pg_try_advisory_lock(7, 0)"), "t\nSELECT 1");
    for _ in 0..2 {
        assert_eq!(other.run("SELECT pg_try_advisory_lock(-7)"), "t\nSELECT 1");
    }
    other.run("SET lock_timeout = '50ms'");
    let refused = "55P03: canceling statement due to lock timeout";
    assert_eq!(other.run("SELECT pg_advisory_lock(7)"), refused);
    // It was taken twice.
    client.run("SELECT pg_advisory_unlock(7)");
    assert_eq!(other.run("SELECT pg_try_advisory_lock(7)"), "f\nSELECT 1");
    assert_eq!(client.run("SELECT pg_advisory_unlock(7)"), "t\nSELECT 1");
    assert_eq!(client.run("SELECT pg_advisory_unlock(7)"), "f\nSELECT 1");
    assert_eq!(client.session.take_notices().len(), 1);
    assert_eq!(other.run("SELECT pg_try_advisory_lock(7)"), "t\nSELECT 1");
    drop(other);
    assert_eq!(client.run("SELECT pg_try_advisory_lock(7)"), "t\nSELECT 1");
}

#[test]
fn shared_locks_and_those_of_transactions_are_released() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("BEGIN; SELECT pg_advisory_xact_lock_shared(1)");
    assert_eq!(other.run("SELECT pg_try_advisory_lock_shared(1)"), "t\nSELECT 1");
    assert_eq!(other.run("SELECT pg_advisory_unlock_shared(1)"), "t\nSELECT 1");
    assert_eq!(other.run("SELECT pg_try_advisory_lock(1)"), "f\nSELECT 1");
    client.run("ROLLBACK");
    assert_eq!(other.run("SELECT pg_try_advisory_xact_lock(1)"), "t\nSELECT 1");
    assert_eq!(client.run("SELECT pg_try_advisory_lock(1)"), "t\nSELECT 1");
    assert_eq!(client.run("SELECT pg_advisory_unlock_all()"), "\nSELECT 1");
    assert_eq!(other.run("SELECT pg_try_advisory_lock(1)"), "t\nSELECT 1");
    assert_eq!(
        other.run("SELECT pg_advisory_lock(1) + 1"),
        other.run("SELECT pg_advisory_lock(a)")
    );
}

#[test]
#[allow(clippy::disallowed_methods, reason = "one session waits for the other")]
fn a_waiting_session_gets_the_lock() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("SELECT pg_advisory_lock(7)");
    let waiting = std::thread::spawn(move || {
        let began = Instant::now();
        let mut other = Client::of(&database);
        (other.run("SELECT pg_advisory_lock(7)"), began.elapsed())
    });
    std::thread::sleep(Duration::from_millis(100));
    client.run("SELECT pg_advisory_unlock(7)");
    let (taken, waited) = waiting.join().expect("it ends");
    assert_eq!(taken, "\nSELECT 1");
    assert!(waited < Duration::from_secs(30), "{waited:?}");
}

#[test]
fn a_locked_table_is_changed_by_one_transaction() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (a int)");
    client.run("BEGIN; SELECT * FROM t");
    assert_eq!(other.run("INSERT INTO t VALUES (1)"), "INSERT 0 1");
    assert_eq!(client.run("LOCK TABLE t IN EXCLUSIVE MODE"), "LOCK TABLE");
    assert_eq!(client.run("SELECT * FROM t"), "1\nSELECT 1");
    other.run("BEGIN");
    let refused = "55P03: could not obtain lock on relation \"t\"";
    assert_eq!(other.run("LOCK t NOWAIT"), refused);
    other.run("ROLLBACK; BEGIN");
    assert_eq!(other.run("LOCK t IN ACCESS SHARE MODE NOWAIT"), "LOCK TABLE");
    other.run("ROLLBACK");
    client.run("COMMIT");
    assert_eq!(other.run("INSERT INTO t VALUES (2)"), "INSERT 0 1");
}
