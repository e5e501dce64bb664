//! Rights that change while sessions run, and what errors show.

use crate::support::{Client, DENIED, connect, new_database, with_roles};

/// As in PostgreSQL, each statement of a transaction needs its privileges when it runs.
#[test]
fn grants_count_at_once_in_open_transactions() {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let (mut ada, mut bob, _) = with_roles();
        ada.run("CREATE SEQUENCE s; GRANT SELECT, INSERT ON t TO bob; GRANT USAGE ON s TO bob");
        bob.run(&format!("BEGIN ISOLATION LEVEL {level}; SELECT * FROM t; SAVEPOINT a"));
        assert_eq!(bob.run("SELECT nextval('s')"), "1\nSELECT 1");
        ada.run("REVOKE SELECT ON t FROM bob; REVOKE INSERT ON t FROM bob");
        ada.run("REVOKE USAGE ON s FROM bob");
        assert_eq!(bob.run("SELECT * FROM t"), DENIED, "{level}");
        for denied in ["INSERT INTO t VALUES (5, 5)", "COPY t FROM STDIN", "LOCK TABLE t"] {
            bob.run("ROLLBACK TO a");
            assert_eq!(bob.run(denied), DENIED, "{level}: {denied}");
        }
        bob.run("ROLLBACK TO a");
        assert_eq!(bob.run("SELECT nextval('s')"), "42501: permission denied for sequence s");
        bob.run("ROLLBACK TO a");
        ada.run("GRANT SELECT ON t TO bob");
        assert_eq!(bob.run("SELECT count(*) FROM t"), "2\nSELECT 1", "{level}");
    }
}

#[test]
fn a_transaction_that_creates_objects_has_the_rights_for_them() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    bob.run("BEGIN; CREATE TABLE mine (a serial); LOCK TABLE mine");
    assert_eq!(bob.run("INSERT INTO mine DEFAULT VALUES RETURNING a"), "1\nINSERT 0 1");
    assert_eq!(bob.run("SELECT * FROM t"), DENIED);
}

#[test]
fn a_role_that_was_dropped_or_taken_away_ends_open_transactions() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE TABLE t (a int); CREATE ROLE staff; CREATE ROLE bob LOGIN IN ROLE staff");
    let mut bob = connect(&database, "bob");
    assert_eq!(bob.run("BEGIN; SET LOCAL ROLE staff; SELECT 1"), "BEGIN\nSET\n1\nSELECT 1");
    ada.run("DROP ROLE staff");
    assert_eq!(bob.run("SELECT 1"), "28000: role \"staff\" does not exist");
    assert_eq!(bob.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(bob.run("SELECT 1"), "1\nSELECT 1", "bob is left");
    ada.run("DROP ROLE bob");
    assert_eq!(bob.run("SELECT 1"), "28000: role \"bob\" does not exist");
    assert_eq!(bob.run("RESET ROLE"), "RESET");
    assert_eq!(bob.run("SELECT 1"), "28000: role \"bob\" does not exist");
}

fn detail(client: &mut Client, text: &str) -> Option<String> {
    client.query(text).expect_err("refused").detail.clone()
}

#[test]
fn errors_show_rows_to_roles_that_may_read_them() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE TABLE u (id int PRIMARY KEY REFERENCES t, v int NOT NULL CHECK (v > 0))");
    ada.run("INSERT INTO u VALUES (1, 1); GRANT INSERT, UPDATE, DELETE ON t, u TO bob");
    let all = "UPDATE u SET v = ";
    assert_eq!(detail(&mut bob, &format!("{all}0")), None);
    assert_eq!(detail(&mut bob, &format!("{all}NULL")), None);
    assert_eq!(detail(&mut bob, "INSERT INTO u VALUES (1, 1)"), None);
    let key = "Key is not present in table \"t\".";
    assert_eq!(detail(&mut bob, "INSERT INTO u VALUES (9, 1)").as_deref(), Some(key));
    let key = "Key is still referenced from table \"u\".";
    assert_eq!(detail(&mut bob, "DELETE FROM t").as_deref(), Some(key));
    ada.run("GRANT SELECT ON u TO bob");
    let row = "Failing row contains (1, 0).";
    assert_eq!(detail(&mut bob, &format!("{all}0")).as_deref(), Some(row));
    assert!(detail(&mut bob, "INSERT INTO u VALUES (9, 1)").is_some_and(|of| of.contains("(9)")));
}

/// The default of another table's column does not take its sequence.
#[test]
fn a_sequence_belongs_to_its_column_alone() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE TABLE a (id serial, v int); INSERT INTO a (v) VALUES (1), (2)");
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    bob.run("CREATE TABLE b (id int DEFAULT nextval('a_id_seq'))");
    let denied = "42501: permission denied for sequence a_id_seq";
    assert_eq!(bob.run("INSERT INTO b DEFAULT VALUES"), denied);
    assert_eq!(bob.run("SELECT setval('a_id_seq', 1)"), denied);
    assert_eq!(ada.run("INSERT INTO a (v) VALUES (3) RETURNING id"), "3\nINSERT 0 1");
    ada.run("CREATE TABLE x_y (z serial)");
    let refused = "42P07: relation \"x_y_z_seq\" already exists";
    assert_eq!(bob.run("CREATE TABLE x (y_z serial)"), refused);
    assert_eq!(bob.run("CREATE TABLE x (y_z int GENERATED ALWAYS AS IDENTITY)"), refused);
    ada.run("ALTER TABLE a ALTER COLUMN id SET DEFAULT nextval('a_id_seq')");
    assert_eq!(ada.run("INSERT INTO a (v) VALUES (4) RETURNING id"), "4\nINSERT 0 1");
}

#[test]
fn superusers_alone_change_the_log() {
    let (mut ada, mut bob, _) = with_roles();
    let refused = "42501: permission denied to set parameter \"log_min_duration_statement\"";
    for statement in ["SET log_min_duration_statement = -1", "RESET log_min_duration_statement"] {
        assert_eq!(bob.run(statement), refused, "{statement}");
    }
    assert_eq!(ada.run("SET log_min_duration_statement = 5"), "SET");
}

/// The rows that a new type gets satisfy the foreign keys of the table and to it.
#[test]
fn new_types_are_checked_by_foreign_keys() {
    let (mut ada, _, _) = with_roles();
    ada.run("CREATE TABLE u (id int CONSTRAINT k REFERENCES t); INSERT INTO u VALUES (1), (2)");
    let refused = "23503: insert or update on table \"u\" violates foreign key constraint \"k\"";
    for table in ["u", "t"] {
        let change = |using: &str| format!("ALTER TABLE {table} ALTER COLUMN id TYPE {using}");
        assert_eq!(ada.run(&change("int USING id + 5")), refused, "{table}");
        assert_eq!(ada.run(&change("bigint USING id + 5")), refused, "{table}");
        assert_eq!(ada.run("SELECT count(*) FROM t, u WHERE t.id = u.id"), "2\nSELECT 1");
        assert_eq!(ada.run(&change("int USING 3 - id")), "ALTER TABLE", "{table}");
        assert_eq!(ada.run(&change("bigint")), "ALTER TABLE", "{table}");
    }
    assert_eq!(ada.run("DELETE FROM t").get(..5), Some("23503"), "the key is still checked");
}
