//! Transactions that change rows and then the catalog.

use crate::support::{Client, new_database};
use fabric::{Env, run_now};
use sql_session::{Host, LocalHost, SqlDatabase};

/// Number of the engine's tables, without those of the catalog itself.
fn tables(client: &Client) -> usize {
    let host = client.session.database().host().clone();
    let tables = run_now(host.handle().memory_usage()).expect("it answers");
    tables.iter().filter(|table| table.name.contains('.')).count()
}

fn two_clients() -> (Client, Client) {
    let database: SqlDatabase<LocalHost> = new_database();
    let (mut client, other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE a (id int PRIMARY KEY, n int)");
    client.run("INSERT INTO a VALUES (1, 10)");
    (client, other)
}

const MIGRATION: &str = "INSERT INTO a VALUES (2, 20);
    CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a, note text);
    CREATE INDEX b_by_a ON b (a);
    INSERT INTO b SELECT id, id, 'copied' FROM a;
    CREATE UNIQUE INDEX a_by_n ON a (n);
    UPDATE a SET n = n + 1;
    ALTER TABLE a ADD CHECK (n > 0)";

#[test]
fn rows_and_tables_are_published_together() {
    let (mut client, mut other) = two_clients();
    let env = client.session.database().host().handle().env().clone();
    let began_ns = env.now_ns();
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
    let ran = client.run(MIGRATION);
    assert!(ran.ends_with("UPDATE 2\nALTER TABLE"), "{ran}");
    assert_eq!(
        client.run("SELECT a.n, b.note FROM a JOIN b ON b.a = a.id WHERE a.n = 21"),
        "21|copied\nSELECT 1"
    );
    assert_eq!(other.run("SELECT * FROM a"), "1|10\nSELECT 1");
    assert_eq!(other.run("SELECT * FROM b"), "42P01: relation \"b\" does not exist");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert!(env.now_ns() - began_ns < 5_000_000_000, "a change has waited for its own transaction");
    assert_eq!(other.run("SELECT * FROM a ORDER BY id"), "1|11\n2|21\nSELECT 2");
    assert_eq!(other.run("SELECT count(*) FROM b WHERE a = 2"), "1\nSELECT 1");
    let refused = "23505: duplicate key value violates unique constraint \"a_by_n\"";
    assert_eq!(other.run("INSERT INTO a VALUES (3, 21)"), refused);
    assert!(other.run("INSERT INTO a VALUES (3, -1)").starts_with("23514"));
    assert!(other.run("DELETE FROM a WHERE id = 1").starts_with("23503"));
    assert_eq!(tables(&client), 2, "replaced storage is dropped");
}

#[test]
fn a_roll_back_undoes_rows_and_tables() {
    let (mut client, mut other) = two_clients();
    for end in ["ROLLBACK", "SELECT 1/0; COMMIT"] {
        client.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
        client.run(MIGRATION);
        client.run(end);
        client.run("ROLLBACK");
        assert_eq!(other.run("SELECT * FROM a"), "1|10\nSELECT 1");
        assert_eq!(client.run("SELECT * FROM b"), "42P01: relation \"b\" does not exist");
        assert_eq!(tables(&client), 1, "new storage is dropped");
    }
    assert_eq!(other.run("INSERT INTO a VALUES (5, 10), (6, -10)"), "INSERT 0 2");
}

/// Without writes before, at a level that keeps its snapshot.
#[test]
fn a_snapshot_is_kept_behind_a_change() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(client.run("SELECT * FROM a"), "1|10\nSELECT 1");
    assert_eq!(other.run("INSERT INTO a VALUES (2, 20)"), "INSERT 0 1");
    assert_eq!(client.run("CREATE TABLE b (id int)"), "CREATE TABLE");
    assert_eq!(client.run("INSERT INTO b SELECT id FROM a"), "INSERT 0 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT * FROM b"), "1\nSELECT 1");
}

/// Rows that others have committed behind the snapshot are not in it, and must not be lost.
#[test]
fn rows_behind_the_snapshot_are_not_lost_by_a_copy() {
    let (mut client, mut other) = two_clients();
    client.run("CREATE TABLE log (n int)");
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO log VALUES (1)");
    assert_eq!(other.run("INSERT INTO a VALUES (2, 20)"), "INSERT 0 1");
    let refused = client.run("CREATE INDEX ON a (n)");
    assert!(refused.starts_with("40001"), "{refused}");
    client.run("ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM a"), "2\nSELECT 1");
    // The statements are repeated on a newer snapshot, for the first change only.
    client.run("BEGIN; INSERT INTO log VALUES (1)");
    assert_eq!(other.run("INSERT INTO a VALUES (3, 30)"), "INSERT 0 1");
    assert_eq!(client.run("CREATE INDEX ON a (n)"), "CREATE INDEX");
    assert_eq!(other.run("INSERT INTO log VALUES (2)"), "INSERT 0 1");
    assert!(client.run("CREATE INDEX ON log (n)").starts_with("40001"));
    client.run("ROLLBACK; BEGIN; INSERT INTO log VALUES (1); CREATE INDEX ON a (n)");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT id FROM a WHERE n = 30"), "3\nSELECT 1");
}

#[test]
fn a_change_of_others_behind_the_snapshot_is_a_conflict() {
    let (mut client, mut other) = two_clients();
    client.run("CREATE TABLE log (n int)");
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO log VALUES (1)");
    assert_eq!(other.run("ALTER TABLE a ADD CHECK (n > 0)"), "ALTER TABLE");
    assert!(client.run("CREATE TABLE b (id int)").starts_with("40001"));
    assert_eq!(client.run("COMMIT"), "ROLLBACK");
    client.run("BEGIN; INSERT INTO log VALUES (1)");
    assert_eq!(other.run("ALTER TABLE a ADD CHECK (n > 1)"), "ALTER TABLE");
    assert_eq!(client.run("CREATE TABLE b (id int)"), "CREATE TABLE");
    assert_eq!(client.run("COMMIT"), "COMMIT");
}

#[test]
fn rows_with_references_are_changed_behind_other_changes() {
    let (mut client, mut other) = two_clients();
    client.run("CREATE TABLE log (n int); CREATE TABLE child (a int REFERENCES a)");
    client.run("BEGIN; INSERT INTO log VALUES (1)");
    assert_eq!(client.run("INSERT INTO child VALUES (1)"), "INSERT 0 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT * FROM log, child"), "1|1\nSELECT 1");
    client.run("BEGIN; INSERT INTO log VALUES (2); ALTER TABLE log ADD COLUMN b int");
    assert_eq!(client.run("INSERT INTO child VALUES (1)"), "INSERT 0 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT count(*) FROM log, child"), "4\nSELECT 1");
}

#[test]
fn tables_are_truncated_and_dropped_behind_changes_of_their_rows() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN; UPDATE a SET n = 7; TRUNCATE a; INSERT INTO a VALUES (9, 9)");
    assert_eq!(client.run("SELECT * FROM a"), "9|9\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT * FROM a"), "9|9\nSELECT 1");
    client.run("BEGIN; INSERT INTO a VALUES (10, 10); DROP TABLE a; CREATE TABLE a (x text)");
    client.run("INSERT INTO a VALUES ('new')");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT * FROM a"), "new\nSELECT 1");
    assert_eq!(tables(&client), 1);
}

#[test]
fn savepoints_undo_changes_of_the_catalog() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN; INSERT INTO a VALUES (2, 20); SAVEPOINT one; CREATE TABLE b (id int)");
    client.run("SAVEPOINT two; INSERT INTO b VALUES (1)");
    assert_eq!(client.run("ROLLBACK TO two"), "ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM b"), "0\nSELECT 1");
    assert_eq!(client.run("ROLLBACK TO one"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM b"), "42P01: relation \"b\" does not exist");
    assert_eq!(client.run("ROLLBACK TO one"), "ROLLBACK");
    assert_eq!(client.run("CREATE TABLE c (id int)"), "CREATE TABLE");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT count(*) FROM a, c"), "0\nSELECT 1");
    assert_eq!(other.run("SELECT count(*) FROM a"), "2\nSELECT 1");
    assert_eq!(other.run("SELECT * FROM b"), "42P01: relation \"b\" does not exist");
    client.run("BEGIN; SAVEPOINT one; CREATE TABLE d (id int); ROLLBACK TO one; COMMIT");
    assert_eq!(other.run("SELECT * FROM d"), "42P01: relation \"d\" does not exist");
    assert_eq!(tables(&client), 2, "undone storage is dropped");
}

#[test]
fn an_index_is_dropped_and_created_again_in_one_transaction() {
    let (mut client, mut other) = two_clients();
    client.run("CREATE INDEX i ON a (n)");
    client.run("BEGIN; DROP INDEX i");
    assert_eq!(client.run("CREATE UNIQUE INDEX i ON a (n, id)"), "CREATE INDEX");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT id FROM a WHERE n = 10"), "1\nSELECT 1");
    assert_eq!(tables(&client), 1);
}

/// Rows of new storage need not stay in the transaction.
#[test]
fn many_rows_and_changes_of_the_catalog_are_one_transaction() {
    let (mut client, mut other) = two_clients();
    let many = "INSERT INTO b SELECT x FROM generate_series(1, 70000) AS x";
    client.run("BEGIN; CREATE TABLE b (id int); INSERT INTO b VALUES (0); SAVEPOINT before");
    assert_eq!(client.run(many), "INSERT 0 70000");
    client.run("SAVEPOINT behind");
    assert_eq!(client.run("ALTER TABLE b ADD PRIMARY KEY (id)"), "ALTER TABLE");
    assert_eq!(client.run("CREATE INDEX ON b (id)"), "CREATE INDEX");
    let changed = client.run("UPDATE a SET n = 11; ALTER TABLE a ADD COLUMN m int DEFAULT 5");
    assert_eq!(changed, "UPDATE 1\nALTER TABLE");
    assert_eq!(client.run("SELECT * FROM a"), "1|11|5\nSELECT 1");
    assert_eq!(client.run("ROLLBACK TO behind"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM a"), "1|10\nSELECT 1");
    assert_eq!(client.run("INSERT INTO b VALUES (0)"), "INSERT 0 1");
    assert_eq!(client.run("SELECT count(*), max(id) FROM b"), "70002|70000\nSELECT 1");
    assert!(client.run("ROLLBACK TO before").starts_with("0A000"), "its rows stay");
    client.run("ROLLBACK");
    assert_eq!(tables(&client), 1);

    client.run("BEGIN; CREATE TABLE b (id int)");
    client.run(many);
    let changed = client.run(
        "ALTER TABLE b ADD PRIMARY KEY (id); UPDATE a SET n = 11;
        CREATE TABLE c (id int REFERENCES b); INSERT INTO c VALUES (70000)",
    );
    assert_eq!(changed, "ALTER TABLE\nUPDATE 1\nCREATE TABLE\nINSERT 0 1");
    assert_eq!(other.run("SELECT n FROM a"), "10\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT count(*) FROM a, b, c WHERE n = 11"), "70000\nSELECT 1");
    assert_eq!(tables(&client), 3, "replaced storage is dropped");
}

/// Unless a savepoint may undo them.
#[test]
fn savepoints_undo_rows_of_new_tables_behind_changes_of_the_catalog() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN; CREATE TABLE b (id int); SAVEPOINT one; INSERT INTO b VALUES (1)");
    client.run("CREATE TABLE c (id int); INSERT INTO c VALUES (1)");
    assert_eq!(client.run("ROLLBACK TO one"), "ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM b"), "0\nSELECT 1");
    let ran = client.run("INSERT INTO b VALUES (2); SAVEPOINT two; INSERT INTO b VALUES (3)");
    assert_eq!(ran, "INSERT 0 1\nSAVEPOINT\nINSERT 0 1");
    assert_eq!(client.run("SELECT * FROM b ORDER BY id"), "2\n3\nSELECT 2");
    assert_eq!(client.run("ALTER TABLE b ADD COLUMN n int DEFAULT 7"), "ALTER TABLE");
    assert_eq!(client.run("SELECT * FROM b ORDER BY id"), "2|7\n3|7\nSELECT 2");
    assert_eq!(client.run("UPDATE b SET n = 8 WHERE id = 3"), "UPDATE 1");
    assert_eq!(client.run("SELECT * FROM b ORDER BY id"), "2|7\n3|8\nSELECT 2");
    assert_eq!(client.run("ROLLBACK TO two"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM b"), "2\nSELECT 1");
    // So do those of others behind a change of their table.
    client.run("UPDATE a SET n = 11; SAVEPOINT three; UPDATE a SET n = 12");
    assert_eq!(client.run("ALTER TABLE a ADD COLUMN m int"), "ALTER TABLE");
    assert_eq!(client.run("UPDATE a SET m = n"), "UPDATE 1");
    assert_eq!(client.run("ROLLBACK TO three"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM a"), "1|11\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT * FROM a, b"), "1|11|2\nSELECT 1");
    assert_eq!(tables(&client), 2, "undone storage is dropped");
}
