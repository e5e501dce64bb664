//! Requests and time-outs that end statements.

use crate::support::{Client, new_database, shown_error};
use fabric::run_now;
use sql_session::{Severity, TransactionStatus};
use sql_value::Value;
use std::time::Duration;

/// Each takes minutes.
const ENDLESS: [&str; 6] = [
    "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b < 0",
    "SELECT count(*) FROM t one, t two, t three, t four WHERE one.b + two.b + three.b + four.b < 0",
    "SELECT spin()",
    "CALL spin_in_table()",
    "INSERT INTO u SELECT a FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b < 0",
    "DELETE FROM u WHERE EXISTS (SELECT 1 FROM t one, t two, t three, t four WHERE one.b + two.b + three.b + four.b + u.a < 0)",
];

fn client() -> Client {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    client.run("CREATE TABLE u (a int)");
    client.run("INSERT INTO t SELECT a, a FROM generate_series(1, 2000) a");
    client.run("INSERT INTO u VALUES (1), (2)");
    let spin = "CREATE FUNCTION spin() RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int := 0; BEGIN LOOP n := 1 - n; END LOOP; END $$";
    assert_eq!(client.run(spin), "CREATE FUNCTION");
    let spin = "CREATE PROCEDURE spin_in_table() LANGUAGE plpgsql AS $$ BEGIN LOOP UPDATE t SET b = b WHERE a = 1; END LOOP; END $$";
    assert_eq!(client.run(spin), "CREATE PROCEDURE");
    client
}

#[test]
fn a_request_ends_the_statement_and_nothing_else() {
    let mut client = client();
    let interrupt = client.session.interrupt().clone();
    for text in ENDLESS {
        interrupt.request();
        let ended = client.run(text);
        assert_eq!(ended, "57014: canceling statement due to user request", "{text}");
        interrupt.clear();
        assert_eq!(client.run("SELECT count(*), sum(b) FROM t"), "2000|2001000\nSELECT 1");
    }
    client.run("BEGIN");
    client.run("INSERT INTO u VALUES (3)");
    interrupt.request();
    client.run(ENDLESS[0]);
    interrupt.clear();
    assert_eq!(client.session.status(), TransactionStatus::Failed);
    client.run("ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM u"), "2\nSELECT 1");
}

#[test]
fn a_request_ends_a_copy() {
    let mut client = client();
    let copy = run_now(client.session.prepare("COPY u FROM STDIN", &[])).expect("it is fine");
    run_now(client.session.execute(&copy, &[])).expect("it begins");
    run_now(client.session.copy_data(b"7\n")).expect("it is a row");
    client.session.interrupt().request();
    let rows = "8\n".repeat(100);
    let ended = run_now(client.session.copy_data(rows.as_bytes())).expect_err("it was requested");
    assert_eq!(shown_error(&ended), "57014: canceling statement due to user request");
    client.session.interrupt().clear();
    assert_eq!(client.run("SELECT count(*) FROM u"), "2\nSELECT 1");
}

#[test]
fn statements_end_at_their_timeout() {
    let mut client = client();
    assert_eq!(client.run("SET statement_timeout = '50ms'"), "SET");
    for text in ENDLESS {
        let ended = client.run(text);
        assert_eq!(ended, "57014: canceling statement due to statement timeout", "{text}");
    }
    // Each statement has its own time.
    client.run("BEGIN");
    assert_eq!(client.run("SELECT count(*) FROM u"), "2\nSELECT 1");
    assert!(client.run(ENDLESS[0]).starts_with("57014"));
    client.run("ROLLBACK");
    client.run("SET statement_timeout = 0");
    assert_eq!(client.run("SELECT count(*) FROM t"), "2000\nSELECT 1");
}

#[test]
fn a_transaction_that_takes_too_long_ends_its_session() {
    let mut client = client();
    client.run("SET transaction_timeout = '50ms'");
    client.run("BEGIN");
    client.run("INSERT INTO u VALUES (3)");
    let ended = client.query(ENDLESS[0]).expect_err("it takes too long");
    assert_eq!((&*ended.sqlstate, ended.severity), ("25P04", Severity::Fatal));
}

#[test]
fn waits_end_at_their_timeout() {
    let database = new_database();
    let (mut holder, mut client) = (Client::of(&database), Client::of(&database));
    holder.run("CREATE TABLE t (a int)");
    holder.run("BEGIN");
    holder.run("TRUNCATE t");
    client.run("SET lock_timeout = '50ms'");
    for text in ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a int)", "COPY t FROM STDIN"] {
        let ended = client.run(text);
        assert_eq!(ended, "55P03: canceling statement due to lock timeout", "{text}");
    }
    client.run("SET lock_timeout = 0");
    client.run("SET statement_timeout = '50ms'");
    let ended = client.run("INSERT INTO t VALUES (1)");
    assert_eq!(ended, "57014: canceling statement due to statement timeout");
    client.run("SET statement_timeout = 0");
    client.session.interrupt().request();
    let ended = client.run("INSERT INTO t VALUES (1)");
    assert_eq!(ended, "57014: canceling statement due to user request");
    client.session.interrupt().clear();
    holder.run("ROLLBACK");
    assert_eq!(client.run("INSERT INTO t VALUES (1)"), "INSERT 0 1");
}

#[test]
fn waits_for_locks_end_as_well() {
    let database = new_database();
    let (mut holder, mut client) = (Client::of(&database), Client::of(&database));
    holder.run("CREATE TABLE t (a int)");
    holder.run("SELECT pg_advisory_lock(7)");
    holder.run("BEGIN; LOCK TABLE t");
    let waits =
        ["SELECT pg_advisory_lock(7)", "SELECT pg_advisory_lock_shared(7)", "BEGIN; LOCK TABLE t"];
    for text in waits {
        client.run("SET lock_timeout = '50ms'");
        let ended = client.run(text);
        assert_eq!(ended, "55P03: canceling statement due to lock timeout", "{text}");
        client.run("ROLLBACK; SET lock_timeout = 0; SET statement_timeout = '50ms'");
        let ended = client.run(text);
        assert_eq!(ended, "57014: canceling statement due to statement timeout", "{text}");
        client.run("ROLLBACK; SET statement_timeout = 0");
        client.session.interrupt().request();
        let ended = client.run(text);
        assert_eq!(ended, "57014: canceling statement due to user request", "{text}");
        client.session.interrupt().clear();
        client.run("ROLLBACK");
    }
    holder.run("COMMIT; SELECT pg_advisory_unlock(7)");
    assert_eq!(client.run("SELECT pg_try_advisory_lock(7)"), "t\nSELECT 1");
}

#[test]
fn silence_is_limited_by_the_state_of_the_session() {
    let mut client = Client::of(&new_database());
    assert_eq!(client.session.silence_limit(), None);
    client.run("SET idle_in_transaction_session_timeout = '5s'");
    assert_eq!(client.session.silence_limit(), None);
    client.run("BEGIN");
    let limit = client.session.silence_limit().expect("it is in a transaction");
    assert_eq!((limit.after, limit.sqlstate), (Duration::from_secs(5), "25P03"));
    assert!(client.run("SELECT nothing").starts_with("42703"));
    assert_eq!(client.session.silence_limit(), Some(limit), "also after it has failed");
    client.run("ROLLBACK");
    client.run("SET idle_session_timeout = '1min'");
    let limit = client.session.silence_limit().expect("it is idle");
    assert_eq!((limit.after, limit.sqlstate), (Duration::from_secs(60), "57P05"));
    client.run("SET transaction_timeout = '1s'");
    client.run("BEGIN");
    let limit = client.session.silence_limit().expect("it is in a transaction");
    assert!(limit.after <= Duration::from_secs(1), "{limit:?}");
    assert_eq!(limit.sqlstate, "25P04");
    client.run("ROLLBACK");
    assert_eq!(client.run("SHOW transaction_timeout"), "1s\nSHOW");
    let refused = client.run("SET statement_timeout = 'soon'");
    assert_eq!(refused, "22023: invalid value for parameter \"statement_timeout\": \"soon\"");
}

#[test]
fn a_session_sleeps_until_its_statement_should_end() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE begun (at timestamptz); INSERT INTO begun VALUES (clock_timestamp())");
    assert_eq!(client.run("SELECT pg_sleep(0.06)"), "\nSELECT 1");
    let slept = "SELECT clock_timestamp() - at >= interval '60 ms' FROM begun";
    assert_eq!(client.run(slept), "t\nSELECT 1");
    for text in ["SELECT pg_sleep(-7)", "select pg_catalog.pg_sleep('0'::float8) as nap"] {
        assert_eq!(client.run(text), "\nSELECT 1", "{text}");
    }
    let asleep = |client: &mut Client, seconds| {
        client.statement("SELECT pg_sleep($1)", &[], &[seconds]).expect("it sleeps")
    };
    assert_eq!(asleep(&mut client, Value::Float(0.01)), "\nSELECT 1");
    assert_eq!(asleep(&mut client, Value::Null), "NULL\nSELECT 1");
    // A transaction goes on.
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; DELETE FROM begun");
    assert_eq!(client.run("SELECT pg_sleep(0.03)"), "\nSELECT 1");
    assert_eq!(client.run("SELECT count(*) FROM begun"), "0\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    client.run("SET statement_timeout = '50ms'");
    let ended = client.run("SELECT pg_sleep(600)");
    assert_eq!(ended, "57014: canceling statement due to statement timeout");
    client.session.interrupt().request();
    let ended = client.run("SELECT pg_sleep(1e300)");
    assert_eq!(ended, "57014: canceling statement due to user request");
    client.session.interrupt().clear();
    assert!(client.run("SELECT 1 + pg_sleep(1)").starts_with("0A000"));
    assert!(client.run("SELECT pg_sleep(1), 2").starts_with("0A000"));
}
