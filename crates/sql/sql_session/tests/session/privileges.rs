//! Privileges of roles for objects.

use crate::support::{Client, DENIED, connect, new_database, with_roles};
use fabric::run_now;

#[test]
fn statements_need_privileges() {
    let (mut ada, mut bob, _) = with_roles();
    let statements = [
        "SELECT * FROM t",
        "SELECT count(*) FROM t",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM t)",
        "WITH x AS (SELECT * FROM t) SELECT 1 FROM x",
        "INSERT INTO t VALUES (3, 30)",
        "UPDATE t SET v = 1",
        "DELETE FROM t",
        "TRUNCATE t",
        "EXPLAIN SELECT * FROM t",
        "TABLE t",
        "COPY t TO STDOUT",
        "COPY t FROM STDIN",
        "COPY (SELECT v FROM t) TO STDOUT",
        "BEGIN; LOCK TABLE t",
    ];
    for statement in statements {
        assert_eq!(bob.run(statement), DENIED, "{statement}");
        bob.run("ROLLBACK");
    }
    assert_eq!(ada.run("SELECT count(*) FROM t"), "2\nSELECT 1", "nothing has happened");
    ada.run("GRANT UPDATE, DELETE, INSERT ON t TO bob");
    assert_eq!(bob.run("UPDATE t SET v = 7"), "UPDATE 2");
    for reads in [
        "UPDATE t SET v = v + 1",
        "UPDATE t SET v = 1 WHERE id = 1",
        "UPDATE t SET v = 1 RETURNING v",
        "DELETE FROM t WHERE v = 7",
        "INSERT INTO t VALUES (4, 4) RETURNING id",
        "INSERT INTO t VALUES (1, 1) ON CONFLICT (id) DO NOTHING",
        "INSERT INTO t SELECT id + 10, v FROM t",
    ] {
        assert_eq!(bob.run(reads), DENIED, "{reads}");
    }
    assert_eq!(bob.run("INSERT INTO t VALUES (4, 4)"), "INSERT 0 1");
    assert_eq!(bob.run("DELETE FROM t"), "DELETE 3");
    ada.run("REVOKE ALL ON t FROM bob");
    assert_eq!(bob.run("DELETE FROM t"), DENIED);
    ada.run("GRANT SELECT ON t TO PUBLIC");
    assert_eq!(bob.run("SELECT * FROM t"), "SELECT 0");
    assert_eq!(bob.run("SELECT * FROM t FOR UPDATE"), DENIED);
}

#[test]
fn prepared_statements_follow_grants() {
    let (mut ada, mut bob, _) = with_roles();
    let prepared = run_now(bob.session.prepare("SELECT v FROM t WHERE id = 1", &[]));
    let prepared = prepared.expect("preparing needs no privilege");
    let run = |bob: &mut Client| run_now(bob.session.execute(&prepared, &[])).map(drop);
    let state = |ran: Result<(), sql_session::SqlError>| ran.expect_err("denied").message.clone();
    assert_eq!(state(run(&mut bob)), "permission denied for table t");
    ada.run("GRANT SELECT ON t TO staff; GRANT staff TO bob");
    run(&mut bob).expect("bob is a member of staff");
    ada.run("ALTER ROLE bob NOINHERIT");
    assert_eq!(state(run(&mut bob)), "permission denied for table t");
    assert_eq!(bob.run("SET ROLE staff"), "SET");
    run(&mut bob).expect("bob has taken the role");
    ada.run("REVOKE SELECT ON t FROM staff");
    assert_eq!(state(run(&mut bob)), "permission denied for table t");
    ada.run("GRANT SELECT ON t TO staff");
    run(&mut bob).expect("it is granted again");
    bob.run("RESET ROLE");
    assert_eq!(state(run(&mut bob)), "permission denied for table t");
}

#[test]
fn views_have_the_rights_of_their_owner() {
    let (mut ada, mut bob, mut eve) = with_roles();
    ada.run("CREATE VIEW few AS SELECT id FROM t WHERE id < 2; GRANT SELECT ON few TO bob");
    assert_eq!(bob.run("SELECT * FROM few"), "1\nSELECT 1");
    assert_eq!(bob.run("SELECT t.id FROM t"), DENIED);
    assert_eq!(eve.run("SELECT * FROM few"), "42501: permission denied for view few");
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    assert_eq!(bob.run("CREATE VIEW all_of_it AS SELECT * FROM t"), "CREATE VIEW");
    bob.run("GRANT SELECT ON all_of_it TO eve");
    assert_eq!(eve.run("SELECT * FROM all_of_it"), DENIED, "bob may not read the table");
    bob.run("CREATE VIEW again AS SELECT id + 1 AS next FROM few; GRANT SELECT ON again TO eve");
    assert_eq!(eve.run("SELECT * FROM again"), "2\nSELECT 1");
    ada.run("REVOKE SELECT ON few FROM bob");
    assert_eq!(eve.run("SELECT * FROM again"), "42501: permission denied for view few");
}

#[test]
fn routines_run_with_the_rights_of_the_caller() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run(
        "CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF true THEN RETURN \
         (SELECT sum(v) FROM t); END IF; END $$",
    );
    ada.run(
        "CREATE PROCEDURE put(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n, n); END \
         $$",
    );
    assert_eq!(ada.run("SELECT total()"), "30\nSELECT 1");
    assert_eq!(bob.run("SELECT total()"), DENIED);
    assert_eq!(bob.run("CALL put(5)"), DENIED);
    ada.run("GRANT SELECT ON t TO bob; GRANT INSERT ON t TO bob");
    assert_eq!(bob.run("SELECT total()"), "30\nSELECT 1");
    assert_eq!(bob.run("CALL put(5)"), "CALL");
    ada.run(
        "REVOKE EXECUTE ON FUNCTION total() FROM PUBLIC; REVOKE ALL ON PROCEDURE put FROM PUBLIC",
    );
    assert_eq!(bob.run("SELECT total()"), "42501: permission denied for function total");
    assert_eq!(bob.run("CALL put(6)"), "42501: permission denied for procedure put");
    ada.run(
        "CREATE OR REPLACE FUNCTION total() RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$",
    );
    let refused = bob.run("SELECT total()");
    assert_eq!(refused, "42501: permission denied for function total", "grants stay");
}

#[test]
fn only_owners_change_objects() {
    let (mut ada, mut bob, mut eve) = with_roles();
    assert_eq!(bob.run("CREATE TABLE u (a int)"), "42501: permission denied for schema public");
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    assert_eq!(bob.run("CREATE TABLE u (a int PRIMARY KEY, b serial)"), "CREATE TABLE");
    bob.run("CREATE VIEW w AS SELECT 1 AS one; CREATE SEQUENCE s");
    bob.run("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$");
    bob.run("CREATE INDEX i ON u (b)");
    for (statement, kind) in [
        ("DROP TABLE u", "table u"),
        ("ALTER TABLE u ADD COLUMN c int", "table u"),
        ("CREATE INDEX j ON u (b)", "table u"),
        ("ALTER TABLE u OWNER TO eve", "table u"),
        ("DROP VIEW w", "view w"),
        ("DROP SEQUENCE s", "sequence s"),
        ("DROP FUNCTION f", "function f"),
        ("DROP INDEX i", "index i"),
        ("ALTER INDEX i RENAME TO k", "index i"),
        ("COMMENT ON TABLE u IS 'mine'", "table u"),
        ("COMMENT ON COLUMN u.b IS 'mine'", "table u"),
        ("COMMENT ON VIEW w IS 'mine'", "view w"),
        ("COMMENT ON SEQUENCE s IS 'mine'", "sequence s"),
        ("COMMENT ON FUNCTION f() IS 'mine'", "function f"),
        ("COMMENT ON INDEX i IS 'mine'", "index i"),
    ] {
        assert_eq!(eve.run(statement), format!("42501: must be owner of {kind}"), "{statement}");
    }
    assert_eq!(bob.run("ALTER TABLE u ADD COLUMN c int"), "ALTER TABLE");
    let refused = "42501: must be member of role \"eve\"";
    assert_eq!(bob.run("ALTER TABLE u OWNER TO eve"), refused);
    assert_eq!(ada.run("ALTER TABLE u OWNER TO eve"), "ALTER TABLE");
    assert_eq!(bob.run("SELECT * FROM u"), "42501: permission denied for table u");
    assert_eq!(eve.run("INSERT INTO u (a) VALUES (1) RETURNING b"), "1\nINSERT 0 1");
    let refused = "2BP01: role \"eve\" cannot be dropped because some objects depend on it";
    assert_eq!(ada.run("DROP ROLE eve"), refused);
    let reference = "CREATE TABLE r (a int REFERENCES t)";
    assert_eq!(bob.run(reference), DENIED);
    ada.run("GRANT REFERENCES ON t TO bob");
    assert_eq!(bob.run(reference), "CREATE TABLE");
    assert_eq!(bob.run("INSERT INTO r VALUES (1)"), "INSERT 0 1", "checks need no privilege");
    assert_eq!(eve.run("DROP TABLE u"), "DROP TABLE");
    ada.run("REVOKE ALL ON SCHEMA public FROM eve");
    assert_eq!(ada.run("DROP ROLE eve"), "DROP ROLE", "its grants are gone with the table");
}

#[test]
fn sequences_need_privileges() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE SEQUENCE s; CREATE TABLE n (a serial, b int); GRANT INSERT ON n TO bob");
    ada.run(
        "CREATE TABLE g (a int GENERATED BY DEFAULT AS IDENTITY, b int); GRANT INSERT ON g TO bob",
    );
    let denied = "42501: permission denied for sequence s";
    assert_eq!(bob.run("SELECT nextval('s')"), denied);
    assert_eq!(bob.run("SELECT setval('s', 5)"), denied);
    let serial = "42501: permission denied for sequence n_a_seq";
    assert_eq!(bob.run("INSERT INTO n (b) VALUES (1)"), serial);
    assert_eq!(bob.run("INSERT INTO g (b) VALUES (1)"), "INSERT 0 1");
    ada.run("GRANT USAGE ON SEQUENCE s, n_a_seq TO bob");
    assert_eq!(bob.run("SELECT nextval('s')"), "1\nSELECT 1");
    assert_eq!(bob.run("SELECT setval('s', 5)"), denied);
    assert_eq!(bob.run("INSERT INTO n (b) VALUES (1)"), "INSERT 0 1");
}

#[test]
fn grants_are_passed_on_and_taken_back() {
    let (mut ada, mut bob, mut eve) = with_roles();
    ada.run("GRANT SELECT, INSERT ON t TO bob WITH GRANT OPTION");
    assert_eq!(bob.run("GRANT SELECT ON t TO eve"), "GRANT");
    assert_eq!(eve.run("SELECT count(*) FROM t"), "2\nSELECT 1");
    assert_eq!(eve.run("GRANT SELECT ON t TO staff"), "GRANT", "with a warning only");
    let warning = eve.session.take_notices();
    assert_eq!(warning[0].message, "no privileges were granted for \"t\"");
    assert_eq!(bob.run("GRANT SELECT, DELETE ON t TO eve"), "GRANT");
    let warning = bob.session.take_notices();
    assert_eq!(warning[0].message, "not all privileges were granted for \"t\"");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob"), "2BP01: dependent privileges exist");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob CASCADE"), "REVOKE");
    assert_eq!(eve.run("SELECT count(*) FROM t"), DENIED);
    assert_eq!(eve.run("GRANT SELECT ON t TO bob"), DENIED);
    let refused = "0LP01: grant options can only be granted to roles";
    assert_eq!(ada.run("GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION"), refused);
    let refused = "0LP01: invalid privilege type EXECUTE for relation";
    assert_eq!(ada.run("GRANT EXECUTE ON t TO bob"), refused);
    assert_eq!(ada.run("GRANT SELECT ON nothing TO bob").get(..5), Some("42P01"));
    assert_eq!(ada.run("GRANT SELECT ON t TO nobody"), "42704: role \"nobody\" does not exist");
    assert_eq!(ada.run("BEGIN; GRANT SELECT ON t TO eve"), "BEGIN\nGRANT");
    assert_eq!(eve.run("SELECT count(*) FROM t"), DENIED, "not before the commit");
    ada.run("COMMIT");
    assert_eq!(eve.run("SELECT count(*) FROM t"), "2\nSELECT 1");
}

/// The number of a dropped role may be that of a new one.
#[test]
fn a_session_of_a_dropped_role_has_no_rights() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE TABLE t (a int); CREATE ROLE bob LOGIN SUPERUSER");
    let mut bob = connect(&database, "bob");
    assert_eq!(bob.run("SELECT * FROM t"), "SELECT 0");
    ada.run("DROP ROLE bob; CREATE ROLE bob LOGIN SUPERUSER");
    let gone = "28000: role \"bob\" does not exist";
    assert_eq!(bob.run("SELECT * FROM t"), gone);
    assert_eq!(bob.run("SELECT 1"), gone, "not even statements without a table");
    assert_eq!(bob.run("ALTER ROLE bob PASSWORD 'x'"), gone);
    assert_eq!(bob.session.current_role(), -1, "catalog queries see no role");
    assert_eq!(connect(&database, "bob").run("SELECT * FROM t"), "SELECT 0");
}

/// As the extended protocol may send them.
#[test]
fn a_prepared_statement_is_one_statement() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    bob.run("CREATE TABLE mine (a int)");
    let refused = "cannot insert multiple commands into a prepared statement";
    for text in [
        "ALTER TABLE mine ADD x int; ALTER TABLE t DROP COLUMN v",
        "CREATE TABLE u (a int); ALTER TABLE t DROP COLUMN v",
        "CREATE INDEX i ON mine (a); ALTER TABLE t DROP COLUMN v",
        "CREATE VIEW w AS SELECT 1; SELECT 2",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$; DROP TABLE t",
        "ALTER TABLE mine ADD BEGIN ATOMIC int; ALTER TABLE t DROP COLUMN v",
        "SELECT 1; SELECT 2",
        "VACUUM; SELECT 2",
    ] {
        let error = bob.statement(text, &[], &[]).expect_err("refused");
        assert_eq!((&*error.sqlstate, &*error.message), ("42601", refused), "{text}");
    }
    assert_eq!(ada.run("SELECT v FROM t WHERE id = 1"), "10\nSELECT 1");
    assert_eq!(
        bob.statement("ALTER TABLE mine ADD x int;;", &[], &[]).expect("one"),
        "ALTER TABLE"
    );
}

#[test]
fn new_types_read_the_table_only() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("GRANT CREATE ON SCHEMA public TO bob");
    bob.run("CREATE TABLE mine (a int, b int); INSERT INTO mine VALUES (1, 2), (3, 4)");
    let mut change = |using: &str| {
        bob.run(&format!("ALTER TABLE mine ALTER COLUMN a TYPE bigint USING {using}"))
    };
    let subquery = "0A000: cannot use subquery in transform expression";
    assert_eq!(change("(SELECT sum(v) FROM t)"), subquery);
    assert_eq!(change("a + (SELECT max(v) FROM t)"), subquery);
    assert_eq!(change("SELECT max(v) FROM t"), subquery);
    for using in [
        "v FROM t UNION ALL SELECT a",
        "v FROM t --",
        "v), 1 FROM t --",
        "1), (2) FROM t UNION ALL SELECT (a",
        "1) FROM t UNION ALL SELECT (a",
        "a) FROM mine WHERE (a > 1) --",
    ] {
        assert_eq!(change(using).get(..5), Some("42601"), "{using}");
    }
    assert_eq!(change("count(*)").get(..5), Some("42803"));
    assert_eq!(change("a + b * 10 -- as it was"), "ALTER TABLE");
    assert_eq!(bob.run("SELECT a FROM mine ORDER BY a"), "21\n43\nSELECT 2");
    bob.run("REVOKE SELECT ON mine FROM bob");
    let refused = "42501: permission denied for table mine";
    assert_eq!(bob.run("ALTER TABLE mine ALTER COLUMN a TYPE int USING b"), refused);
}

/// Functions of `FROM` name columns at the level of their query.
#[test]
fn arguments_of_series_are_reads() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("GRANT UPDATE, INSERT, DELETE ON t TO bob");
    for reads in [
        "UPDATE t SET v = 1 RETURNING (SELECT count(*) FROM generate_series(1, t.v) g)",
        "UPDATE t SET v = (SELECT count(*) FROM unnest(ARRAY[t.v, 1]) g)",
        "DELETE FROM t RETURNING (SELECT sum(g) FROM generate_series(1, v) g)",
        "INSERT INTO t VALUES (9, 9) RETURNING (SELECT count(*) FROM generate_series(1, t.v) g)",
    ] {
        assert_eq!(bob.run(reads), DENIED, "{reads}");
    }
    let own = "UPDATE t SET v = (SELECT count(*) FROM generate_series(1, 3) g)";
    assert_eq!(bob.run(own), "UPDATE 2");
    let view = "CREATE VIEW w AS SELECT (SELECT count(*) FROM generate_series(1, t.v) g) FROM t";
    assert_eq!(ada.run(view), "CREATE VIEW");
    let needed = ada.run("ALTER TABLE t DROP COLUMN v");
    assert_eq!(needed.get(..5), Some("2BP01"), "{needed}");
}

/// A role that comes back is the one that was there, and not the one that has its name by now.
#[test]
fn roles_that_come_back_are_the_same() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE ROLE other; GRANT SELECT ON t TO other; GRANT staff TO bob");
    bob.run("SET ROLE staff");
    bob.run("BEGIN; SET ROLE NONE");
    ada.run("ALTER ROLE staff RENAME TO old; ALTER ROLE other RENAME TO staff");
    bob.run("ROLLBACK");
    assert_eq!(bob.run("SELECT * FROM t"), DENIED);
    bob.run("RESET ROLE");
    bob.run("BEGIN; SET LOCAL ROLE old; COMMIT");
    assert_eq!(bob.session.current_user(), "bob");
    ada.run("SET ROLE old");
    ada.run("BEGIN; SET ROLE NONE");
    bob.run("SELECT 1");
    let mut eve = Client::of(ada.session.database());
    assert_eq!(eve.run("DROP ROLE old"), "DROP ROLE");
    ada.run("ROLLBACK");
    let gone = "28000: role \"old\" does not exist";
    assert_eq!(ada.run("SELECT * FROM t"), gone, "not with the rights of the superuser");
    assert_eq!(ada.run("RESET ROLE; SELECT count(*) FROM t"), "RESET\n2\nSELECT 1");
}

#[test]
fn savepoints_keep_roles() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("GRANT SELECT ON t TO staff; GRANT staff TO bob; ALTER ROLE bob NOINHERIT");
    bob.run("BEGIN; SAVEPOINT a; SET ROLE staff; SET work_mem = '1MB'");
    assert_eq!(bob.run("SELECT count(*) FROM t"), "2\nSELECT 1");
    assert_eq!(bob.run("ROLLBACK TO a; SHOW work_mem"), "ROLLBACK\n256MB\nSHOW");
    assert_eq!(bob.session.current_user(), "bob");
    assert_eq!(bob.run("SELECT count(*) FROM t"), DENIED);
    bob.run("ROLLBACK TO a; SET LOCAL ROLE staff; SAVEPOINT b; SET ROLE NONE");
    assert_eq!(bob.session.current_user(), "bob");
    bob.run("ROLLBACK TO b");
    assert_eq!(bob.run("SELECT count(*) FROM t"), "2\nSELECT 1");
    bob.run("COMMIT");
    assert_eq!(bob.session.current_user(), "bob");
}

#[test]
fn grants_in_circles_are_refused() {
    let (mut ada, mut bob, mut eve) = with_roles();
    ada.run("GRANT SELECT ON t TO bob WITH GRANT OPTION");
    let refused = "0LP01: grant options cannot be granted back to your own grantor";
    assert_eq!(bob.run("GRANT SELECT ON t TO bob WITH GRANT OPTION"), refused);
    assert_eq!(bob.run("GRANT SELECT ON t TO eve WITH GRANT OPTION"), "GRANT");
    assert_eq!(eve.run("GRANT SELECT ON t TO bob WITH GRANT OPTION"), refused);
    assert_eq!(eve.run("GRANT SELECT ON t TO bob"), "GRANT", "without options it is no circle");
    assert_eq!(eve.run("GRANT SELECT ON t TO ada WITH GRANT OPTION"), "GRANT");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob"), "2BP01: dependent privileges exist");
    assert_eq!(ada.run("REVOKE SELECT ON t FROM bob CASCADE"), "REVOKE");
    assert_eq!((bob.run("SELECT * FROM t"), eve.run("SELECT * FROM t")), twice(DENIED));
    // Options of two roles: the grants are of the role that has more of them.
    ada.run("GRANT staff TO bob; GRANT SELECT ON t TO bob WITH GRANT OPTION");
    ada.run("GRANT INSERT, DELETE ON t TO staff WITH GRANT OPTION");
    assert_eq!(bob.run("GRANT SELECT, INSERT, DELETE ON t TO eve"), "GRANT");
    let warning = bob.session.take_notices();
    assert_eq!(warning[0].message, "not all privileges were granted for \"t\"");
    assert_eq!(eve.run("INSERT INTO t VALUES (7, 7)"), "INSERT 0 1");
    ada.run("REVOKE ALL ON t FROM staff CASCADE");
    assert_eq!(eve.run("INSERT INTO t VALUES (8, 8)"), DENIED);
}

fn twice(text: &str) -> (String, String) {
    (text.to_owned(), text.to_owned())
}
