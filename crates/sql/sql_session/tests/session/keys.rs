//! Keys of any length.

use crate::support::{Client, new_database};
use fabric::run_now;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sql_session::{LocalHost, SqlDatabase};
use sql_value::Value;
use std::collections::BTreeMap;

/// The tables of Django's `auth`, `sessions` and `contenttypes`, as `sqlmigrate` prints them,
/// without `DEFERRABLE`.
const DJANGO: &str = include_str!("keys/django.sql");
/// Tables of Rails, as its migrations make them.
const RAILS: &str = include_str!("keys/rails.sql");

/// Values that share prefixes around the lengths at which digests change.
fn text() -> impl Strategy<Value = String> {
    let prefix = prop_oneof![
        Just(0_usize),
        Just(1),
        (9..=13_usize),
        (20..=24_usize),
        (35..=40_usize),
        Just(200)
    ];
    let unit = prop_oneof![Just("p"), Just("\u{e9}"), Just("\u{20ac}"), Just("\u{1d11e}")];
    let suffix = prop_oneof![Just(""), Just("a"), Just("b"), Just("aa"), Just("\u{df}"), Just("~")];
    (unit, prefix, suffix).prop_map(|(unit, count, suffix)| unit.repeat(count) + suffix)
}

#[derive(Clone, Debug)]
enum Change {
    Insert(Option<String>, String),
    Upsert(Option<String>, String),
    Move((Option<String>, String), String),
    Delete(Option<String>, String),
    Find(Option<String>, String),
    Range(String, String, bool, i64),
}

fn change() -> impl Strategy<Value = Change> {
    let nullable = || prop_oneof![1 => Just(None), 6 => text().prop_map(Some)];
    prop_oneof![
        6 => (nullable(), text()).prop_map(|(a, b)| Change::Insert(a, b)),
        2 => (nullable(), text()).prop_map(|(a, b)| Change::Upsert(a, b)),
        2 => ((nullable(), text()), text()).prop_map(|(of, to)| Change::Move(of, to)),
        1 => (nullable(), text()).prop_map(|(a, b)| Change::Delete(a, b)),
        2 => (nullable(), text()).prop_map(|(a, b)| Change::Find(a, b)),
        3 => (text(), text(), any::<bool>(), 1..9_i64)
            .prop_map(|(a, b, down, limit)| Change::Range(a, b, down, limit)),
    ]
}

/// The rows of a table `t (a, b, n)` with `UNIQUE (a, b)`, in order of insertion.
#[derive(Default)]
struct Model {
    rows: Vec<(Option<String>, String, i64)>,
}

impl Model {
    fn held(&mut self, a: Option<&str>, b: &str) -> Option<&mut (Option<String>, String, i64)> {
        let a = a?;
        self.rows.iter_mut().find(|row| row.0.as_deref() == Some(a) && row.1 == b)
    }

    /// The numbers of the rows in a range of `a`, in its order.
    fn range(&self, low: &str, high: &str, descending: bool, limit: i64) -> Vec<i64> {
        let inside = |row: &&(Option<String>, String, i64)| {
            row.0.as_deref().is_some_and(|a| low < a && a <= high)
        };
        let mut rows: Vec<_> = self.rows.iter().filter(inside).collect();
        rows.sort();
        if descending {
            rows.reverse();
        }
        rows.into_iter().take(limit as usize).map(|row| row.2).collect()
    }
}

fn value(text: &str) -> Value {
    Value::Text(text.into())
}

fn nullable(text: Option<&str>) -> Value {
    text.map_or(Value::Null, value)
}

/// The first column of the rows, or the tag, or the SQLSTATE.
fn run(client: &mut Client, text: &str, parameters: &[Value]) -> String {
    match client.statement(text, &[], parameters) {
        Ok(shown) => shown.rsplit_once('\n').map_or(shown.clone(), |(rows, _)| rows.to_owned()),
        Err(error) => error.sqlstate.to_string(),
    }
}

fn shown(numbers: &[i64], tag: &str) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    if numbers.is_empty() { tag.to_owned() } else { numbers.join("\n") }
}

/// Makes a change, and compares what the statement says with the model.
fn step(client: &mut Client, model: &mut Model, number: i64, change: &Change) {
    let n = || Value::Int(number);
    let (found, expected) = match change {
        Change::Insert(a, b) => {
            let values = [nullable(a.as_deref()), value(b), n()];
            let found = run(client, "INSERT INTO t VALUES ($1, $2, $3)", &values);
            let is_held = model.held(a.as_deref(), b).is_some();
            if !is_held {
                model.rows.push((a.clone(), b.clone(), number));
            }
            (found, if is_held { "23505" } else { "INSERT 0 1" }.to_owned())
        }
        Change::Upsert(a, b) => {
            let text = "INSERT INTO t VALUES ($1, $2, $3) \
                        ON CONFLICT (a, b) DO UPDATE SET n = excluded.n";
            let found = run(client, text, &[nullable(a.as_deref()), value(b), n()]);
            match model.held(a.as_deref(), b) {
                Some(row) => row.2 = number,
                None => model.rows.push((a.clone(), b.clone(), number)),
            }
            (found, "INSERT 0 1".to_owned())
        }
        Change::Move((a, b), to) => {
            let text = "UPDATE t SET b = $3 WHERE a = $1 AND b = $2";
            let values = [nullable(a.as_deref()), value(b), value(to)];
            let found = run(client, text, &values);
            let (has, is_taken) =
                (model.held(a.as_deref(), b).is_some(), model.held(a.as_deref(), to).is_some());
            let expected = match (has, is_taken && b != to) {
                (false, _) => "UPDATE 0",
                (true, true) => "23505",
                (true, false) => "UPDATE 1",
            };
            if let (Some(row), "UPDATE 1") = (model.held(a.as_deref(), b), expected) {
                row.1.clone_from(to);
            }
            (found, expected.to_owned())
        }
        Change::Delete(a, b) => {
            let text = "DELETE FROM t WHERE a = $1 AND b = $2";
            let found = run(client, text, &[nullable(a.as_deref()), value(b)]);
            let before = model.rows.len();
            model.rows.retain(|row| a.is_none() || row.0 != *a || row.1 != *b);
            (found, format!("DELETE {}", before - model.rows.len()))
        }
        Change::Find(a, b) => {
            let text = "SELECT n FROM t WHERE a = $1 AND b = $2";
            let found = run(client, text, &[nullable(a.as_deref()), value(b)]);
            let row = model.held(a.as_deref(), b).map(|row| row.2);
            (found, shown(&row.into_iter().collect::<Vec<_>>(), "SELECT 0"))
        }
        Change::Range(low, high, descending, limit) => {
            let direction = if *descending { "DESC" } else { "ASC" };
            let text = format!(
                "SELECT n FROM t WHERE a > $1 AND a <= $2 ORDER BY a {direction}, b {direction}, n {direction} LIMIT $3"
            );
            let values = [value(low), value(high), Value::Int(*limit)];
            let found = run(client, &text, &values);
            (found, shown(&model.range(low, high, *descending, *limit), "SELECT 0"))
        }
    };
    assert_eq!(found, expected, "{change:?}");
}

#[test]
fn changes_of_long_keys_are_those_of_a_model() {
    let mut client = Client::of(&new_database());
    let config = Config { cases: 30, ..Config::default() };
    let strategy = prop::collection::vec(change(), 1..60);
    let mut runner = TestRunner::new(config);
    for types in
        ["text, b varchar(900)", "varchar(1300), b text NOT NULL", "varchar(202), b char(202)"]
    {
        let create = format!("CREATE TABLE t (a {types}, n bigint PRIMARY KEY, UNIQUE (a, b))");
        assert_eq!(client.run(&create), "CREATE TABLE");
        let shared = std::cell::RefCell::new(&mut client);
        let run = runner.run(&strategy, |changes| {
            let mut client = shared.borrow_mut();
            client.run("DELETE FROM t");
            let mut model = Model::default();
            for (number, change) in changes.iter().enumerate() {
                step(&mut client, &mut model, number as i64, change);
            }
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{error}"));
        client.run("DROP TABLE t");
    }
}

#[test]
fn values_of_all_lengths_are_in_the_order_of_their_bytes() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (k text PRIMARY KEY, c char(90) UNIQUE, n int)");
    let mut values = BTreeMap::new();
    let mut runner = TestRunner::deterministic();
    while values.len() < 300 {
        let text = text().new_tree(&mut runner).expect("it has values").current();
        let number = values.len() as i64;
        values.entry(text).or_insert(number);
    }
    for (text, number) in &values {
        let inserted = run(
            &mut client,
            "INSERT INTO t VALUES ($1, NULL, $2)",
            &[value(text), Value::Int(*number)],
        );
        assert_eq!(inserted, "INSERT 0 1");
    }
    let ordered: Vec<i64> = values.values().copied().collect();
    let reversed: Vec<i64> = ordered.iter().rev().copied().collect();
    assert_eq!(run(&mut client, "SELECT n FROM t ORDER BY k", &[]), shown(&ordered, ""));
    assert_eq!(run(&mut client, "SELECT n FROM t ORDER BY k DESC", &[]), shown(&reversed, ""));
    let plan = client.run("EXPLAIN SELECT n FROM t ORDER BY k LIMIT 1");
    assert!(plan.contains("Index Scan using t_pkey") && !plan.contains("Sort"), "{plan}");
    // A cursor reads few rows at a time, and its transaction forgets those that it has shown.
    for (direction, expected) in [("ASC", &ordered), ("DESC", &reversed)] {
        client.run("BEGIN");
        client.run(&format!("DECLARE c CURSOR FOR SELECT n FROM t ORDER BY k {direction}"));
        let mut found = String::new();
        for count in [1, 2, 7, 40, 3, 100, 1, 200] {
            let fetched = run(&mut client, &format!("FETCH {count} FROM c"), &[]);
            found = format!("{found}{fetched}\n");
        }
        client.run("COMMIT");
        assert_eq!(found.trim_end(), shown(expected, ""), "{direction}");
    }
}

#[test]
fn trailing_blanks_of_char_are_not_part_of_a_key() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (c char(90) PRIMARY KEY, n int)");
    let mut insert =
        |text: String| run(&mut client, "INSERT INTO t VALUES ($1, 1)", &[value(&text)]);
    assert_eq!(insert("x".repeat(40)), "INSERT 0 1");
    assert_eq!(insert("x".repeat(40) + "   "), "23505");
    assert_eq!(insert("x".repeat(41)), "INSERT 0 1");
    let found = client.run(&format!("SELECT n FROM t WHERE c = '{}  '", "x".repeat(40)));
    assert_eq!(found, "1\nSELECT 1");
}

#[test]
fn plans_check_conditions_on_digests_again() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (k varchar(255) PRIMARY KEY, s varchar(5) UNIQUE, n int)");
    client.run(
        "INSERT INTO t SELECT repeat('k', 60) || g, 's' || g, g FROM generate_series(1, 2000) g",
    );
    client.run("ANALYZE");
    let mut plan = |condition: &str| {
        client.run(&format!("EXPLAIN (COSTS off) SELECT n FROM t WHERE {condition}"))
    };
    let by_key = plan("k = 'x'");
    assert!(by_key.contains("Index Cond: ") && by_key.contains("Filter: "), "{by_key}");
    let by_range = plan("k > 'x' AND k < 'y'");
    assert!(by_range.contains("Index Cond: ") && by_range.contains("Filter: "), "{by_range}");
    let by_short = plan("s = 'x'");
    assert!(by_short.contains("Index Cond: ") && !by_short.contains("Filter: "), "{by_short}");
}

#[test]
fn keys_larger_than_those_of_postgresql_are_refused() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, a text, b varchar(2000))");
    client.run("CREATE INDEX t_a ON t (a, b); CREATE INDEX t_h ON t USING hash (a)");
    let mut insert = |id: i64, a: usize, b: usize| {
        let values = [Value::Int(id), value(&"a".repeat(a)), value(&"b".repeat(b))];
        client.statement("INSERT INTO t VALUES ($1, $2, $3)", &[], &values)
    };
    assert!(insert(1, 2685, 0).is_ok());
    assert!(insert(2, 1344, 1344).is_ok());
    let error = insert(3, 1345, 1344).expect_err("it is too long");
    assert_eq!(error.sqlstate, "54000");
    assert_eq!(
        error.message,
        "index row size 2712 exceeds btree version 4 maximum 2704 for index \"t_a\""
    );
    let update = "UPDATE t SET a = repeat('a', 2700), b = '' WHERE id = 1";
    assert!(client.run(update).starts_with("54000: index row size 2720 exceeds"));
    assert_eq!(client.run("DROP INDEX t_a"), "DROP INDEX");
    assert_eq!(client.run(update), "UPDATE 1");
    let created = client.run("CREATE INDEX t_a ON t (a)");
    assert!(created.starts_with("54000: index row size 2712 exceeds"), "{created}");
}

fn insert_all(database: &SqlDatabase<LocalHost>, thread: i64) -> Vec<bool> {
    let mut client = Client::of(database);
    let one = |number: i64| {
        let key = value(&("k".repeat(100) + &number.to_string()));
        let text = "INSERT INTO t VALUES ($1, $1, $2)";
        match client.statement(text, &[], &[key, Value::Int(thread)]) {
            Ok(_) => true,
            Err(error) if error.sqlstate == "23505" => false,
            Err(error) => panic!("{error:?}"),
        }
    };
    let inserted = (0..100).map(one).collect();
    run_now(client.session.close());
    inserted
}

#[test]
#[allow(clippy::disallowed_methods, reason = "sessions of threads are the subject")]
fn one_of_several_inserts_of_a_long_key_wins() {
    for keys in ["k text PRIMARY KEY, v varchar(300)", "k text, v varchar(300) UNIQUE"] {
        let database = new_database();
        let mut client = Client::of(&database);
        client.run(&format!("CREATE TABLE t ({keys}, thread int)"));
        let won: Vec<Vec<bool>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|thread| {
                    scope.spawn({
                        let database = &database;
                        move || insert_all(database, thread)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        for number in 0..100 {
            let count = won.iter().filter(|inserted| inserted[number]).count();
            assert_eq!(count, 1, "{keys}: key {number}");
        }
        assert_eq!(client.run("SELECT count(*), count(DISTINCT v) FROM t"), "100|100\nSELECT 1");
    }
}

#[test]
fn a_key_of_many_texts_says_how_many_bytes_it_holds() {
    let mut client = Client::of(&new_database());
    let columns = ["a", "b", "c", "d", "e"].map(|name| format!("{name} varchar(9)")).join(", ");
    client.run(&format!("CREATE TABLE t ({columns}, PRIMARY KEY (a, b, c, d, e))"));
    assert_eq!(client.run("INSERT INTO t VALUES ('a', '', '', '', '123456789')"), "INSERT 0 1");
    let refused =
        client.query("INSERT INTO t VALUES ('a', '', '', '', '\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}')");
    let error = refused.expect_err("it has ten bytes");
    assert_eq!(
        (&*error.sqlstate, &*error.message),
        ("22001", "value too long for type character varying(9)")
    );
    assert_eq!(error.detail.as_deref(), Some("The column holds 9 bytes, and the value has 10."));
    assert!(error.hint.is_some());
}

#[test]
fn tables_of_django_and_rails_are_created() {
    for schema in [DJANGO, RAILS] {
        let mut client = Client::of(&new_database());
        for statement in schema.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
            let ran = client.run(statement);
            let is_fine = ["CREATE", "ALTER", "INSERT", "UPDATE", "SELECT", "DELETE"];
            assert!(
                is_fine
                    .iter()
                    .any(|tag| ran.lines().last().is_some_and(|last| last.starts_with(tag))),
                "{statement}\n{ran}"
            );
        }
    }
}
