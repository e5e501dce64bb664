//! Blocks with EXCEPTION, beyond the results that `exceptions.sql` compares with PostgreSQL.

use crate::support::{Client, new_database, other_process, with_roles};
use fabric::Fabric;
use sql_session::{Host, LocalHost, SqlDatabase};

/// Changes both rows: the first one in a block that fails, the second one in its handler.
const CHANGES: &str = "CREATE FUNCTION changes() RETURNS text LANGUAGE plpgsql AS $$ BEGIN UPDATE t \
     SET v = v + 1 WHERE id = 1; PERFORM 1 / 0; RETURN 'no'; EXCEPTION WHEN OTHERS THEN UPDATE t SET \
     v = v + 1 WHERE id = 2; RETURN SQLSTATE; END $$";

fn tables() -> (SqlDatabase<LocalHost>, Client) {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)");
    assert_eq!(client.run(CHANGES), "CREATE FUNCTION");
    (database, client)
}

/// The answer to a call of a function with this body, which returns a text.
fn call(client: &mut Client, body: &str) -> String {
    let created = client.run(&format!(
        "CREATE OR REPLACE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ {body} $$"
    ));
    assert_eq!(created, "CREATE FUNCTION");
    client.run("SELECT f()")
}

#[test]
fn conflicts_are_repeated_and_not_caught() {
    let (database, mut client) = tables();
    let mut other = Client::of(&other_process(&database));
    client.run("BEGIN");
    assert_eq!(client.run("SELECT changes()"), "22012\nSELECT 1");
    assert_eq!(other.run("UPDATE t SET v = v + 100"), "UPDATE 2");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT v FROM t ORDER BY id"), "110\n121\nSELECT 2");
    // A row that has changed since the snapshot is an error at REPEATABLE READ, as in PostgreSQL.
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM t");
    Client::of(&database).run("UPDATE t SET v = 0 WHERE id = 1");
    let caught = client.run("SELECT changes()");
    assert_eq!(caught, "40001\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT v FROM t ORDER BY id"), "0\n122\nSELECT 2");
}

#[test]
fn an_error_releases_the_locks_of_its_block() {
    let (database, mut client) = tables();
    let mut other = Client::of(&database);
    client.run("BEGIN");
    assert_eq!(client.run("SELECT changes()"), "22012\nSELECT 1");
    let lock = |id| format!("SELECT v FROM t WHERE id = {id} FOR UPDATE NOWAIT");
    assert_eq!(other.run(&lock(1)), "10\nSELECT 1");
    let busy = "55P03: could not obtain lock on row in relation \"t\"";
    assert_eq!(other.run(&lock(2)), busy);
    let body = "BEGIN PERFORM 1 FROM t WHERE id = 2 FOR UPDATE NOWAIT; RETURN 'no'; EXCEPTION WHEN \
                lock_not_available THEN RETURN SQLERRM; END";
    let caught = "could not obtain lock on row in relation \"t\"\nSELECT 1";
    assert_eq!(call(&mut other, body), caught);
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(other.run("SELECT sum(v) FROM t"), "30\nSELECT 1");
}

#[test]
fn many_runs_of_a_block_change_one_row() {
    let (_, mut client) = tables();
    let body = "DECLARE n int := 0; BEGIN FOR i IN 1 .. 6000 LOOP BEGIN UPDATE t SET v = v + 1 WHERE \
                id = 1; IF i % 3 = 0 THEN RAISE EXCEPTION 'third'; END IF; EXCEPTION WHEN \
                raise_exception THEN n := n + 1; END; END LOOP; RETURN n; END";
    assert_eq!(call(&mut client, body), "2000\nSELECT 1");
    assert_eq!(client.run("SELECT v FROM t WHERE id = 1"), "4010\nSELECT 1");
}

/// Round trips so far of the lane that the only session uses.
fn counts(database: &SqlDatabase<LocalHost>) -> u64 {
    let lane = database.host().borrow_lane(&|| false).expect("no other session has lanes");
    let counted = lane.env().counters().counts().round_trips;
    database.host().give_back_lane(lane);
    counted
}

#[test]
fn a_block_costs_no_verbs() {
    let (database, mut client) = tables();
    client.run("CREATE TABLE log (n int PRIMARY KEY)");
    client.run("CREATE FUNCTION reads() RETURNS int LANGUAGE plpgsql AS $$ DECLARE a int; b int; BEGIN SELECT v INTO a FROM t WHERE id = 1; SELECT v INTO b FROM t WHERE id = 2; RETURN a + b; END $$");
    client.run("CREATE FUNCTION plain(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v + n WHERE id = n; RETURN n; END $$");
    client.run("CREATE FUNCTION caught(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v + n WHERE id = n; RETURN n; EXCEPTION WHEN OTHERS THEN RETURN 0; END $$");
    let mut round_trips = |statement: &str| {
        client.run(statement);
        let before = counts(&database);
        client.run(statement);
        counts(&database) - before
    };
    let plain = round_trips("SELECT plain(1)");
    assert!(plain > 0 && plain == round_trips("SELECT caught(1)"), "{plain}");
    // Rows are still read ahead together.
    assert_eq!(round_trips("SELECT reads()"), round_trips("SELECT v FROM t WHERE id = 1"));
}

#[test]
fn requests_to_end_are_caught_by_name_only() {
    let (_, mut client) = tables();
    client.run("SET statement_timeout = '200ms'");
    let endless = |condition: &str| {
        format!(
            "DECLARE n int := 0; BEGIN LOOP n := n + 1; END LOOP; EXCEPTION WHEN {condition} THEN \
             FOR i IN 1 .. 500 LOOP n := 1; END LOOP; RETURN 'caught ' || SQLSTATE; END"
        )
    };
    let timed_out = "57014: canceling statement due to statement timeout";
    assert_eq!(call(&mut client, &endless("OTHERS")), timed_out);
    assert_eq!(call(&mut client, &endless("query_canceled")), "caught 57014\nSELECT 1");
    assert_eq!(call(&mut client, &endless("operator_intervention")), "caught 57014\nSELECT 1");
    client.run("SET statement_timeout = 0; SET transaction_timeout = '200ms'");
    let ended = call(&mut client, &endless("OTHERS OR invalid_transaction_state"));
    assert_eq!(ended, "25P04: terminating connection due to transaction timeout");
}

#[test]
fn handlers_do_not_show_rows_that_the_caller_may_not_read() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("ALTER TABLE t ADD CONSTRAINT low CHECK (v < 100)");
    ada.run("GRANT INSERT ON t TO bob");
    ada.run(
        "CREATE FUNCTION put(n int, m int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE d text; BEGIN \
         INSERT INTO t VALUES (n, m); RETURN 'no'; EXCEPTION WHEN OTHERS THEN GET STACKED \
         DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RETURN SQLSTATE || d; END $$",
    );
    assert_eq!(ada.run("SELECT put(1, 1)"), "23505Key (id)=(1) already exists.\nSELECT 1");
    assert_eq!(bob.run("SELECT put(1, 1)"), "23505\nSELECT 1");
    assert_eq!(bob.run("SELECT put(7, 700)"), "23514\nSELECT 1");
    ada.run("GRANT SELECT ON t TO bob");
    let shown = "23514Failing row contains (7, 700).\nSELECT 1";
    assert_eq!(bob.run("SELECT put(7, 700)"), shown);
}

#[test]
fn rows_that_were_read_ahead_are_those_of_their_iteration() {
    let (_, mut client) = tables();
    client.run("INSERT INTO t VALUES (3, 30), (4, 40)");
    let fails = "DECLARE r text := ''; x int; BEGIN FOR i IN 1 .. 4 LOOP BEGIN x := 1 / (i - 2); \
                 SELECT v INTO x FROM t WHERE id = i; r := r || x || ' '; EXCEPTION WHEN OTHERS THEN \
                 r := r || '- '; END; SELECT v INTO x FROM t WHERE id = 5 - i; r := r || x || ', '; \
                 END LOOP; RETURN r; END";
    assert_eq!(call(&mut client, fails), "10 40, - 30, 30 20, 40 10, \nSELECT 1");
    let restarts = "DECLARE r text := ''; x int; BEGIN BEGIN FOR i IN 1 .. 4 LOOP SELECT v INTO x FROM \
                    t WHERE id = i; r := r || x || ' '; x := 1 / (3 - i); END LOOP; EXCEPTION WHEN \
                    OTHERS THEN FOR i IN 3 .. 4 LOOP SELECT v INTO x FROM t WHERE id = i; r := r || x \
                    || '! '; END LOOP; END; RETURN r; END";
    assert_eq!(call(&mut client, restarts), "10 20 30 30! 40! \nSELECT 1");
}

#[test]
fn waits_that_fail_are_caught() {
    let (database, mut client) = tables();
    let mut other = Client::of(&database);
    client.run("SET lock_timeout = '30ms'");
    let body = "DECLARE n int := 0; BEGIN UPDATE t SET v = v + 1 WHERE id = 2; FOR i IN 1 .. 3 LOOP \
                BEGIN UPDATE t SET v = v + 1 WHERE id = 1; n := n + 100; EXCEPTION WHEN \
                lock_not_available THEN n := n + 1; END; END LOOP; RETURN n || ' ' || (SELECT sum(v) \
                FROM t); END";
    other.run("BEGIN; UPDATE t SET v = 0 WHERE id = 1");
    assert_eq!(call(&mut client, body), "3 31\nSELECT 1");
    client.run("BEGIN");
    assert_eq!(client.run("SELECT f()"), "3 32\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    let refused = client.run("UPDATE t SET v = 0 WHERE id = 1");
    assert_eq!(refused, "55P03: canceling statement due to lock timeout");
    assert_eq!(other.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT f()"), "300 26\nSELECT 1");
}

/// Without it, the loop of the handler would never end.
#[test]
fn a_caught_time_out_leaves_that_of_the_transaction() {
    let mut client = Client::of(&new_database());
    client.run("SET statement_timeout = '20ms'");
    client.run("SET transaction_timeout = '200ms'");
    let block = "BEGIN LOOP NULL; END LOOP; \
        EXCEPTION WHEN query_canceled THEN LOOP NULL; END LOOP; END";
    let ended = client.run(&format!("DO $$ {block} $$"));
    assert!(ended.starts_with("25P04"), "{ended}");
}
