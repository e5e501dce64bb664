//! What roles can do to each other: locks that they hold, grants, and numbers of roles.

use crate::support::{Client, new_database};
use sql_session::{LocalHost, SqlDatabase};

fn connect(database: &SqlDatabase<LocalHost>, user: &str) -> Client {
    let options = sql_session::SessionOptions { user: user.into(), ..Default::default() };
    Client { session: database.session(options) }
}

/// The owner, and clients of the roles `bob` and `eve`.
fn world() -> (Client, Client, Client) {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN");
    ada.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20)");
    let (bob, eve) = (connect(&database, "bob"), connect(&database, "eve"));
    (ada, bob, eve)
}

const DENIED: &str = "42501: permission denied for table t";

#[test]
fn a_refused_command_keeps_nobody_from_changing_the_catalog() {
    let (mut ada, mut bob, _) = world();
    ada.run("SET lock_timeout = '50ms'; GRANT SELECT ON t TO bob");
    let mut next = 0;
    let mut changes = |ada: &mut Client| {
        next += 1;
        ada.run(&format!("CREATE TABLE u{next} (a int)"))
    };
    for refused in [
        "DROP TABLE t",
        "CREATE ROLE mallory",
        "TRUNCATE t",
        "GRANT INSERT ON t TO nobody",
        "SELECT 1; SAVEPOINT s; DROP TABLE t",
    ] {
        let ran = bob.run(&format!("BEGIN; {refused}"));
        assert!(ran.starts_with("42"), "{refused}: {ran}");
        assert_eq!(changes(&mut ada), "CREATE TABLE", "{refused}");
        bob.run("ROLLBACK");
    }
    for idle in ["GRANT SELECT ON t TO eve", "DROP TABLE IF EXISTS nothing"] {
        assert!(bob.run(&format!("BEGIN; {idle}")).starts_with("BEGIN"));
        assert_eq!(changes(&mut ada), "CREATE TABLE", "{idle}");
        bob.run("ROLLBACK");
    }
    // A block that has changed something keeps its turn, until it fails.
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    assert_eq!(
        bob.run("BEGIN; CREATE TABLE own (a int); SELECT 1"),
        "BEGIN\nCREATE TABLE\n1\nSELECT 1"
    );
    assert_eq!(changes(&mut ada).get(..5), Some("55P03"));
    assert_eq!(bob.run("SAVEPOINT s; DROP TABLE t"), "42501: must be owner of table t");
    assert_eq!(changes(&mut ada).get(..5), Some("55P03"));
    assert_eq!(bob.run("ROLLBACK TO s; SELECT * FROM own"), "ROLLBACK\nSELECT 0");
    bob.run("RELEASE s");
    assert_eq!(bob.run("DROP TABLE t"), "42501: must be owner of table t");
    assert_eq!(changes(&mut ada), "CREATE TABLE");
    assert_eq!(bob.run("COMMIT; SELECT * FROM own").get(..5), Some("42P01"));
}
