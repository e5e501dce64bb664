//! SQL sessions over a database with a directory.

use fabric::run_now;
use namdb::sql::{SessionOptions, SqlDatabase, SqlError};
use namdb::{Config, Db};
use sql_session::Outcome;

fn run(sql: &SqlDatabase<Db>, texts: &[&str]) -> Result<Outcome, SqlError> {
    let mut session = sql.session(SessionOptions::default());
    let mut last = Outcome::Empty;
    for text in texts {
        let statement = run_now(session.prepare(text, &[]))?;
        last = run_now(session.execute(&statement, &[]))?;
    }
    Ok(last)
}

#[test]
fn another_start_finds_tables_and_rows() {
    let path = std::env::temp_dir().join(format!("namdb-sql-{}", std::process::id()));
    let config =
        Config { server_bytes: 64 << 20, directory: Some(path.clone()), ..Config::default() };
    let db = namdb::open(config.clone()).expect("it is a new directory");
    let sql = db.sql().expect("it has no tables");
    let texts = [
        "CREATE TABLE city (name text, inhabitants int)",
        "INSERT INTO city VALUES ('Ghent', 265000), ('Liege', 195000)",
        "BEGIN",
        "TRUNCATE city",
        "INSERT INTO city VALUES ('Ghent', 265001)",
        "COMMIT",
        "ALTER TABLE city ADD PRIMARY KEY (inhabitants)",
        "CREATE INDEX city_name ON city (inhabitants, inhabitants)",
    ];
    run(&sql, &texts).expect("the statements are fine");
    drop((sql, db));
    let db = namdb::open(config).expect("it is there");
    let sql = db.sql().expect("the catalog is there");
    let found = run(&sql, &["SELECT name FROM city WHERE inhabitants = 265001"]);
    let Ok(Outcome::Rows { rows, .. }) = found else { panic!("{found:?}") };
    assert_eq!(rows.row(0)[0].as_text(), Some("Ghent"));
    drop((sql, db));
    std::fs::remove_dir_all(path).expect("it is ours");
}

#[test]
fn another_start_finds_long_keys() {
    let path = std::env::temp_dir().join(format!("namdb-sql-keys-{}", std::process::id()));
    let config =
        Config { server_bytes: 64 << 20, directory: Some(path.clone()), ..Config::default() };
    let db = namdb::open(config.clone()).expect("it is a new directory");
    let sql = db.sql().expect("it has no tables");
    let texts = [
        "CREATE TABLE page (path varchar(300) PRIMARY KEY, title text UNIQUE, n int)",
        "INSERT INTO page SELECT repeat('p', 200) || g, repeat('t', 500) || g, g FROM generate_series(1, 50) g",
        "UPDATE page SET path = path || '.', title = title || '.' WHERE n = 7",
        "DELETE FROM page WHERE path = repeat('p', 200) || 8",
    ];
    run(&sql, &texts).expect("the statements are fine");
    drop((sql, db));
    let db = namdb::open(config).expect("it is there");
    let sql = db.sql().expect("the catalog is there");
    for text in [
        "SELECT n FROM page WHERE path = repeat('p', 200) || '7.'",
        "SELECT n FROM page WHERE title = repeat('t', 500) || '7.'",
        "SELECT n FROM page WHERE path > repeat('p', 200) || '6' ORDER BY path LIMIT 1",
    ] {
        let found = run(&sql, &[text]);
        let Ok(Outcome::Rows { rows, .. }) = found else { panic!("{found:?}") };
        assert_eq!(rows.row(0)[0].as_int(), Some(7), "{text}");
    }
    let twice = "INSERT INTO page VALUES (repeat('p', 200) || '9', NULL, 0)";
    assert_eq!(run(&sql, &[twice]).expect_err("it is there").sqlstate, "23505");
    run(&sql, &["INSERT INTO page VALUES (repeat('p', 200) || '8', NULL, 0)"]).expect("it is gone");
    drop((sql, db));
    std::fs::remove_dir_all(path).expect("it is ours");
}

#[test]
fn open_transactions_hold_lanes_and_others_wait_for_one() {
    let config = Config { server_bytes: 64 << 20, lanes: 2, ..Config::default() };
    let db = namdb::open(config).expect("the memory is there");
    let sql = db.sql().expect("it opens");
    run(&sql, &["CREATE TABLE t (a int)"]).expect("it is new");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut session = sql.session(SessionOptions::default());
        for text in ["BEGIN ISOLATION LEVEL REPEATABLE READ", "INSERT INTO t VALUES (1)"] {
            let statement = run_now(session.prepare(text, &[])).expect("it is fine");
            run_now(session.execute(&statement, &[])).expect("a lane is free");
        }
        open.push(session);
    }
    let refused = run(&sql, &["SELECT * FROM t"]).expect_err("both lanes are in use");
    assert_eq!(refused.sqlstate, "53300");
    let refused = run(&sql, &["SET statement_timeout = '50ms'", "SELECT * FROM t"]);
    assert_eq!(refused.expect_err("it waits for a lane").sqlstate, "57014");
    open.pop();
    run(&sql, &["SELECT * FROM t"]).expect("a lane is free again");
    // At READ COMMITTED the next statement needs no snapshot of before.
    for _ in 0..4 {
        let mut session = sql.session(SessionOptions::default());
        for text in ["BEGIN", "INSERT INTO t VALUES (1)"] {
            let statement = run_now(session.prepare(text, &[])).expect("it is fine");
            run_now(session.execute(&statement, &[])).expect("a lane is free");
        }
        open.push(session);
    }
}

/// A process that ends in the middle of a transaction: the copy of its directory is what a crash
/// leaves.
#[test]
fn a_crash_undoes_changes_of_the_catalog_and_leaves_no_storage() {
    let path = std::env::temp_dir().join(format!("namdb-sql-crash-{}", std::process::id()));
    let image = path.with_extension("image");
    let config =
        Config { server_bytes: 64 << 20, directory: Some(path.clone()), ..Config::default() };
    let db = namdb::open(config.clone()).expect("it is a new directory");
    let sql = db.sql().expect("it has no tables");
    run(&sql, &["CREATE TABLE a (id int PRIMARY KEY, n int)", "INSERT INTO a VALUES (1, 10)"])
        .expect("the statements are fine");
    let mut session = sql.session(SessionOptions::default());
    for text in [
        "BEGIN",
        "CREATE UNIQUE INDEX a_by_n ON a (n)",
        "INSERT INTO a VALUES (2, 20)",
        "CREATE TABLE b (id int)",
        "INSERT INTO b VALUES (1)",
        "CREATE INDEX a_by_both ON a (n, id)",
    ] {
        let statement = run_now(session.prepare(text, &[])).expect("it is fine");
        run_now(session.execute(&statement, &[])).expect("it runs");
    }
    let copied = std::process::Command::new("cp").arg("-r").args([&path, &image]).status();
    assert!(copied.expect("there is a cp").success());
    drop((session, sql, db));

    let db = namdb::open(Config { directory: Some(image.clone()), ..config }).expect("it is there");
    let sql = db.sql().expect("the catalog is there");
    let rows = run(&sql, &["SELECT * FROM a"]).expect("it is there");
    assert!(matches!(&rows, Outcome::Rows { tag, .. } if tag == "SELECT 1"), "{rows:?}");
    let refused = run(&sql, &["SELECT * FROM b"]).expect_err("it was not committed");
    assert_eq!(refused.sqlstate, "42P01");
    run(&sql, &["INSERT INTO a VALUES (3, 10)"]).expect("the index was not committed");
    let tables = db.memory_usage().expect("it answers");
    let names: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
    assert_eq!(names.iter().filter(|name| name.contains('.')).count(), 1, "{names:?}");
    drop((sql, db));
    for path in [path, image] {
        std::fs::remove_dir_all(path).expect("it is ours");
    }
}
