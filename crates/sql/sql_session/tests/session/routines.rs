//! Functions, procedures, and functions of the session.

use crate::support::{Client, new_database};
use sql_value::Value;

const PAY: &str = "CREATE FUNCTION pay(payer int, payee int, amount numeric) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE rest numeric(12, 2);
BEGIN
    UPDATE account SET balance = balance - amount WHERE id = payer RETURNING balance INTO rest;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no account %', payer;
    END IF;
    UPDATE account SET balance = balance + amount WHERE id = payee;
    RAISE NOTICE 'paid %', amount;
    RETURN rest;
END $$";

fn client() -> Client {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE account (id int PRIMARY KEY, balance numeric(12, 2))");
    client.run("INSERT INTO account VALUES (1, 100), (2, 0)");
    assert_eq!(client.run(PAY), "CREATE FUNCTION");
    client
}

#[test]
fn functions_are_called_in_queries() {
    let mut client = client();
    assert_eq!(client.run("SELECT pay(1, 2, 30.5)"), "69.50\nSELECT 1");
    assert_eq!(client.session.take_notices()[0].message, "paid 30.5");
    let called = client.statement(
        "SELECT pay($1, $2, $3) AS rest",
        &[],
        &[Value::Int(1), Value::Int(2), Value::Numeric(sql_value::Decimal { units: 95, scale: 1 })],
    );
    assert_eq!(called.as_deref(), Ok("60.00\nSELECT 1"));
    assert_eq!(client.run("SELECT * FROM account ORDER BY id"), "1|60.00\n2|40.00\nSELECT 2");
    assert_eq!(client.run("SELECT pay(9, 2, 1)"), "P0001: there is no account 9");
    assert_eq!(
        client.run("BEGIN; SELECT pay(1, 2, 1); ROLLBACK"),
        "BEGIN\n59.00\nSELECT 1\nROLLBACK"
    );
    let missing = "42883: function pay(integer) does not exist";
    assert_eq!(client.run("SELECT pay(1)"), missing);
    let created = client.run("CREATE FUNCTION rich(poorest numeric) RETURNS TABLE (id int, balance numeric) LANGUAGE sql AS $$ SELECT a.id, a.balance FROM account a WHERE a.balance > poorest ORDER BY 1 $$");
    assert_eq!(created, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT * FROM rich(50)"), "1|60.00\nSELECT 1");
}

#[test]
fn procedures_are_called_and_routines_are_replaced_and_dropped() {
    let mut client = client();
    let exists = "42723: function \"pay\" already exists with same argument types";
    assert_eq!(client.run(PAY), exists);
    client.run("CREATE PROCEDURE clear(which int) LANGUAGE sql AS $$ DELETE FROM account WHERE id = which $$");
    assert_eq!(client.run("CALL clear(1)"), "CALL");
    assert_eq!(client.run("SELECT count(*) FROM account"), "1\nSELECT 1");
    let replaced = client.run(
        "CREATE OR REPLACE FUNCTION pay(payer int) RETURNS int LANGUAGE sql AS $$ SELECT payer $$",
    );
    assert_eq!(replaced, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT pay(3)"), "3\nSELECT 1");
    assert_eq!(client.run("DROP FUNCTION pay(int)"), "DROP FUNCTION");
    assert_eq!(client.run("SELECT pay(3)"), "42883: function pay(integer) does not exist");
    let refused =
        client.run("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT id FROM nobody $$");
    assert_eq!(refused, "42P01: relation \"nobody\" does not exist");
    assert_eq!(client.run("DROP TABLE account"), "DROP TABLE");
    assert_eq!(client.run("CALL clear(1)"), "42P01: relation \"account\" does not exist");
}

#[test]
fn the_session_has_functions() {
    let mut client = Client::of(&new_database());
    assert!(client.run("SELECT version()").starts_with("PostgreSQL 15"));
    assert!(client.run("select pg_catalog.version()").starts_with("PostgreSQL 15"));
    assert_eq!(client.run("SELECT current_user, current_schema()"), "ada|public\nSELECT 1");
}

#[test]
fn plans_are_explained_and_statistics_change_them() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    client.run("INSERT INTO t SELECT n, n % 2 FROM generate_series(1, 1000) n");
    let explained = client.run("EXPLAIN SELECT * FROM t WHERE a = 7");
    assert!(explained.starts_with("Index Scan using t_pkey on t  (cost=0.40.."), "{explained}");
    assert!(explained.contains("rows=1 width=8)\n  Index Cond: (a = 7)\nEXPLAIN"), "{explained}");
    let explained = client.run("EXPLAIN (COSTS off) SELECT * FROM t WHERE b = 1");
    assert_eq!(explained, "Seq Scan on t\n  Filter: (b = 1)\nEXPLAIN");
    assert_eq!(client.run("ANALYZE t"), "ANALYZE");
    let explained = client.run("EXPLAIN SELECT * FROM t WHERE b = 1");
    assert!(explained.contains("rows=500 "), "{explained}");
    let explained = client.run("EXPLAIN ANALYZE UPDATE t SET b = 5 WHERE a = 7");
    assert!(explained.contains("rows=1 loops=1)"), "{explained}");
    assert!(
        explained.contains("Round Trips: ") && explained.contains("Execution Time"),
        "{explained}"
    );
    assert_eq!(client.run("SELECT b FROM t WHERE a = 7"), "5\nSELECT 1");
    assert!(client.run("EXPLAIN SELECT nothing FROM t").starts_with("42703"));
}

#[test]
fn routines_have_with_upserts_window_functions_and_sets() {
    let mut client = client();
    let created = client.run(
        "CREATE FUNCTION ranked() RETURNS TABLE (id int, place bigint) LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO account VALUES (2, 50), (3, 70) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance;
            RETURN QUERY WITH others AS (SELECT a.id, a.balance FROM account a EXCEPT SELECT 3, 70)
                SELECT s.id, rank() OVER (ORDER BY s.balance DESC) FROM others s ORDER BY 2;
        END $$",
    );
    assert_eq!(created, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT * FROM ranked()"), "1|1\n2|2\nSELECT 2");
    let first = client.run(
        "CREATE FUNCTION richest() RETURNS int LANGUAGE plpgsql AS $$ DECLARE found int; BEGIN
            WITH x AS (SELECT DISTINCT ON (balance > 60) id FROM account ORDER BY balance > 60 DESC, balance DESC)
                SELECT x.id INTO found FROM x LIMIT 1;
            RETURN found;
        END $$",
    );
    assert_eq!(first, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT richest()"), "1\nSELECT 1");
}

/// A part of a statement must not see rows that another part has changed.
#[test]
fn changes_in_with_refuse_parts_that_use_their_tables() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE parent (id int PRIMARY KEY, code int UNIQUE)");
    client.run("CREATE TABLE child (p int PRIMARY KEY REFERENCES parent ON DELETE CASCADE)");
    client.run("CREATE TABLE grand (p int REFERENCES child ON DELETE SET NULL)");
    client.run("CREATE TABLE other (c int REFERENCES parent (code) ON UPDATE CASCADE)");
    client.run("CREATE TABLE archive (id int, names int[])");
    let mut run = |body: &str| client.run(&format!("DO $$ DECLARE k int; BEGIN {body}; END $$"));
    let refused = |table: &str| format!("0A000: a use of `{table}` beside a change of its rows");
    for (body, table) in [
        (
            "WITH a AS (DELETE FROM parent RETURNING id) SELECT count(*) INTO k FROM parent",
            "parent",
        ),
        ("WITH a AS (DELETE FROM parent RETURNING id) SELECT count(*) INTO k FROM child", "child"),
        ("WITH a AS (DELETE FROM parent) INSERT INTO archive SELECT p FROM grand", "grand"),
        (
            "WITH a AS (UPDATE parent SET code = 1) SELECT (SELECT max(c) FROM other) INTO k",
            "other",
        ),
        ("WITH a AS (DELETE FROM parent), b AS (DELETE FROM child) SELECT 1 INTO k", "child"),
        (
            "WITH a AS (UPDATE parent SET code = 1) SELECT k INTO k FROM (SELECT * FROM parent) s",
            "parent",
        ),
    ] {
        let answer = run(body);
        assert!(answer.starts_with(&refused(table)), "{body}: {answer}");
    }
    for body in [
        "WITH a AS (UPDATE parent SET id = 1) SELECT count(*) INTO k FROM other",
        "WITH a AS (DELETE FROM child) SELECT count(*) INTO k FROM parent",
        "WITH a AS (INSERT INTO parent VALUES (1, 1)) SELECT count(*) INTO k FROM child",
    ] {
        assert_eq!(run(body), "DO", "{body}");
    }
    let arrays =
        run("WITH a AS (DELETE FROM archive RETURNING names) SELECT count(*) INTO k FROM a");
    assert!(
        arrays.starts_with("0A000: a column of type integer[] of a change in WITH"),
        "{arrays}"
    );
}

/// Rows of a loop are read ahead by its iterations.
#[test]
fn an_iteration_without_a_statement_does_not_shift_the_rows_of_the_next_ones() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40)");
    client.run(
        "CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; x int; BEGIN \
         FOR i IN 1 .. 4 LOOP CONTINUE WHEN i = 2; SELECT v INTO x FROM t WHERE id = i; r := r || x \
         || ' '; END LOOP; RETURN r; END $$",
    );
    assert_eq!(client.run("SELECT f()"), "10 30 40 \nSELECT 1");
}
