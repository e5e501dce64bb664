//! Changes of the catalog by sessions.

use crate::support::{Client, new_database};
use fabric::run_now;
use layout::{Column, ColumnType, PhysicalDesign, Schema};
use sql_session::{Host, LocalHost, SqlDatabase};
use txn::TableSpec;
use txn::local::{OpenConfig, open};

#[test]
fn tables_are_created_and_dropped() {
    let mut client = Client::of(&new_database());
    assert_eq!(client.run("CREATE TABLE t (a int) WITH (fillfactor=100)"), "CREATE TABLE");
    assert_eq!(client.run("CREATE TABLE t (a int)"), "42P07: relation \"t\" already exists");
    assert_eq!(client.run("CREATE TABLE IF NOT EXISTS t (b int)"), "CREATE TABLE");
    assert_eq!(client.session.take_notices().len(), 1);
    assert_eq!(client.run("INSERT INTO t VALUES (1), (1)"), "INSERT 0 2");
    assert_eq!(client.run("DROP TABLE t"), "DROP TABLE");
    assert_eq!(client.run("SELECT * FROM t"), "42P01: relation \"t\" does not exist");
    assert_eq!(client.run("DROP TABLE t"), "42P01: table \"t\" does not exist");
    assert_eq!(client.run("DROP TABLE IF EXISTS t"), "DROP TABLE");
    assert_eq!(client.run("CREATE TABLE t (b text)"), "CREATE TABLE");
    let long = "x".repeat(5000);
    client.run(&format!("INSERT INTO t VALUES ('{long}'), ('short'), (NULL)"));
    assert_eq!(client.run("SELECT length(b) FROM t ORDER BY 1"), "5\n5000\nNULL\nSELECT 3");
}

#[test]
fn keys_and_constraints_are_added_to_tables_with_rows() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int, b int)");
    client.run("INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 1000) n");
    assert_eq!(client.run("ALTER TABLE t ADD PRIMARY KEY (a)"), "ALTER TABLE");
    assert_eq!(client.run("SELECT b FROM t WHERE a = 77"), "7\nSELECT 1");
    let refused = "23505: duplicate key value violates unique constraint \"t_pkey\"";
    assert_eq!(client.run("INSERT INTO t VALUES (5, 5)"), refused);
    let twice = "42P16: multiple primary keys for table \"t\" are not allowed";
    assert_eq!(client.run("ALTER TABLE t ADD PRIMARY KEY (b)"), twice);
    let refused = "23505: could not create unique index \"t_b_key\"";
    assert_eq!(client.run("ALTER TABLE t ADD UNIQUE (b)"), refused);
    assert_eq!(client.run("CREATE INDEX ON t (b)"), "CREATE INDEX");
    assert_eq!(client.run("SELECT count(*) FROM t WHERE b = 3"), "100\nSELECT 1");
    assert_eq!(client.run("DROP INDEX t_b_idx"), "DROP INDEX");
    let refused = "23514: check constraint \"t_b_check\" of relation \"t\" is violated by some row";
    assert_eq!(client.run("ALTER TABLE t ADD CHECK (b < 5)"), refused);
    assert_eq!(client.run("ALTER TABLE t ADD CHECK (b < 10)"), "ALTER TABLE");
    let refused = "23514: new row for relation \"t\" violates check constraint \"t_b_check\"";
    assert_eq!(client.run("INSERT INTO t VALUES (-1, 10)"), refused);
    client.run("CREATE TABLE u (a int)");
    client.run("INSERT INTO u VALUES (1), (5000), (NULL)");
    let refused =
        "23503: insert or update on table \"u\" violates foreign key constraint \"u_a_fkey\"";
    assert_eq!(client.run("ALTER TABLE u ADD FOREIGN KEY (a) REFERENCES t"), refused);
    client.run("DELETE FROM u WHERE a = 5000");
    assert_eq!(client.run("ALTER TABLE u ADD FOREIGN KEY (a) REFERENCES t"), "ALTER TABLE");
    assert_eq!(client.run("INSERT INTO u VALUES (5000)"), refused);
    let refused = "2BP01: cannot drop table t because other objects depend on it";
    assert_eq!(client.run("DROP TABLE t"), refused);
    assert_eq!(client.run("DROP TABLE t, u"), "DROP TABLE");
}

#[test]
fn a_key_is_not_added_to_rows_that_refuse_it() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int, b int)");
    client.run("INSERT INTO t VALUES (1, 1), (1, 2), (NULL, 3)");
    let refused = "23502: column \"a\" of relation \"t\" contains null values";
    assert_eq!(client.run("ALTER TABLE t ADD PRIMARY KEY (a)"), refused);
    client.run("UPDATE t SET a = 7 WHERE a IS NULL");
    let refused = "23505: could not create unique index \"t_pkey\"";
    assert_eq!(client.run("ALTER TABLE t ADD PRIMARY KEY (a)"), refused);
    assert_eq!(client.run("SELECT b FROM t ORDER BY b"), "1\n2\n3\nSELECT 3");
    let host = client.session.database().host().clone();
    let tables = run_now(host.handle().memory_usage()).expect("it answers");
    let of_t = tables.iter().filter(|table| table.name.starts_with("t.")).count();
    assert_eq!(of_t, 1, "refused storage is dropped");
}

#[test]
fn changes_take_effect_with_their_transaction() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (a int)");
    client.run("INSERT INTO t VALUES (1), (2)");
    let text = "BEGIN; CREATE TABLE u (a int); TRUNCATE t; INSERT INTO t VALUES (7); INSERT INTO u VALUES (8)";
    assert!(client.run(text).ends_with("INSERT 0 1"));
    assert_eq!(client.run("SELECT * FROM t"), "7\nSELECT 1");
    assert_eq!(other.run("SELECT * FROM t ORDER BY a"), "1\n2\nSELECT 2");
    assert_eq!(other.run("SELECT * FROM u"), "42P01: relation \"u\" does not exist");
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1\n2\nSELECT 2");
    assert_eq!(client.run("SELECT * FROM u"), "42P01: relation \"u\" does not exist");
    client.run(text);
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT t.a, u.a FROM t, u"), "7|8\nSELECT 1");
    let host = client.session.database().host().clone();
    let tables = run_now(host.handle().memory_usage()).expect("it answers");
    let of_t = tables.iter().filter(|table| table.name.starts_with("t.")).count();
    assert_eq!(of_t, 1, "replaced storage is dropped");
}

/// A column of earlier versions had a byte for each character.
#[test]
fn tables_of_another_row_layout_are_refused() {
    let config = OpenConfig { server_bytes: 128 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let reopened = || run_now(SqlDatabase::open(LocalHost::new(engine.for_thread())));
    let database = reopened().expect("it is empty");
    Client::of(&database).run("CREATE TABLE t (id int PRIMARY KEY, v varchar(16))");
    assert!(reopened().is_ok());
    let tables = run_now(engine.memory_usage()).expect("it answers");
    let stored = tables.iter().find(|table| table.name.starts_with("t.")).expect("it is there");
    run_now(engine.drop_table(&stored.name)).expect("nobody uses it");
    let columns =
        vec![Column::new("id", ColumnType::Int4), Column::nullable("v", ColumnType::Varchar(16))];
    let schema = Schema::new(&stored.name, columns, &[0]).expect("the columns are fine");
    let (design, indexes) = (PhysicalDesign::default(), Vec::new());
    run_now(engine.create_table(TableSpec { schema, design, indexes })).expect("there is room");
    let error = reopened().err().expect("the table has another layout");
    assert_eq!(error.message, "table \"t\" was stored by a version with another row layout");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.starts_with("Dump the database")));
}

#[test]
fn storage_of_a_crashed_transaction_is_dropped() {
    let config = OpenConfig { server_bytes: 128 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let of_sql = |name: &str| {
        let tables = run_now(engine.memory_usage()).expect("it answers");
        tables.iter().filter(|table| table.name.starts_with(name)).count()
    };
    let first = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&first);
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
    client.run("BEGIN; TRUNCATE t; CREATE TABLE u (a int)");
    let inserted = client.run("INSERT INTO t SELECT a FROM generate_series(1, 70000) AS a");
    assert_eq!(inserted, "INSERT 0 70000");
    assert_eq!((of_sql("t."), of_sql("u.")), (2, 1));
    // Its process ends here.
    std::mem::forget(client);
    let second = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    assert_eq!(run_now(second.drop_abandoned()).expect("nobody uses them"), 2);
    assert_eq!((of_sql("t."), of_sql("u.")), (1, 0));
    assert_eq!(Client::of(&second).run("SELECT * FROM t"), "7\nSELECT 1");
}

#[test]
fn comments_stay_and_go_with_what_they_are_about() {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let first = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&first);
    client.run("CREATE TABLE t (a int, b int); CREATE TABLE u (a int); CREATE INDEX i ON t (b)");
    client.run("CREATE SEQUENCE s; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    for statement in [
        "COMMENT ON TABLE public.t IS 'it''s a table'",
        "COMMENT ON COLUMN t.b IS 'of t'",
        "COMMENT ON INDEX i IS 'by b'",
        "COMMENT ON SEQUENCE s IS 'counts'",
        "COMMENT ON FUNCTION f() IS 'one'",
        "COMMENT ON TABLE u IS 'of u'",
    ] {
        assert_eq!(client.run(statement), "COMMENT", "{statement}");
    }
    client.run("BEGIN; COMMENT ON TABLE u IS 'undone'; ROLLBACK");
    client.run("ALTER TABLE t DROP COLUMN a; ALTER TABLE t RENAME TO v");
    client.run("ALTER INDEX i RENAME TO j; DROP SEQUENCE s");
    client.run("CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'");
    let second = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&second);
    let texts = |client: &Client| {
        let mut texts: Vec<String> =
            client.session.comments().into_iter().map(|(_, _, text)| text).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(&client), ["by b", "it's a table", "of t", "of u", "one"]);
    client.run("DROP INDEX j; DROP FUNCTION f; DROP TABLE v");
    assert_eq!(texts(&client), ["of u"]);
    assert_eq!(client.run("COMMENT ON TABLE u IS NULL"), "COMMENT");
    assert_eq!(texts(&client), [""; 0]);
    assert_eq!(client.run("COMMENT ON TABLE t IS 'x'"), "42P01: relation \"t\" does not exist");
    let refused = "0A000: COMMENT ON DATABASE is not supported";
    assert_eq!(client.run("COMMENT ON DATABASE postgres IS 'x'"), refused);
}

#[test]
fn another_start_finds_the_catalog() {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let first = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&first);
    client.run("CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT NULL -- a comment\n)");
    client.run("CREATE INDEX ON account (id, id)");
    client.run("INSERT INTO account VALUES (1, 'ada')");
    let second = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&second);
    assert_eq!(client.run("SELECT * FROM account"), "1|ada\nSELECT 1");
    assert_eq!(client.run("CREATE TABLE later (a int)"), "CREATE TABLE");
    // The first one looks when it changes the catalog itself.
    let mut client = Client::of(&first);
    assert_eq!(client.run("DROP TABLE later"), "DROP TABLE");
    run_now(second.refresh()).expect("it reads");
    let mut client = Client::of(&second);
    assert_eq!(client.run("SELECT * FROM later"), "42P01: relation \"later\" does not exist");
}

#[test]
fn prepared_statements_follow_the_catalog() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int)");
    client.run("INSERT INTO t VALUES (1)");
    let prepared = run_now(client.session.prepare("SELECT * FROM t", &[])).expect("it is fine");
    client.run("CREATE INDEX ON t (a)");
    let outcome = run_now(client.session.execute(&prepared, &[])).expect("it is planned again");
    assert!(format!("{outcome:?}").contains("SELECT 1"));
    client.run("DROP TABLE t; CREATE TABLE t (a bigint)");
    let refused = run_now(client.session.execute(&prepared, &[])).expect_err("the type differs");
    assert_eq!(refused.message, "cached plan must not change result type");
}

#[test]
fn a_server_reads_the_catalog() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a serial PRIMARY KEY, b text); CREATE INDEX by_b ON t (a, a)");
    client.run("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$");
    let catalog = client.session.database().catalog();
    let tables: Vec<_> = catalog.tables().map(|one| (one.oid, &*one.table.name)).collect();
    assert_eq!(tables, [(16_384, "t")]);
    assert!(catalog.index_oid("by_b").is_some());
    assert_eq!(catalog.routines().count(), 1);
    assert_eq!(catalog.sequences().collect::<Vec<_>>(), [("t_a_seq", Some((16_384, 1)))]);
    client.run("BEGIN; CREATE TABLE u (a int)");
    assert_eq!(client.session.catalog().tables().count(), 2);
    assert_eq!(client.session.database().catalog().tables().count(), 1);
}
