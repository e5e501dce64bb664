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

#[test]
fn grants_can_be_taken_back() {
    let (mut ada, mut bob, mut eve) = world();
    let circle = "0LP01: grant options cannot be granted back to your own grantor";
    ada.run("GRANT SELECT ON t TO bob WITH GRANT OPTION");
    assert_eq!(bob.run("GRANT SELECT ON t TO bob WITH GRANT OPTION"), circle);
    assert_eq!(bob.run("GRANT SELECT ON t TO eve WITH GRANT OPTION"), "GRANT");
    assert_eq!(eve.run("GRANT SELECT ON t TO bob WITH GRANT OPTION"), circle);
    assert_eq!(eve.run("GRANT SELECT ON t TO ada WITH GRANT OPTION"), "GRANT", "the owner has it");
    assert_eq!(eve.run("GRANT SELECT ON t TO bob"), "GRANT", "without the option");
    assert_eq!(bob.run("GRANT SELECT ON t TO bob"), "GRANT");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob"), "2BP01: dependent privileges exist");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob CASCADE"), "REVOKE");
    assert_eq!(bob.run("SELECT * FROM t"), DENIED);
    assert_eq!(eve.run("SELECT * FROM t"), DENIED);
}

/// The grantor of an entry has the option itself: it is one of the roles that the user is in.
#[test]
fn a_member_grants_as_the_role_with_the_option() {
    let (mut ada, mut bob, mut eve) = world();
    ada.run("CREATE ROLE readers; CREATE ROLE writers; GRANT readers, writers TO bob");
    ada.run("GRANT SELECT ON t TO readers WITH GRANT OPTION");
    ada.run("GRANT INSERT, UPDATE ON t TO writers WITH GRANT OPTION");
    assert_eq!(bob.run("GRANT SELECT, INSERT, UPDATE ON t TO eve"), "GRANT");
    let warning = bob.session.take_notices();
    assert_eq!(warning[0].message, "not all privileges were granted for \"t\"");
    assert_eq!(eve.run("INSERT INTO t VALUES (3, 3)"), "INSERT 0 1");
    assert_eq!(ada.run("REVOKE INSERT ON t FROM writers"), "2BP01: dependent privileges exist");
    assert_eq!(bob.run("REVOKE INSERT, UPDATE ON t FROM eve"), "REVOKE");
    assert_eq!(eve.run("INSERT INTO t VALUES (4, 4)"), DENIED);
}
