//! `EXPLAIN`.

use crate::support::{Client, new_database};
use fabric::Fabric;
use sql_session::{Host, LocalHost, SqlDatabase};

/// The example of the documentation: a statement, and its plan.
const DOCUMENTATION: &str = include_str!("../../../../../docs/sql.md");

fn filled() -> Client {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE customer (id int PRIMARY KEY, town int, name varchar(20));
         CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, amount int);
         CREATE INDEX orders_customer ON orders (customer, id);
         INSERT INTO customer SELECT g, g % 7, 'c' || g FROM generate_series(1, 500) g;
         INSERT INTO orders SELECT g, 1 + g * 13 % 500, g % 100 FROM generate_series(1, 5000) g",
    );
    client.run("ANALYZE");
    client
}

/// The plan without times, and without what nodes do on the network.
fn plan(client: &mut Client, text: &str) -> String {
    client.run(text);
    let told = client.run(&format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {text}"));
    let is_kept = |line: &&str| !line.contains("Verbs: ") && *line != "EXPLAIN";
    told.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_documented_plan_is_that_of_the_statement() {
    let mut client = filled();
    let (_, block) = DOCUMENTATION.split_once("```text explain\n").expect("there is an example");
    let (block, _) = block.split_once("```").expect("it ends");
    let (statement, expected) = block.split_once(";\n").expect("the statement ends");
    client.run(statement);
    assert_eq!(client.run(statement), format!("{expected}EXPLAIN"));
}

#[test]
fn nodes_are_measured() {
    let mut client = filled();
    let grouped = plan(
        &mut client,
        "SELECT c.town, count(*) FROM orders o JOIN customer c ON c.town = o.amount GROUP BY c.town ORDER BY 2 DESC LIMIT 3",
    );
    for expected in [
        "Limit (actual rows=3 loops=1)",
        "Sort (actual rows=3 loops=1)",
        "Sort Key: (count(*)) DESC",
        "Sort Method: top-N heapsort  Memory: ",
        "HashAggregate (actual rows=7 loops=1)",
        "Hash Join (actual rows=25000 loops=1)",
        "Seq Scan on orders (actual rows=5000 loops=1)",
        "Seq Scan on customer (actual rows=500 loops=1)",
        "Memory Usage: ",
    ] {
        assert!(grouped.contains(expected), "{expected}: {grouped}");
    }
    let looped = plan(
        &mut client,
        "SELECT id, (SELECT max(amount) FROM orders o WHERE o.customer = c.id) FROM customer c WHERE id < 4 ORDER BY id",
    );
    let expected = "Index Scan using customer_pkey on customer (actual rows=3 loops=1)\n  \
                    Index Cond: (customer.id < 4)\n  SubPlan 1\n    ->  Aggregate (actual rows=1 loops=3)\n          \
                    ->  Index Scan using orders_customer on orders (actual rows=10 loops=3)\n                \
                    Index Cond: (orders.customer = customer.id)\n";
    assert_eq!(looped, expected);
    let never = plan(
        &mut client,
        "SELECT o.id FROM orders o JOIN customer c ON c.town = o.amount WHERE o.id < 0 ORDER BY o.id",
    );
    assert!(never.contains("Seq Scan on customer (never executed)"), "{never}");
}

#[test]
fn changes_are_explained_and_made() {
    let mut client = filled();
    let explained = |client: &mut Client, text: &str| {
        let told = client.run(&format!("EXPLAIN (COSTS off) {text}"));
        told.trim_end_matches("\nEXPLAIN").to_owned()
    };
    let insert = "INSERT INTO orders VALUES (100000, 1, 1)";
    assert_eq!(explained(&mut client, insert), "Insert on orders\n  ->  Result");
    let told =
        client.run(&format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {insert}"));
    assert!(told.contains("->  Result (actual rows=1 loops=1)"), "{told}");
    let update = "UPDATE orders SET amount = 3 WHERE customer = 7";
    let of_index = "->  Index Scan using orders_customer on orders";
    assert!(explained(&mut client, update).contains(of_index));
    let told = client.run(&format!("EXPLAIN ANALYZE {update}"));
    assert!(told.starts_with("Update on orders  (cost="), "{told}");
    assert!(told.contains(" rows=0 loops=1)") && told.contains(" rows=10 loops=1)"), "{told}");
    assert!(told.contains("\nPlanning Time: ") && told.contains(" ms\nExecution Time: "), "{told}");
    let told = client.run("EXPLAIN ANALYZE DELETE FROM orders WHERE id = 100000");
    assert!(told.contains("Delete on orders"), "{told}");
    assert_eq!(client.run("SELECT count(*) FROM orders WHERE amount = 3"), "60\nSELECT 1");
    assert_eq!(client.run("SELECT count(*) FROM orders"), "5000\nSELECT 1");
    assert!(client.run("EXPLAIN (FORMAT yaml) SELECT 1").starts_with("0A000"));
    assert!(client.run("EXPLAIN (BUFFERS, VERBOSE) SELECT 1").starts_with("Result  (cost="));
}

#[test]
fn the_plans_of_changes_in_with_are_shown() {
    let mut client = filled();
    let text = "WITH moved AS (DELETE FROM orders WHERE id = 7 RETURNING id, amount) INSERT INTO customer (id, town) SELECT m.id + 100000, m.amount FROM moved m";
    let plan = client.run(&format!("EXPLAIN (COSTS off) {text}"));
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    let at = |line: &str| lines.iter().position(|one| one.ends_with(line));
    let found = ["Insert on customer", "CTE moved", "Delete on orders"].map(at);
    assert!(found[0] == Some(0) && found[1] < found[2] && found[1].is_some(), "{plan}");
}

#[test]
fn costs_grow_from_the_inputs_to_the_root() {
    let mut client = filled();
    let told = client.run(
        "EXPLAIN SELECT c.name FROM orders o JOIN customer c ON c.id = o.customer ORDER BY o.amount",
    );
    let totals = told.lines().filter_map(|line| {
        let (_, cost) = line.split_once("(cost=")?;
        let (first, rest) = cost.split_once("..")?;
        let (total, _) = rest.split_once(' ')?;
        Some((first.parse::<f64>().ok()?, total.parse::<f64>().ok()?))
    });
    let totals: Vec<(f64, f64)> = totals.collect();
    assert!(totals.len() >= 4, "{told}");
    assert!(totals.iter().all(|(first, total)| first <= total && *total > 0.0), "{told}");
    assert!(totals[0].1 >= totals[1].1 && totals[1].1 >= totals[2].1, "{told}");
}

#[test]
fn the_json_format_has_postgresqls_fields() {
    let mut client = filled();
    let text = "SELECT o.id FROM orders o JOIN customer c ON c.town = o.amount WHERE c.id IN (SELECT 3) ORDER BY o.id, c.name LIMIT 2";
    let told = client.run(&format!("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {text}"));
    let document: serde_json::Value =
        serde_json::from_str(told.trim_end_matches("EXPLAIN")).expect("it is JSON");
    let whole = &document[0];
    assert!(whole["Planning Time"].is_f64() && whole["Execution Time"].is_f64(), "{told}");
    let plan = &whole["Plan"];
    assert_eq!(plan["Node Type"], "Limit");
    assert_eq!((&plan["Actual Rows"], &plan["Actual Loops"]), (&2.into(), &1.into()));
    assert!(plan["Total Cost"].is_f64() && plan["Verbs"].is_u64() && plan["Output"].is_array());
    let sort = &plan["Plans"][0];
    assert_eq!(
        (&sort["Node Type"], &sort["Sort Method"]),
        (&"Sort".into(), &"top-N heapsort".into())
    );
    assert_eq!(
        (&sort["Parent Relationship"], &sort["Sort Space Type"]),
        (&"Outer".into(), &"Memory".into())
    );
    let types = |client: &mut Client, text: &str| {
        let prepared = fabric::run_now(client.session.prepare(text, &[])).expect("it is fine");
        prepared.columns().expect("it has rows")[0].sql_type.clone()
    };
    assert_eq!(types(&mut client, "EXPLAIN (FORMAT JSON) SELECT 1"), sql::SqlType::Json);
    assert_eq!(types(&mut client, "EXPLAIN SELECT 1"), sql::SqlType::Text);
    let plain = client.run(&format!("EXPLAIN (FORMAT JSON, COSTS off) {text}"));
    assert!(!plain.contains("Cost") && !plain.contains("Actual"), "{plain}");
    serde_json::from_str::<serde_json::Value>(plain.trim_end_matches("EXPLAIN")).expect("JSON");
}

/// The accesses of a plan.
fn accesses(client: &mut Client, text: &str) -> String {
    let told = client.run(&format!("EXPLAIN (COSTS off) {text}"));
    let is_kept = |line: &&str| *line != "EXPLAIN";
    told.lines().filter(is_kept).map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn equal_expressions_are_conditions_of_their_index() {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE account (id int PRIMARY KEY, email varchar(30), a int, b int);
         CREATE UNIQUE INDEX ON account (lower(email));
         CREATE INDEX ON account ((a + b), (a + 1));
         INSERT INTO account SELECT n, 'Mail' || n, n % 50, n % 7 FROM generate_series(1, 2000) n;
         ANALYZE",
    );
    let mut plan = |text| accesses(&mut client, text);
    let found = plan("SELECT id FROM account WHERE lower(email) = 'x'");
    assert!(found.contains("Index Scan using account_lower_idx on account"), "{found}");
    assert!(found.contains("Index Cond: (lower(email) = 'x'"), "{found}");
    let found = plan("SELECT id FROM account WHERE a + b = 3 AND a + 1 > 2");
    assert!(found.contains("Index Cond: (((a + b) = 3) AND ((a + 1) > 2))"), "{found}");
    let found = plan("SELECT id FROM account ORDER BY lower(email) LIMIT 3");
    assert!(found.contains("Index Scan using account_lower_idx"), "{found}");
    let found = plan(
        "SELECT o.id FROM account o JOIN account a ON lower(a.email) = o.email WHERE o.id = 1",
    );
    assert!(found.contains("Index Cond: (lower("), "{found}");
    // Another expression is no condition of the index.
    let found = plan("SELECT id FROM account WHERE upper(email) = 'x'");
    assert!(found.contains("Seq Scan"), "{found}");
}

#[test]
fn partial_indexes_serve_conditions_that_imply_theirs() {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE job (id int PRIMARY KEY, run_at int, state varchar(10), note text, flag boolean);
         INSERT INTO job SELECT n, n, CASE WHEN n % 50 = 0 THEN 'new' ELSE 'done' END, NULL, n % 40 = 0
           FROM generate_series(1, 4000) n;
         CREATE INDEX job_new ON job (run_at) WHERE state = 'new';
         CREATE INDEX job_late ON job (note) WHERE run_at > 3900;
         CREATE INDEX job_flag ON job (note, run_at) WHERE flag;
         ANALYZE",
    );
    let uses = |client: &mut Client, text: &str| {
        let found = accesses(client, text);
        let at = found.find("using ").map_or("", |at| &found[at + 6..]);
        at.split_whitespace().next().unwrap_or_default().to_owned()
    };
    for (text, index) in [
        (
            "SELECT id FROM job WHERE state = 'new' AND run_at > 5 ORDER BY run_at LIMIT 1",
            "job_new",
        ),
        ("SELECT id FROM job WHERE state IN ('new') ORDER BY run_at LIMIT 1", "job_new"),
        ("SELECT id FROM job WHERE run_at = 3950 AND note = 'x'", "job_late"),
        ("SELECT id FROM job WHERE run_at >= 3901 AND note = 'x'", "job_late"),
        ("SELECT id FROM job WHERE run_at IN (3910, 3920) AND note = 'x'", "job_late"),
        ("SELECT id FROM job WHERE flag IS TRUE AND note = 'x'", "job_flag"),
        ("SELECT id FROM job WHERE flag = true AND note = 'x' AND run_at < 9", "job_flag"),
        ("SELECT id FROM job WHERE state = 'done' ORDER BY run_at LIMIT 1", ""),
        ("SELECT id FROM job WHERE state <> 'old' ORDER BY run_at LIMIT 1", ""),
        ("SELECT id FROM job WHERE run_at = 3900 AND note = 'x'", ""),
        ("SELECT id FROM job WHERE run_at IN (3900, 3920) AND note = 'x'", ""),
        ("SELECT id FROM job WHERE NOT flag AND note = 'x'", ""),
        ("SELECT id FROM job WHERE note = 'x'", ""),
    ] {
        assert_eq!(uses(&mut client, text), index, "{text}");
    }
    let found = accesses(&mut client, "SELECT id FROM job WHERE state = 'new' AND run_at < 100");
    assert!(found.contains("Index Cond: (run_at < 100)") && !found.contains("Filter"), "{found}");
}

/// Round trips so far of the lane that the only session uses.
fn round_trips(database: &SqlDatabase<LocalHost>) -> u64 {
    let lane = database.host().borrow_lane(&|| false).expect("no other session has lanes");
    let counted = lane.env().counters().counts().round_trips;
    database.host().give_back_lane(lane);
    counted
}

#[test]
fn an_index_over_an_expression_costs_what_one_over_a_column_costs() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run(
        "CREATE TABLE plain (id int PRIMARY KEY, a int); CREATE UNIQUE INDEX ON plain (a);
         CREATE TABLE over (id int PRIMARY KEY, a int); CREATE UNIQUE INDEX ON over ((a + 0))",
    );
    let mut counted = |text: &str| {
        let before = round_trips(&database);
        client.run(text);
        round_trips(&database) - before
    };
    let mut costs = |table: &str| {
        counted(&format!("INSERT INTO {table} VALUES (1, 10)"));
        let inserted = counted(&format!("INSERT INTO {table} VALUES (2, 20)"));
        (inserted, counted(&format!("DELETE FROM {table} WHERE id = 2")))
    };
    let plain = costs("plain");
    assert!(plain.0 > 0 && plain == costs("over"), "{plain:?}");
}
