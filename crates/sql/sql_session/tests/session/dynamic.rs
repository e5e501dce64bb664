//! EXECUTE, beyond the results that `dynamic.sql` compares with PostgreSQL.

use crate::support::{Client, DENIED, new_database, with_roles};

const ONE: &str = "CREATE FUNCTION one(q text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; \
                   BEGIN EXECUTE q INTO r; RETURN r; END $$";

#[test]
fn texts_have_the_rights_of_the_caller() {
    let (mut ada, mut bob, _) = with_roles();
    assert_eq!(ada.run(ONE), "CREATE FUNCTION");
    let sum = "SELECT one('SELECT sum(v) FROM t')";
    assert_eq!(ada.run(sum), "30\nSELECT 1");
    assert_eq!(bob.run(sum), DENIED);
    ada.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.run(sum), "30\nSELECT 1");
    assert_eq!(bob.run("SELECT one('UPDATE t SET v = 0 RETURNING v')"), DENIED);
    ada.run("REVOKE SELECT ON t FROM bob");
    assert_eq!(bob.run(sum), DENIED);
    ada.run(
        "CREATE FUNCTION tries(q text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE q; RETURN \
         'done'; EXCEPTION WHEN insufficient_privilege THEN RETURN SQLERRM; \
         END $$",
    );
    let denied = "permission denied for table t\nSELECT 1";
    assert_eq!(bob.run("SELECT tries('DELETE FROM t')"), denied);
    assert_eq!(ada.run("SELECT tries('DELETE FROM t')"), "done\nSELECT 1");
    assert_eq!(ada.run("SELECT count(*) FROM t"), "0\nSELECT 1");
}

#[test]
fn commands_calls_and_several_statements_are_refused() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run(ONE);
    let mut run = |text: &str| client.run(&format!("SELECT one('{text}')"));
    let cases = [
        ("CREATE TABLE u (a int)", "EXECUTE of CREATE is not supported"),
        ("truncate t", "EXECUTE of TRUNCATE is not supported"),
        ("ROLLBACK", "EXECUTE of transaction commands is not implemented"),
        ("SAVEPOINT s", "EXECUTE of transaction commands is not implemented"),
        ("SELECT one(1::text)", "EXECUTE of a call is not supported"),
        ("SELECT pg_sleep(1)", "EXECUTE of a function of the session is not supported"),
        ("SELECT 1; SELECT 2", "EXECUTE of several statements is not supported"),
    ];
    for (text, message) in cases {
        assert_eq!(run(text), format!("0A000: {message}"));
    }
    assert_eq!(run("SELECT 1;"), "1\nSELECT 1");
    let record = client.run(
        "CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE \
         'SELECT 1' INTO r; RETURN r.a; END $$",
    );
    assert!(record.starts_with("0A000: a record without columns of its own"), "{record}");
    client.run("SET default_transaction_read_only = on");
    assert!(client.run("SELECT one('SELECT 1')").starts_with("25006: "));
}

#[test]
fn texts_follow_changes_of_the_catalog() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)");
    client.run(ONE);
    let read = "SELECT one('SELECT v FROM t WHERE id = 1')";
    assert_eq!(client.run(read), "10\nSELECT 1");
    client.run("ALTER TABLE t RENAME v TO w");
    assert_eq!(client.run(read), "42703: column \"v\" does not exist");
    client.run("ALTER TABLE t ADD v text DEFAULT 'new'");
    assert_eq!(client.run(read), "new\nSELECT 1");
    client.run("DROP TABLE t");
    assert_eq!(client.run(read), "42P01: relation \"t\" does not exist");
    client.run("BEGIN; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 5)");
    assert_eq!(client.run(read), "5\nSELECT 1");
    client.run("ROLLBACK");
    assert_eq!(client.run(read), "42P01: relation \"t\" does not exist");
    for n in 0..300 {
        assert_eq!(client.run(&format!("SELECT one('SELECT {n}')")), format!("{n}\nSELECT 1"));
    }
}

#[test]
fn a_block_of_do_has_the_rights_of_the_client() {
    let (mut ada, mut bob, _) = with_roles();
    let block =
        "DO $$ DECLARE n int; BEGIN SELECT sum(v) INTO n FROM t; RAISE NOTICE 'sum %', n; END $$";
    assert_eq!(ada.run(block), "DO");
    assert_eq!(ada.session.take_notices()[0].message, "sum 30");
    assert_eq!(bob.run(block), DENIED);
    ada.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.run(block), "DO");
    let refused = bob.run("DO $$ BEGIN DELETE FROM t; EXCEPTION WHEN OTHERS THEN NULL; END $$");
    assert_eq!(refused, DENIED, "all statements are checked before the first one");
    ada.run("SET default_transaction_read_only = on");
    let refused = ada.run("DO $$ BEGIN DELETE FROM t; END $$");
    assert_eq!(refused, "25006: cannot execute DO in a read-only transaction");
    assert_eq!(ada.run("-- a comment\nDO $$ BEGIN PERFORM 1; END $$"), "DO");
}
