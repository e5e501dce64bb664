//! Queries whose rows are taken in parts, and queries that need few of the rows below them.

use crate::support::{Client, new_database};
use fabric::run_now;
use sql_session::{LocalHost, OpenQuery, Outcome, RowSet, SqlDatabase, SqlError};

const TABLES: &str = "
    CREATE TABLE customer (id int PRIMARY KEY, town int, name varchar(20));
    CREATE TABLE orders (id int PRIMARY KEY, customer int, amount int);
    CREATE INDEX orders_customer ON orders (customer, id);
    INSERT INTO customer SELECT g, g % 7, 'c' || g FROM generate_series(1, 500) g;
    INSERT INTO orders SELECT g, g * 13 % 600, g % 100 FROM generate_series(1, 5000) g";

fn filled() -> (SqlDatabase<LocalHost>, Client) {
    let database = new_database();
    let mut client = Client::of(&database);
    assert!(client.run(TABLES).ends_with("INSERT 0 5000"));
    (database, client)
}

/// Queries of all kinds of nodes, with an order or of one possible order.
const QUERIES: [&str; 24] = [
    "SELECT * FROM orders ORDER BY id",
    "SELECT * FROM orders ORDER BY id DESC",
    "SELECT * FROM orders WHERE amount < 30 ORDER BY id LIMIT 300 OFFSET 5",
    "SELECT id FROM orders WHERE customer = 13 ORDER BY id",
    "SELECT id FROM orders WHERE customer IN (1, 13, 26) ORDER BY id",
    "SELECT id FROM orders WHERE customer BETWEEN 3 AND 20 ORDER BY customer DESC, id DESC",
    "SELECT o.id, c.name FROM orders o JOIN customer c ON c.id = o.customer ORDER BY o.id",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customer c ON c.id = o.customer AND c.town < 3 ORDER BY o.id",
    "SELECT c.id, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.amount > 50 ORDER BY c.id, o.id LIMIT 900",
    "SELECT c.id, o.id FROM customer c FULL JOIN orders o ON o.customer = c.town ORDER BY c.id, o.id",
    "SELECT c.id FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > c.town + 85) ORDER BY c.id",
    "SELECT c.id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > c.town + 85) ORDER BY c.id",
    "SELECT c.id, (SELECT max(o.amount) FROM orders o WHERE o.customer = c.id) FROM customer c ORDER BY c.id",
    "SELECT c.id FROM customer c WHERE c.id NOT IN (SELECT o.customer FROM orders o WHERE o.amount > 20) ORDER BY 1",
    "SELECT customer, count(*), sum(amount), count(DISTINCT amount) FROM orders GROUP BY customer ORDER BY customer",
    "SELECT amount, min(id), array_agg(customer) FROM orders WHERE id < 900 GROUP BY amount HAVING count(*) > 3 ORDER BY 1",
    "SELECT count(*), sum(amount), max(id) FROM orders",
    "SELECT DISTINCT town FROM customer ORDER BY town",
    "SELECT id FROM customer WHERE id < 20 UNION SELECT customer FROM orders WHERE id < 40 ORDER BY 1",
    "(SELECT id FROM customer ORDER BY id) UNION ALL (SELECT id FROM orders WHERE id < 50 ORDER BY id) ORDER BY 1",
    "SELECT g FROM generate_series(1, 2500) g ORDER BY g",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) v(n, t) ORDER BY n",
    "WITH big AS (SELECT * FROM orders WHERE amount > 90) SELECT a.id, b.id FROM big a JOIN big b ON b.id = a.id + 1 ORDER BY a.id",
    "SELECT a, b FROM unnest(ARRAY[1, 2, 3], ARRAY['x', 'y']) AS u(a, b) ORDER BY a",
];

fn add(all: &mut Vec<String>, rows: &RowSet) {
    all.extend(rows.iter().map(|row| format!("{row:?}")));
}

/// Begins a query; the client takes at most `first` rows at first.
fn begin(
    client: &mut Client,
    text: &str,
    first: usize,
) -> Result<(RowSet, Option<OpenQuery>), SqlError> {
    let prepared = run_now(client.session.prepare(text, &[]))?;
    match run_now(client.session.open(&prepared, &[], first))? {
        Outcome::Rows { rows, .. } => Ok((rows, None)),
        Outcome::Part { rows, open } => {
            assert!(rows.len() <= first, "{text}");
            Ok((rows, Some(open)))
        }
        other => panic!("{other:?}"),
    }
}

/// Takes all rows, `most` at a time. Returns also the number of parts.
fn in_parts(client: &mut Client, text: &str, most: usize) -> (Vec<String>, usize) {
    let (rows, mut open) =
        begin(client, text, most).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (mut all, mut parts) = (Vec::new(), 1);
    add(&mut all, &rows);
    while let Some(query) = open {
        let fetched = run_now(client.session.fetch(query, most)).expect("it goes on");
        assert!(fetched.rows.len() <= most, "{text}");
        add(&mut all, &fetched.rows);
        parts += 1;
        open = open.filter(|_| !fetched.has_ended);
    }
    (all, parts)
}

#[test]
fn the_rows_of_parts_are_those_of_the_whole() {
    let (_, mut client) = filled();
    for text in QUERIES {
        let (whole, _) = in_parts(&mut client, text, usize::MAX);
        assert!(!whole.is_empty(), "{text}");
        for most in [1, 3, 50, 1024] {
            let (all, parts) = in_parts(&mut client, text, most);
            assert_eq!(all, whole, "{text}: {most} rows at a time");
            assert!(parts >= whole.len().div_ceil(most), "{text}");
        }
        client.run("BEGIN");
        assert_eq!(in_parts(&mut client, text, 7).0, whole, "{text}");
        client.run("COMMIT");
    }
}

/// The number of verbs of a query, when the leaf caches are warm.
fn verbs(client: &mut Client, text: &str) -> u64 {
    client.run(text);
    let told = client.run(&format!("EXPLAIN ANALYZE {text}"));
    let (_, rest) = told.split_once("Verbs: ").unwrap_or_else(|| panic!("{told}"));
    rest.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn a_limit_stops_the_nodes_below() {
    let (_, mut client) = filled();
    client.run("ANALYZE");
    let joined = "SELECT o.id, c.name FROM orders o JOIN customer c ON c.id = o.customer";
    let queries = [
        (format!("{joined} ORDER BY o.id LIMIT 5"), 17),
        (format!("{joined} ORDER BY o.id DESC LIMIT 5"), 17),
        (format!("{joined} WHERE o.amount = 7 ORDER BY o.id LIMIT 3"), 50),
        ("SELECT c.id FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id) ORDER BY c.id LIMIT 4".to_owned(), 60),
        ("SELECT EXISTS (SELECT 1 FROM orders o JOIN customer c ON c.id = o.customer)".to_owned(), 150),
        ("SELECT id FROM orders LIMIT 3".to_owned(), 60),
    ];
    for (text, most) in queries {
        let verbs = verbs(&mut client, &text);
        assert!((1..=most).contains(&verbs), "{text}: {verbs} verbs");
    }
}

#[test]
fn an_open_query_does_not_see_later_changes() {
    let (_, mut client) = filled();
    let text = "SELECT id FROM orders ORDER BY id";
    let (whole, _) = in_parts(&mut client, text, usize::MAX);
    for change in [
        "DELETE FROM orders WHERE id > 4000",
        "INSERT INTO orders VALUES (100000, 1, 1)",
        "TRUNCATE orders",
        "ALTER TABLE orders ADD COLUMN more int",
        "SAVEPOINT s; DELETE FROM orders; ROLLBACK TO s",
        "SELECT 1 FROM orders WHERE id < 10 FOR UPDATE",
    ] {
        client.run("BEGIN");
        let (rows, open) = begin(&mut client, text, 10).expect("it begins");
        let query = open.expect("there are more");
        assert!(!client.run(change).contains(": "), "{change}");
        let mut all = Vec::new();
        add(&mut all, &rows);
        let rest = run_now(client.session.fetch(query, usize::MAX)).expect("it goes on");
        add(&mut all, &rest.rows);
        assert_eq!(all, whole, "{change}");
        assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    }
}

#[test]
fn a_query_ends_with_its_transaction() {
    let (_, mut client) = filled();
    let text = "SELECT id FROM orders ORDER BY id";
    for end in ["COMMIT", "ROLLBACK"] {
        client.run("BEGIN");
        let (_, open) = begin(&mut client, text, 10).expect("it begins");
        client.run(end);
        let closed = run_now(client.session.fetch(open.expect("there are more"), 1));
        assert_eq!(closed.expect_err("it is closed").sqlstate, "34000");
    }
    let (_, open) = begin(&mut client, text, 10).expect("it begins");
    run_now(client.session.close_queries());
    assert!(run_now(client.session.fetch(open.expect("there are more"), 1)).is_err());
    let closed = begin(&mut client, text, 10).expect("it begins").1.expect("there are more");
    run_now(client.session.close_query(closed));
    assert!(run_now(client.session.fetch(closed, 1)).is_err());
}

#[test]
fn an_error_ends_a_query_in_the_middle() {
    let (_, mut client) = filled();
    let text = "SELECT 10 / (id - 40) FROM orders ORDER BY id";
    let (mut open, mut count) = (begin(&mut client, text, 5).expect("it begins").1, 5);
    let error = loop {
        match run_now(client.session.fetch(open.expect("it fails first"), 5)) {
            Ok(fetched) => {
                count += fetched.rows.len();
                open = open.filter(|_| !fetched.has_ended);
            }
            Err(error) => break error,
        }
    };
    assert_eq!((&*error.sqlstate, count), ("22012", 35));
}

#[test]
fn conflicts_behind_a_query_are_hidden() {
    let (database, mut client) = filled();
    let mut other = Client::of(&database);
    client.run("BEGIN");
    client.run("DECLARE c CURSOR FOR SELECT id FROM customer ORDER BY id");
    assert_eq!(client.run("FETCH 2 FROM c"), "1\n2\nFETCH 2");
    other.run("UPDATE orders SET amount = amount + 1 WHERE id = 7");
    assert_eq!(client.run("UPDATE orders SET amount = amount + 1 WHERE id = 7"), "UPDATE 1");
    assert_eq!(client.run("FETCH 2 FROM c"), "3\n4\nFETCH 2");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT amount FROM orders WHERE id = 7"), "9\nSELECT 1");
}

#[test]
fn rows_that_a_node_holds_are_limited() {
    let (_, mut client) = filled();
    assert_eq!(client.run("SHOW work_mem"), "256MB\nSHOW");
    assert_eq!(client.run("SET work_mem = '64kB'"), "SET");
    let held = [
        ("SELECT * FROM orders ORDER BY amount, id", "Sort"),
        ("SELECT id, count(*) FROM orders GROUP BY id, amount ORDER BY 2", "HashAggregate"),
        ("SELECT array_agg(id) FROM orders", "Aggregate"),
        ("SELECT id, sum(id) OVER () FROM orders", "WindowAgg"),
        ("SELECT amount, id FROM orders EXCEPT SELECT 0, 0", "HashSetOp"),
        ("SELECT 1 FROM customer c, orders o WHERE o.amount + 0 = c.town + 0", "Hash"),
    ];
    for (text, node) in held {
        let error = client.query(text).expect_err(text);
        assert_eq!(error.sqlstate, "53200", "{text}: {error}");
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("work_mem") && hint.contains(node), "{text}: {hint}");
    }
    let kept = [
        (
            "DO $$ DECLARE c refcursor; BEGIN OPEN c FOR SELECT i FROM generate_series(1, 100000) i; END $$",
            "Cursor",
        ),
        (
            "DO $$ DECLARE c refcursor; BEGIN OPEN c FOR EXECUTE 'SELECT i FROM generate_series(1, 100000) i'; END $$",
            "Cursor",
        ),
        (
            "DO $$ DECLARE i int; BEGIN FOR i IN SELECT j FROM generate_series(1, 100000) j LOOP END LOOP; END $$",
            "loop",
        ),
        (
            "DO $$ DECLARE i int; BEGIN FOR i IN EXECUTE 'SELECT j FROM generate_series(1, 100000) j' LOOP END LOOP; END $$",
            "loop",
        ),
    ];
    for (text, node) in kept {
        let error = client.query(text).expect_err(text);
        assert_eq!(error.sqlstate, "53200", "{text}: {error}");
        // It is refused before all rows are in memory.
        let detail = error.detail.as_deref().unwrap_or_default();
        let held = detail.strip_prefix(&format!("The {node} of its plan holds "));
        let held = held.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
        assert!(held.is_some_and(|held| held < 200), "{text}: {detail}");
    }
    let moved = "DO $$ DECLARE k bigint; BEGIN WITH moved AS (DELETE FROM orders RETURNING id, amount) SELECT count(*) INTO k FROM moved; END $$";
    let error = client.query(moved).expect_err("all rows are held");
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert!(error.hint.as_deref().unwrap_or_default().contains("WITH"), "{error}");
    let few = [
        "DO $$ DECLARE i int; BEGIN FOR i IN SELECT j FROM generate_series(1, 1100) j LOOP END LOOP; FOR i IN SELECT j FROM generate_series(1, 1100) j LOOP END LOOP; END $$",
        "SELECT id FROM orders ORDER BY amount, id LIMIT 3",
        "SELECT count(*), sum(amount) FROM orders",
        "SELECT amount, count(*) FROM orders GROUP BY amount",
        "SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer ORDER BY o.id LIMIT 2000",
    ];
    for text in few {
        client.query(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let refused = client.run("SET work_mem = '1kB'");
    assert!(refused.starts_with("22023: 1 kB is outside the valid range"), "{refused}");
    client.run("RESET work_mem");
    client.query(held[0].0).expect("there is room again");
}

#[test]
fn the_time_out_is_that_of_the_whole_statement() {
    let (_, mut client) = filled();
    client.run("SET statement_timeout = '150ms'");
    let text = "SELECT g FROM generate_series(1, 1000000000) g";
    let taken = |client: &mut Client, again: bool| {
        let query = begin(client, text, 1024).expect("it begins").1.expect("there are more");
        for part in 0..10_000_000 {
            if again {
                client.session.execute_again();
            }
            if let Err(error) = run_now(client.session.fetch(query, 1024)) {
                return (error.sqlstate.to_string(), part);
            }
            if again && part == 5_000 {
                break;
            }
        }
        run_now(client.session.close_query(query));
        ("none".to_owned(), 0)
    };
    assert_eq!(taken(&mut client, false).0, "57014");
    assert_eq!(taken(&mut client, true).0, "none");
}
