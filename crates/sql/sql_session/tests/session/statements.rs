//! SQL sessions over a database of this process.

use crate::support::{Client, new_database};
use fabric::run_now;
use sql::SqlType;
use sql_value::Value;

#[test]
fn rows_are_inserted_found_changed_and_deleted() {
    let mut client = Client::of(&new_database());
    assert_eq!(client.run("CREATE TABLE account (id integer PRIMARY KEY, owner varchar(24), balance numeric(12, 2) DEFAULT 0)"), "CREATE TABLE");
    assert_eq!(
        client.run("INSERT INTO account VALUES (1, 'ada', 10.5), (2, 'bob', DEFAULT)"),
        "INSERT 0 2"
    );
    assert_eq!(
        client.run("SELECT * FROM account ORDER BY id"),
        "1|ada|10.50\n2|bob|0.00\nSELECT 2"
    );
    assert_eq!(
        client.run("UPDATE account SET balance = balance + 1 WHERE id = 2 RETURNING balance"),
        "1.00\nUPDATE 1"
    );
    assert_eq!(client.run("DELETE FROM account WHERE owner = 'ada'"), "DELETE 1");
    assert_eq!(client.run("SELECT count(*), sum(balance) FROM account"), "1|1.00\nSELECT 1");
    assert_eq!(client.run("VALUES (1, 'a'), (2, NULL)"), "1|a\n2|NULL\nSELECT 2");
    assert_eq!(client.run("SELECT 1 + 1 AS two"), "2\nSELECT 1");
}

#[test]
fn a_wider_parameter_finds_a_key_by_its_index() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    client.run("INSERT INTO t SELECT n, 'x' FROM generate_series(1, 5000) n");
    let text = "UPDATE t SET b = $1 WHERE a = $2";
    let (text_oid, bigint) = (25, 20);
    let mut update = |number: i64| {
        let parameters = [Value::text("y"), Value::Int(number)];
        client.statement(text, &[text_oid, bigint], &parameters).expect("it is fine")
    };
    assert_eq!(update(7), "UPDATE 1");
    assert_eq!(update(7_000_000_000), "UPDATE 0", "it is no integer, and no key");
    let prepared = run_now(client.session.prepare(text, &[text_oid, bigint])).expect("it is fine");
    assert_eq!(prepared.parameters(), [SqlType::Text, SqlType::Int8]);
}

#[test]
fn constants_of_a_text_are_not_those_of_another() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int PRIMARY KEY, b varchar(3), c timestamp)");
    for round in 1..=3 {
        assert_eq!(
            client.run(&format!("INSERT INTO t VALUES ({round}, 'r{round}', '2026-01-0{round}')")),
            "INSERT 0 1"
        );
        assert_eq!(
            client.run(&format!("SELECT b FROM t WHERE a = {round}")),
            format!("r{round}\nSELECT 1")
        );
        assert_eq!(
            client.run(&format!("SELECT a FROM t WHERE c = '2026-01-0{round}'")),
            format!("{round}\nSELECT 1")
        );
        assert_eq!(
            client.run(&format!("SELECT a + {round} FROM t WHERE a < 2 GROUP BY a + {round}")),
            format!("{}\nSELECT 1", 1 + round)
        );
    }
    let refused = "22P02: invalid input syntax for type integer: \"x\"";
    assert_eq!(client.run("SELECT b FROM t WHERE a = 'x'"), refused);
    assert_eq!(client.run("SELECT b FROM t WHERE a = '2'"), "r2\nSELECT 1");
    let long = "22001: value too long for type character varying(3)";
    assert_eq!(client.run("INSERT INTO t VALUES (9, 'long', NULL)"), long);
    client.run("DROP TABLE t; CREATE TABLE t (a text)");
    assert_eq!(client.run("INSERT INTO t VALUES ('x')"), "INSERT 0 1");
    assert_eq!(client.run("SELECT a FROM t WHERE a = 'x'"), "x\nSELECT 1");
}

#[test]
fn queries_have_names() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    let text = "WITH big AS (SELECT a, b FROM t WHERE b > 10), pairs (x, y) AS (SELECT l.a, r.a FROM big l, big r) \
                SELECT x, sum(y) FROM pairs GROUP BY x ORDER BY x";
    assert_eq!(client.run(text), "2|5\n3|5\nSELECT 2");
    assert_eq!(client.run("WITH t AS (SELECT 7 AS a) SELECT a FROM t"), "7\nSELECT 1");
    assert_eq!(
        client.run("WITH n AS (SELECT 4 AS a) INSERT INTO t SELECT a, 0 FROM n"),
        "INSERT 0 1"
    );
    assert_eq!(
        client.run("WITH n AS (SELECT 4 AS a) DELETE FROM t USING n WHERE t.a = n.a"),
        "DELETE 1"
    );
    assert_eq!(
        client.run("SELECT count(*) FROM t, (WITH x AS (SELECT 1) SELECT * FROM x) y"),
        "3\nSELECT 1"
    );
    assert_eq!(client.run("SELECT * FROM big"), "42P01: relation \"big\" does not exist");
}

#[test]
fn a_table_is_a_query() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int, b text)");
    client.run("INSERT INTO t VALUES (2, 'two'), (1, 'one'), (3, 'three')");
    assert_eq!(client.run("TABLE t ORDER BY a LIMIT 2"), "1|one\n2|two\nSELECT 2");
    assert_eq!(client.run("  table public.t order by 1 desc limit 1"), "3|three\nSELECT 1");
    let refused = client.query(" TABLE none").expect_err("it does not exist");
    assert_eq!((&*refused.sqlstate, refused.position), ("42P01", Some(7)));
}

#[test]
fn what_arrays_and_documents_cannot_be_is_refused_with_a_reason() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int, a int[], j jsonb, r json)");
    for refused in [
        "INSERT INTO t (a) VALUES ('{{1},{2}}')",
        "INSERT INTO t (a) VALUES ('[0:1]={1,2}')",
        "SELECT ARRAY[ARRAY[1]]",
        "CREATE TABLE u (a int[][])",
        "CREATE TABLE u (a int[] PRIMARY KEY)",
        "CREATE TABLE u (id int, j jsonb UNIQUE)",
        "CREATE INDEX ON t (a)",
        "CREATE INDEX ON t (j)",
        "CREATE INDEX ON t (r)",
        "CREATE TABLE u (i interval PRIMARY KEY)",
        "SELECT jsonb_each(j) FROM t",
        "SELECT unnest(a), unnest(a) FROM t",
        "SELECT *, unnest(a) FROM t",
        "SELECT count(*), unnest(a) FROM t GROUP BY a",
        "SELECT row_number() OVER (), unnest(a) FROM t",
        "SELECT x FROM t, LATERAL unnest(t.a) WITH ORDINALITY AS x",
        "UPDATE t SET id = x FROM unnest(t.a) x",
    ] {
        assert_eq!(
            client.run(refused).get(..5),
            Some("0A000"),
            "{refused}: {}",
            client.run(refused)
        );
    }
    let long = "UPDATE t SET j = to_jsonb(repeat('x', 1048576))";
    client.run("INSERT INTO t VALUES (1)");
    let error = client.query(long).expect_err("it is too long");
    assert_eq!((&*error.sqlstate, error.hint.is_some()), ("54000", true));
}
