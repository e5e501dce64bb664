//! Schemas: privileges, restarts, messages, plans. `schemas.sql` is compared with PostgreSQL.

use crate::support::{Client, connect, new_database, other_process, with_roles};
use fabric::run_now;
use sql_session::{LocalHost, SqlDatabase};
use txn::local::{OpenConfig, open};

#[test]
fn schemas_need_privileges() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE SCHEMA s; CREATE TABLE s.u (id serial PRIMARY KEY, v int)");
    ada.run("INSERT INTO s.u (v) VALUES (1); GRANT ALL ON ALL TABLES IN SCHEMA s TO bob");
    ada.run("CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    let denied = "42501: permission denied for schema s";
    for statement in ["SELECT v FROM s.u", "INSERT INTO s.u (v) VALUES (2)", "SELECT s.f()"] {
        assert_eq!(bob.run(statement), denied, "{statement}");
    }
    assert_eq!(bob.run("CREATE TABLE s.mine (id int)"), denied);
    assert_eq!(bob.run("CREATE SCHEMA mine"), "42501: permission denied for database ");
    // As in PostgreSQL, a schema without USAGE is passed over.
    bob.run("SET search_path = s");
    assert_eq!(bob.run("SELECT v FROM u"), "42P01: relation \"u\" does not exist");
    assert_eq!(bob.run("SELECT current_schema()"), "NULL\nSELECT 1");
    assert_eq!(ada.run("GRANT USAGE ON SCHEMA s TO bob"), "GRANT");
    assert_eq!(bob.run("SELECT v FROM u"), "1\nSELECT 1");
    assert_eq!(bob.run("SELECT s.f()"), "1\nSELECT 1");
    assert_eq!(
        bob.run("INSERT INTO u (v) VALUES (2)"),
        "42501: permission denied for sequence u_id_seq"
    );
    assert_eq!(ada.run("GRANT USAGE ON ALL SEQUENCES IN SCHEMA s TO bob"), "GRANT");
    assert_eq!(bob.run("INSERT INTO u (v) VALUES (2)"), "INSERT 0 1");
    assert_eq!(bob.run("CREATE TABLE mine (id int)"), denied);
    assert_eq!(bob.run("DROP TABLE u"), "42501: must be owner of table u");
    assert_eq!(bob.run("DROP SCHEMA s"), "42501: must be owner of schema s");
    assert_eq!(bob.run("ALTER SCHEMA s RENAME TO r"), "42501: must be owner of schema s");
    ada.run("GRANT CREATE ON SCHEMA s TO bob");
    assert_eq!(bob.run("CREATE TABLE mine (id int)"), "CREATE TABLE");
    assert_eq!(
        bob.run("ALTER TABLE mine SET SCHEMA public"),
        "42501: permission denied for schema public"
    );
    assert_eq!(ada.run("ALTER SCHEMA s OWNER TO bob"), "ALTER SCHEMA");
    assert_eq!(ada.run("DROP ROLE bob").get(..5), Some("2BP01"));
    assert_eq!(bob.run("ALTER SCHEMA s RENAME TO r"), "42501: permission denied for database ");
    assert_eq!(bob.run("DROP SCHEMA s CASCADE"), "DROP SCHEMA");
    assert_eq!(ada.run("CREATE SCHEMA AUTHORIZATION bob"), "CREATE SCHEMA");
    bob.run("RESET search_path");
    assert_eq!(bob.run("SELECT current_schema()"), "bob\nSELECT 1", "it is the user's own");
    assert_eq!(bob.run("CREATE TABLE t (id int)"), "CREATE TABLE");
    assert_eq!(bob.run("SELECT count(*) FROM t"), "0\nSELECT 1");
    assert_eq!(bob.run("SELECT count(*) FROM public.t"), "42501: permission denied for table t");
    ada.run("REVOKE USAGE ON SCHEMA public FROM PUBLIC");
    assert_eq!(bob.run("SELECT 1 FROM public.t"), "42501: permission denied for schema public");
}

#[test]
fn a_grant_on_a_schema_counts_for_prepared_statements() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE SCHEMA s; CREATE TABLE s.u (v int); INSERT INTO s.u VALUES (1)");
    ada.run("GRANT USAGE ON SCHEMA s TO bob; GRANT SELECT ON s.u TO bob");
    let prepared = run_now(bob.session.prepare("SELECT v FROM s.u", &[])).expect("it is fine");
    let mut run = || run_now(bob.session.execute(&prepared, &[])).map(drop);
    run().expect("bob may");
    ada.run("REVOKE USAGE ON SCHEMA s FROM bob");
    assert_eq!(run().expect_err("it is denied").message, "permission denied for schema s");
}

#[test]
fn messages_name_objects_as_postgresql_does() {
    let mut client = Client::of(&new_database());
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (id int PRIMARY KEY)");
    client.run("CREATE TABLE s.u (id int REFERENCES s.t); CREATE VIEW v AS SELECT id FROM s.t");
    let error = client.query("DROP TABLE s.t").expect_err("others depend on it");
    assert_eq!(error.message, "cannot drop table s.t because other objects depend on it");
    client.run("SET search_path = s, public");
    let error = client.query("DROP TABLE t").expect_err("others depend on it");
    assert_eq!(error.message, "cannot drop table t because other objects depend on it");
    client.run("INSERT INTO t VALUES (1)");
    let error = client.query("INSERT INTO s.t VALUES (1)").expect_err("it is there");
    assert_eq!(error.message, "duplicate key value violates unique constraint \"t_pkey\"");
    let of = [&error.schema, &error.table, &error.constraint];
    assert_eq!(of.map(Option::as_deref), [Some("s"), Some("t"), Some("t_pkey")]);
    let error = client.query("INSERT INTO u VALUES (7)").expect_err("it refers to nothing");
    let detail = "Key (id)=(7) is not present in table \"t\".";
    assert_eq!(error.detail.as_deref(), Some(detail));
    assert_eq!(error.constraint.as_deref(), Some("u_id_fkey"));
    client.run("CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    let prepared = run_now(client.session.prepare("SELECT s.f()", &[])).expect("it is fine");
    assert_eq!(prepared.columns().expect("it has rows")[0].name, "f");
    client.run("DROP FUNCTION s.f; RESET search_path");
    client.session.take_notices();
    assert_eq!(client.run("DROP SCHEMA s CASCADE"), "DROP SCHEMA");
    let notices = client.session.take_notices();
    assert_eq!(notices[0].message, "drop cascades to 3 other objects");
    let detail = "drop cascades to table s.t\ndrop cascades to table s.u\ndrop cascades to view v";
    assert_eq!(notices[0].detail.as_deref(), Some(detail));
    let refused = "CREATE TABLE \"\u{f8e0}16384\u{f8e1}t\" (id int)";
    assert_eq!(client.query(refused).expect_err("it looks like a full name").sqlstate, "42602");
}

#[test]
fn plans_follow_schemas_and_paths() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE SCHEMA s; CREATE TABLE t (v text); INSERT INTO t VALUES ('public')");
    client.run("SET search_path = s, public");
    let prepared = run_now(client.session.prepare("SELECT v FROM t", &[])).expect("it is fine");
    let run = |client: &mut Client| {
        let ran = run_now(client.session.execute(&prepared, &[])).expect("it is fine");
        match ran {
            sql_session::Outcome::Rows { rows, .. } => format!("{:?}", rows.iter().next()),
            other => format!("{other:?}"),
        }
    };
    assert!(run(&mut client).contains("public"));
    other.run("CREATE TABLE s.t (v text); INSERT INTO s.t VALUES ('of s')");
    assert!(run(&mut client).contains("of s"), "a table that is found first hides others");
    client.run("SET search_path = public");
    assert!(run(&mut client).contains("public"));
    client.run("BEGIN; SET LOCAL search_path = s");
    assert!(run(&mut client).contains("of s"));
    client.run("ROLLBACK");
    assert!(run(&mut client).contains("public"));
    other.run("ALTER SCHEMA s RENAME TO r");
    client.run("SET search_path = s, public");
    assert!(run(&mut client).contains("public"));
    client.run("SET search_path = r, public");
    assert!(run(&mut client).contains("of s"));
}

#[test]
fn a_path_of_a_transaction_does_not_show_conflicts() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (id int PRIMARY KEY, n int)");
    client.run("INSERT INTO s.t VALUES (1, 0)");
    client.run("BEGIN; SET LOCAL search_path = s");
    assert_eq!(client.run("SELECT n FROM t"), "0\nSELECT 1");
    assert_eq!(other.run("UPDATE s.t SET n = n + 1"), "UPDATE 1");
    assert_eq!(client.run("UPDATE t SET n = n + 1"), "UPDATE 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT n FROM s.t"), "2\nSELECT 1");
}

#[test]
fn another_start_finds_schemas_with_their_objects() {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let first = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&first);
    client.run("CREATE SCHEMA s; CREATE SCHEMA r; CREATE TABLE r.t (id int PRIMARY KEY, v text)");
    client.run("CREATE TABLE s.t (id serial PRIMARY KEY, r int REFERENCES r.t, CHECK (r < 9))");
    client.run("INSERT INTO r.t VALUES (1, 'one'); INSERT INTO s.t (r) VALUES (1), (1)");
    client.run("SET search_path = r");
    let function = "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS 'SELECT v FROM t'";
    assert_eq!(client.run(function), "CREATE FUNCTION");
    assert_eq!(
        client.run("CREATE VIEW w AS SELECT id FROM t WHERE id IN (SELECT id FROM t)"),
        "CREATE VIEW"
    );
    client.run("ALTER TABLE s.t SET SCHEMA public; ALTER SCHEMA r RENAME TO q");
    let second = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&second);
    assert_eq!(client.run("SELECT * FROM t ORDER BY id"), "1|1\n2|1\nSELECT 2");
    assert_eq!(client.run("SELECT q.f()"), "one\nSELECT 1");
    assert_eq!(client.run("SELECT * FROM q.w"), "1\nSELECT 1");
    assert_eq!(client.run("INSERT INTO t (r) VALUES (5)").get(..5), Some("23503"));
    assert_eq!(client.run("INSERT INTO t (r) VALUES (9)").get(..5), Some("23514"));
    assert_eq!(client.run("DROP SCHEMA q CASCADE; DROP SCHEMA s"), "DROP SCHEMA\nDROP SCHEMA");
    assert_eq!(client.run("INSERT INTO t (r) VALUES (5)"), "INSERT 0 1");
    let third = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    assert_eq!(Client::of(&third).run("SELECT count(*) FROM t"), "3\nSELECT 1");
    assert_eq!(Client::of(&third).run("SELECT * FROM q.w").get(..5), Some("42P01"));
}

#[test]
fn a_name_is_resolved_in_the_newest_catalog() {
    let first = new_database();
    let second = other_process(&first);
    Client::of(&first).run("CREATE SCHEMA s; CREATE TABLE s.t (id int)");
    let mut client = connect(&second, "ada");
    assert_eq!(client.run("ALTER TABLE s.t ADD COLUMN v int"), "ALTER TABLE");
    assert_eq!(client.run("DROP SCHEMA s CASCADE"), "DROP SCHEMA");
}
