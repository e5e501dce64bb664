//! Syntax errors have PostgreSQL's SQLSTATE, message and place: psql prints them alike.

use crate::programs::{Reference, World};

const WRONG: [&str; 44] = [
    "SELECT * FORM t",
    "SELEC 1",
    "SELECT a FORM t",
    "SELECT FROM WHERE",
    "SELECT 1 +",
    "SELECT 1 + * 2",
    "SELECT (1",
    "SELECT 1)",
    "SELECT 1 1",
    "SELECT a,, b FROM t",
    "SELECT a, FROM t",
    "SELECT a FROM",
    "SELECT a FROM t WHERE",
    "SELECT a FROM t WHERE a =",
    "SELECT a FROM t WHERE AND a = 1",
    "SELECT a FROM t WHER a = 1",
    "SELECT a FROM t GROUP a",
    "SELECT a FROM t ORDER a",
    "SELECT a FROM t ORDER BY",
    "SELECT a FROM t LIMIT",
    "SELECT a FROM t JOIN u ON",
    "SELECT a FROM t LEFT u ON true",
    "SELECT CASE WHEN a THEN 1 FROM t",
    "SELECT CAST(a AS) FROM t",
    "SELECT a IN () FROM t",
    "SELECT a BETWEEN 1 FROM t",
    "SELECT a IS 1 FROM t",
    "SELECT a NOT 1 FROM t",
    "SELECT count(* FROM t",
    "INSERT t VALUES (1)",
    "INSERT INTO VALUES (1)",
    "INSERT INTO t (a b) VALUES (1, 2)",
    "INSERT INTO t VALUES 1",
    "INSERT INTO t VALUES (1",
    "INSERT INTO t (a) VALUE (1)",
    "UPDATE t a = 1",
    "UPDATE t SET a 1",
    "UPDATE t SET a = 1,",
    "UPDATE t SET a = 1 WHER b = 2",
    "DELETE t",
    "SELECT 1 +;",
    "  SELECT a FROM t\n WHERE /* nothing */ ;",
    "CREATE TABLE t (a int,)",
    "SELECT a\nFROM t\nWHERE b = = 2",
];

#[test]
fn psql_points_at_the_place_of_postgresql() {
    let Some(reference) = Reference::start("syntax") else { return };
    let world = World::new();
    let mut differences = String::new();
    for wrong in WRONG {
        let theirs = reference.psql(&["\\set VERBOSITY verbose", wrong]);
        let ours = world.psql(&["\\set VERBOSITY verbose", wrong]).expect("psql is installed");
        // Ours may say more, and PostgreSQL names the place in its own code.
        let plain = |printed: &str| {
            let kept = |line: &&str| !line.starts_with("HINT:") && !line.starts_with("LOCATION:");
            printed.lines().filter(kept).collect::<Vec<_>>().join("\n")
        };
        let (theirs, ours) = (plain(&theirs), plain(&ours));
        if ours != theirs {
            differences += &format!("{wrong}\n{ours}\nPostgreSQL:\n{theirs}\n\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
