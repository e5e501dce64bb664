//! Enumerated types: privileges, restarts, messages, plans. `enums.sql` is compared with
//! PostgreSQL.

use crate::support::{Client, new_database, with_roles};
use fabric::run_now;
use sql_session::{LocalHost, Outcome, SqlDatabase};
use sql_value::Value;
use txn::local::{OpenConfig, open};

#[test]
fn types_have_owners() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE TYPE mood AS ENUM ('sad', 'happy'); GRANT CREATE ON SCHEMA public TO bob");
    let denied = "42501: must be owner of type mood";
    for statement in [
        "ALTER TYPE mood ADD VALUE 'ok'",
        "ALTER TYPE mood RENAME VALUE 'sad' TO 'x'",
        "ALTER TYPE mood RENAME TO m",
        "ALTER TYPE mood OWNER TO bob",
        "ALTER TYPE mood SET SCHEMA public",
        "COMMENT ON TYPE mood IS 'x'",
        "DROP TYPE mood",
    ] {
        assert_eq!(bob.run(statement), denied, "{statement}");
    }
    let own = "CREATE TABLE mine (m mood, id int); INSERT INTO mine VALUES ('sad')";
    assert_eq!(bob.run(own), "CREATE TABLE\nINSERT 0 1");
    assert_eq!(ada.run("ALTER TYPE mood OWNER TO bob"), "ALTER TYPE");
    assert_eq!(ada.run("DROP ROLE bob").get(..5), Some("2BP01"));
    assert_eq!(bob.run("ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy'"), "ALTER TYPE");
    assert_eq!(bob.run("DROP TYPE mood CASCADE"), "DROP TYPE");
}

#[test]
fn messages_name_types_and_labels_as_postgresql_does() {
    let mut client = Client::of(&new_database());
    client.run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad'); CREATE TYPE \"M\" AS ENUM ()");
    client.run(
        "CREATE TABLE t (id int, m s.mood, n \"M\"); CREATE VIEW v AS SELECT 'sad'::s.mood AS m",
    );
    let mut message =
        |statement: &str| client.query(statement).expect_err(statement).message.clone();
    let invalid = "invalid input value for enum s.mood: \"x\"";
    assert_eq!(message("INSERT INTO t VALUES (1, 'x')"), invalid);
    assert_eq!(message("SELECT 'x'::text::s.mood"), invalid);
    assert_eq!(message("SELECT 'x'::\"M\""), "invalid input value for enum \"M\": \"x\"");
    let mistyped = "column \"m\" is of type s.mood but expression is of type integer";
    assert_eq!(message("INSERT INTO t VALUES (1, 1)"), mistyped);
    assert_eq!(message("SELECT m = n FROM t"), "operator does not exist: s.mood = \"M\"");
    assert_eq!(message("SELECT 1::s.mood"), "cannot cast type integer to s.mood");
    let refused = client.query("CREATE DOMAIN d AS int").expect_err("there are none");
    assert!(refused.sqlstate == "0A000" && refused.hint.is_some());
    let error = client.query("DROP TYPE s.mood").expect_err("others depend on it");
    assert_eq!(error.message, "cannot drop type s.mood because other objects depend on it");
    let detail = "column m of table t depends on type s.mood\nview v depends on type s.mood";
    assert_eq!(error.detail.as_deref(), Some(detail));
    client.session.take_notices();
    assert_eq!(client.run("DROP TYPE s.mood CASCADE"), "DROP TYPE");
    let notices = client.session.take_notices();
    assert_eq!(notices[0].message, "drop cascades to 2 other objects");
    assert_eq!(client.run("SELECT * FROM t"), "SELECT 0");
}

#[test]
fn labels_have_room_for_others() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TYPE n AS ENUM ('first', 'last'); CREATE TABLE t (v n PRIMARY KEY)");
    client.run("BEGIN");
    for number in 0..39 {
        let added = client.run(&format!("ALTER TYPE n ADD VALUE '{number}' BEFORE 'last'"));
        assert_eq!(added, "ALTER TYPE", "{number}");
        assert_eq!(client.run(&format!("INSERT INTO t VALUES ('{number}')")), "INSERT 0 1");
    }
    client.run("COMMIT");
    let numbers: Vec<String> = (0..39).map(|number| number.to_string()).collect();
    let all = format!("{}\nSELECT 39", numbers.join("\n"));
    assert_eq!(client.run("SELECT v FROM t ORDER BY v"), all);
    assert_eq!(client.run("ALTER TYPE n ADD VALUE 'full' BEFORE 'last'"), "ALTER TYPE");
    let refused = client.run("ALTER TYPE n ADD VALUE 'more' BEFORE 'last'");
    assert!(refused.starts_with("0A000: there is no room"), "{refused}");
    assert_eq!(client.run("ALTER TYPE n ADD VALUE 'more'"), "ALTER TYPE");
}

#[test]
fn definitions_keep_labels_with_new_names() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')");
    client.run("CREATE TABLE t (id int, m mood DEFAULT 'ok' CHECK (m <> 'sad'))");
    client.run("INSERT INTO t VALUES (1)");
    assert_eq!(client.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'"), "ALTER TYPE");
    assert_eq!(client.run("INSERT INTO t VALUES (2) RETURNING m"), "fine\nINSERT 0 1");
    assert_eq!(client.run("SELECT id FROM t WHERE m = 'ok'").get(..5), Some("22P02"));
    assert_eq!(client.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'"), "ALTER TYPE");
    assert_eq!(client.run("INSERT INTO t VALUES (3, 'blue')").get(..5), Some("23514"));
    // The default would mean the other label.
    assert_eq!(client.run("ALTER TYPE mood ADD VALUE 'ok'").get(..5), Some("0A000"));
    assert_eq!(client.run("ALTER TYPE mood RENAME VALUE 'fine' TO 'ok'"), "ALTER TYPE");
    assert_eq!(client.run("SELECT id, m FROM t ORDER BY id"), "1|ok\n2|ok\nSELECT 2");
    assert_eq!(client.run("CREATE VIEW v AS SELECT id FROM t WHERE m = 'ok'"), "CREATE VIEW");
    assert_eq!(client.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'x'").get(..5), Some("0A000"));
    client.run("CREATE VIEW w AS SELECT '{\"blue\", happy}'::mood[] AS a");
    for label in ["blue", "happy"] {
        let renamed = client.run(&format!("ALTER TYPE mood RENAME VALUE '{label}' TO 'x'"));
        assert_eq!(renamed.get(..5), Some("0A000"), "{label}");
    }
}

#[test]
fn statements_follow_labels() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE t (m mood PRIMARY KEY)");
    let text = "INSERT INTO t VALUES ($1) RETURNING m";
    let prepared = run_now(client.session.prepare(text, &[])).expect("it is fine");
    let mut run = |label: &str| {
        let parameters = [Value::text(label)];
        match run_now(client.session.execute(&prepared, &parameters)) {
            Ok(Outcome::Rows { rows, .. }) => rows.row(0)[0].clone(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Value::text(&error.sqlstate),
        }
    };
    assert_eq!(run("ok"), Value::text("22P02"));
    other.run("ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy'");
    assert_eq!(run("ok"), Value::text("ok"));
    other.run("ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'");
    assert_eq!(run("happy"), Value::text("22P02"));
    assert_eq!(run("glad"), Value::text("glad"));
    assert_eq!(other.run("SELECT m FROM t ORDER BY m"), "ok\nglad\nSELECT 2");
    let rows = "DECLARE c CURSOR FOR SELECT m FROM t ORDER BY m DESC";
    other.run(&format!("BEGIN; {rows}"));
    assert_eq!(other.run("FETCH 1 FROM c"), "glad\nFETCH 1");
    assert_eq!(other.run("FETCH 1 FROM c"), "ok\nFETCH 1");
}

#[test]
fn blocks_never_show_empty_texts_for_labels_that_others_have_added() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE l (id int, m text)");
    client.run("CREATE TABLE t (id int PRIMARY KEY, m mood, a mood[])");
    client.run("INSERT INTO t VALUES (1, 'sad', '{sad}')");
    assert_eq!(client.run("BEGIN; INSERT INTO l VALUES (0, 'a')"), "BEGIN\nINSERT 0 1");
    assert_eq!(other.run("ALTER TYPE mood ADD VALUE 'happy'"), "ALTER TYPE");
    assert_eq!(other.run("INSERT INTO t VALUES (2, 'happy', '{sad,happy}')"), "INSERT 0 1");
    let rows = "1|sad|{sad}\n2|happy|{sad,happy}\nSELECT 2";
    assert_eq!(client.run("SELECT * FROM t ORDER BY id"), rows);
    assert_eq!(client.run("SELECT max(m) FROM t"), "happy\nSELECT 1");
    for statement in [
        "INSERT INTO l SELECT id, m::text FROM t",
        "INSERT INTO l SELECT id, a::text FROM t",
        "INSERT INTO l SELECT id, concat(m, '') FROM t",
        "SELECT to_json(m) FROM t",
        "SELECT to_jsonb(a) FROM t",
        "SELECT row_to_json(t) FROM t",
        "SELECT json_agg(m) FROM t",
        "SELECT id FROM t WHERE m::text LIKE '%'",
    ] {
        client.run("SAVEPOINT s");
        let refused = client.query(statement).expect_err(statement);
        assert!(refused.sqlstate == "40001" && refused.hint.is_some(), "{statement}: {refused:?}");
        client.run("ROLLBACK TO s");
    }
    assert_eq!(client.run("COMMIT; SELECT id, m FROM l"), "COMMIT\n0|a\nSELECT 1");
    assert_eq!(client.run("SELECT m::text FROM t WHERE id = 2"), "happy\nSELECT 1");
}

#[test]
fn another_start_finds_types_with_their_rows() {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let engine = open(&config).expect("the memory is there");
    let first = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&first);
    client.run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'it''s', 'happy')");
    client.run("CREATE TABLE t (m s.mood PRIMARY KEY, n s.mood[] DEFAULT '{sad}')");
    client.run("INSERT INTO t VALUES ('happy'), ('it''s'), ('sad')");
    client.run("ALTER TYPE s.mood ADD VALUE 'ok' BEFORE 'happy'; INSERT INTO t VALUES ('ok')");
    client.run("ALTER TYPE s.mood SET SCHEMA public; ALTER TYPE mood RENAME TO feeling");
    client.run("CREATE TYPE gone AS ENUM ('a'); CREATE TABLE u (id int, g gone DEFAULT 'a')");
    assert_eq!(client.run("ALTER TABLE u DROP COLUMN g; DROP TYPE gone"), "ALTER TABLE\nDROP TYPE");
    let second = run_now(SqlDatabase::open(LocalHost::new(engine.for_thread()))).expect("it opens");
    let mut client = Client::of(&second);
    let rows = "sad|{sad}\nit's|{sad}\nok|{sad}\nhappy|{sad}\nSELECT 4";
    assert_eq!(client.run("SELECT * FROM t ORDER BY m"), rows);
    assert_eq!(client.run("SELECT m FROM t WHERE m = 'ok'::feeling"), "ok\nSELECT 1");
    assert_eq!(client.run("INSERT INTO t VALUES ('ok')").get(..5), Some("23505"));
    assert_eq!(client.run("SELECT 'a'::gone").get(..5), Some("42704"));
    assert_eq!(
        client.run("CREATE TYPE gone AS ENUM ('b'); SELECT 'b'::gone"),
        "CREATE TYPE\nb\nSELECT 1"
    );
}
