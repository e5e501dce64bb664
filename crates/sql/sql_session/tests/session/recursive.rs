//! `WITH RECURSIVE`, beyond the results that `recursive.sql` compares with PostgreSQL.

use crate::support::{Client, new_database};

#[test]
fn a_recursion_without_an_end_is_bounded() {
    let mut client = Client::of(&new_database());
    client.run("SET statement_timeout = 200");
    let endless =
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT count(*) FROM t";
    assert_eq!(client.run(endless), "57014: canceling statement due to statement timeout");
    client.run("SET statement_timeout = 0; SET work_mem = '1MB'");
    let wide = "WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT n + 1 FROM t) SELECT count(*) FROM t";
    assert!(client.run(wide).starts_with("53200: the statement needs more memory than work_mem"));
}

#[test]
fn clauses_beside_a_recursion_are_refused() {
    let mut client = Client::of(&new_database());
    for clause in ["SEARCH DEPTH FIRST BY n SET o", "CYCLE n SET c USING p"] {
        let refused = client.run(&format!(
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) {clause} SELECT n FROM t"
        ));
        assert!(
            refused.starts_with("0A000: SEARCH and CYCLE of WITH RECURSIVE are outside"),
            "{refused}"
        );
    }
}

#[test]
fn a_recursion_is_explained() {
    let mut client = Client::of(&new_database());
    let plan = client.run(
        "EXPLAIN (COSTS off) WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t",
    );
    let expected = ["Recursive Union", "  ->  Result", "  ->  WorkTable Scan"];
    expected.iter().for_each(|line| assert!(plan.contains(line), "{plan}"));
}
