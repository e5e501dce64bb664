//! `COPY`.

use crate::support::{Client, new_database, shown_error};
use fabric::run_now;
use sql_session::Outcome;

/// Copies data in; returns the command tag or the error.
fn copy_in(client: &mut Client, text: &str, data: &str) -> String {
    let session = &mut client.session;
    let copied = run_now(async {
        let prepared = session.prepare(text, &[]).await?;
        let outcome = session.execute(&prepared, &[]).await?;
        assert!(matches!(outcome, Outcome::CopyIn(_)), "{outcome:?}");
        for piece in data.as_bytes().chunks(1 << 16) {
            session.copy_data(piece).await?;
        }
        session.copy_done().await
    });
    copied.unwrap_or_else(|error| shown_error(&error))
}

/// Copies data out.
fn copy_out(client: &mut Client, text: &str) -> String {
    let session = &mut client.session;
    let copied = run_now(async {
        let prepared = session.prepare(text, &[]).await?;
        session.execute(&prepared, &[]).await?;
        let mut data = Vec::new();
        loop {
            let before = data.len();
            if let Some(tag) = session.copy_out(&mut data).await? {
                data.extend(tag.bytes());
                return Ok(String::from_utf8(data).expect("it is text"));
            }
            let rows = data[before..].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(rows, 1, "clients expect a row per message");
        }
    });
    copied.unwrap_or_else(|error| shown_error(&error))
}

fn accounts(count: u32) -> String {
    (1..=count).map(|id| format!("{id}\t{}\t0\t\n", id / 1000 + 1)).collect()
}

#[test]
fn rows_are_copied_in_and_out() {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE t (a int PRIMARY KEY, b varchar(8), c timestamp, d numeric(6, 2) DEFAULT 7)",
    );
    let copied =
        copy_in(&mut client, "COPY t (a, b, c) FROM STDIN", "1\tx\\ty\t\\N\n2\t\\N\t2026-01-02\n");
    assert_eq!(copied, "COPY 2");
    assert_eq!(
        copy_out(&mut client, "COPY t TO STDOUT"),
        "1\tx\\ty\t\\N\t7.00\n2\t\\N\t2026-01-02 00:00:00\t7.00\nCOPY 2"
    );
    assert_eq!(
        copy_out(
            &mut client,
            "COPY (SELECT a, b FROM t ORDER BY a DESC) TO STDOUT (FORMAT csv, HEADER)"
        ),
        "a,b\n2,\n1,x\ty\nCOPY 2"
    );
    let refused = copy_in(&mut client, "COPY t (a) FROM STDIN", "3\n1\n");
    assert_eq!(refused, "23505: duplicate key value violates unique constraint \"t_pkey\"");
    let refused = copy_in(&mut client, "COPY t (a, b) FROM STDIN", "3\n");
    assert_eq!(refused, "22P04: missing data for column \"b\"");
    let refused = copy_in(&mut client, "COPY t (a) FROM STDIN", "3x\n");
    assert_eq!(refused, "22P02: invalid input syntax for type integer: \"3x\"");
    let refused = copy_in(&mut client, "COPY t (a, b) FROM STDIN", "4\t123456789\n");
    assert_eq!(refused, "22001: value too long for type character varying(8)");
    for change in ["DELETE FROM t", "WITH one AS (SELECT 1 AS a) DELETE FROM t USING one"] {
        let refused = client.run(&format!("COPY ({change}) TO STDOUT"));
        assert_eq!(refused, "0A000: COPY query must have a RETURNING clause");
    }
    assert_eq!(client.run("SELECT count(*) FROM t"), "2\nSELECT 1");
}

#[test]
fn copies_have_the_zone_of_the_session_and_fill_identity_columns() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, z timestamptz, b bytea)");
    client.run("SET timezone = 'Europe/Berlin'; SET bytea_output = 'escape'");
    let rows = "7\t2024-07-01 12:00:00\tA\n8\t2024-07-01 12:00:00+00\t\\\\x00\n";
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", rows), "COPY 2");
    let own = "7\t2024-07-01 12:00:00+02\tA\n8\t2024-07-01 14:00:00+02\t\\\\000\nCOPY 2";
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT"), own);
    client.run("RESET ALL");
    let own = "7\t2024-07-01 10:00:00+00\t\\\\x41\n8\t2024-07-01 12:00:00+00\t\\\\x00\nCOPY 2";
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT"), own);
    let error = client.query("INSERT INTO t (id) VALUES (9)").expect_err("it is refused");
    assert_eq!(error.message, "cannot insert a non-DEFAULT value into column \"id\"");
    let detail = "Column \"id\" is an identity column defined as GENERATED ALWAYS.";
    assert_eq!(error.detail.as_deref(), Some(detail));
    assert_eq!(error.hint.as_deref(), Some("Use OVERRIDING SYSTEM VALUE to override."));
    assert_eq!(error.position, None);
    let error = client.query("UPDATE t SET id = 9").expect_err("it is refused");
    assert_eq!(error.message, "column \"id\" can only be updated to DEFAULT");
    assert_eq!(error.detail.as_deref(), Some(detail));
}

#[test]
fn copies_count_characters_and_round_times() {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE t (a int PRIMARY KEY, b varchar(3), c char(8), d time(0), e timestamp(0))",
    );
    let row = "1\t\u{65e5}\u{672c}\u{8a9e}\t\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\t10:00:00.5\t2024-01-01 00:00:00.5\n";
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", row), "COPY 1");
    let copied = row.replace("\u{e9}\t", "\u{e9} \t").replace("00.5", "01");
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT"), copied + "COPY 1");
    let refused = copy_in(&mut client, "COPY t (a, b) FROM STDIN", "2\t\u{e9}\u{e9}\u{e9}\u{e9}\n");
    assert_eq!(refused, "22001: value too long for type character varying(3)");
    // Texts out of line, in new storage.
    client.run("BEGIN");
    client.run("CREATE TABLE u (a int PRIMARY KEY, b varchar(30) UNIQUE)");
    let text = |id: u32| format!("{id}\t{}{id}\n", "\u{8a9e}".repeat(20));
    let rows: String = (1..=3000).map(text).collect();
    assert_eq!(copy_in(&mut client, "COPY u FROM STDIN", &rows), "COPY 3000");
    client.run("COMMIT");
    let found = client.run("SELECT count(*), min(length(b)), max(octet_length(b)) FROM u");
    assert_eq!(found, "3000|21|64\nSELECT 1");
    let found = client.run("SELECT a FROM u WHERE b = repeat('\u{8a9e}', 20) || '77'");
    assert_eq!(found, "77\nSELECT 1");
}

#[test]
fn many_rows_are_copied_into_new_storage() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE a (aid int not null, bid int, abalance int, filler char(84)) with (fillfactor=100)");
    client.run("INSERT INTO a VALUES (1, 1, 1, '')");
    client.run("BEGIN");
    client.run("TRUNCATE a");
    let copied = copy_in(&mut client, "copy a from stdin with (freeze on)", &accounts(100_000));
    assert_eq!(copied, "COPY 100000");
    assert_eq!(other.run("SELECT count(*) FROM a"), "1\nSELECT 1");
    assert_eq!(client.run("SELECT count(*) FROM a"), "100000\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT count(*), sum(bid) FROM a"), "100000|5050100\nSELECT 1");
    assert_eq!(client.run("vacuum analyze a"), "VACUUM");
    assert_eq!(client.run("alter table a add primary key (aid)"), "ALTER TABLE");
    assert_eq!(other.run("SELECT bid FROM a WHERE aid = 99999"), "100\nSELECT 1");
    let too_many =
        copy_in(&mut client, "COPY a FROM STDIN", &accounts(100_000).replace('\t', "\t2\t"));
    assert!(too_many.starts_with("22P04"), "{too_many}");
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (a int PRIMARY KEY)");
    let numbers: String = (1..=40_000).map(|number| format!("{number}\n")).collect();
    let refused = copy_in(&mut client, "COPY t FROM STDIN", &(numbers.clone() + "7\n"));
    assert_eq!(refused, "23505: duplicate key value violates unique constraint \"t_pkey\"");
    assert_eq!(client.run("SELECT count(*) FROM t"), "0\nSELECT 1");
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", &numbers), "COPY 40000");
    let more: String = (40_001..=140_000).map(|number| format!("{number}\n")).collect();
    let refused = copy_in(&mut client, "COPY t FROM STDIN", &(more.clone() + "7\n"));
    assert_eq!(refused, "23505: duplicate key value violates unique constraint \"t_pkey\"");
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", &more), "COPY 100000");
    assert_eq!(client.run("SELECT count(*) FROM t"), "140000\nSELECT 1");
    client.run("BEGIN");
    let failed = run_now(async {
        let session = &mut client.session;
        let prepared = session.prepare("COPY t FROM STDIN", &[]).await?;
        session.execute(&prepared, &[]).await?;
        session.copy_data(b"140001\n").await?;
        Ok::<_, sql_session::SqlError>(session.copy_fail("enough").await)
    });
    assert_eq!(failed.expect("it ends").message, "COPY from stdin failed: enough");
    assert!(client.run("SELECT 1").starts_with("25P02"));
    client.run("ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM t"), "140000\nSELECT 1");
}

#[test]
fn pgbench_loads_its_tables_in_one_transaction() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE b (bid int not null, bbalance int, filler char(88))");
    client.run("CREATE TABLE a (aid int not null, bid int, abalance int, filler char(84))");
    client.run("INSERT INTO a VALUES (7, 7, 7, '')");
    client.run("BEGIN");
    client.run("TRUNCATE a, b");
    assert_eq!(client.run("INSERT INTO b (bid, bbalance) VALUES (1, 0)"), "INSERT 0 1");
    let copied = copy_in(&mut client, "copy a from stdin with (freeze on)", &accounts(100_000));
    assert_eq!(copied, "COPY 100000");
    // Later statements may insert into both, and change the catalog.
    assert_eq!(client.run("INSERT INTO b (bid, bbalance) VALUES (2, 0)"), "INSERT 0 1");
    assert_eq!(client.run("INSERT INTO a VALUES (100001, 1, 1, '')"), "INSERT 0 1");
    assert_eq!(client.run("ALTER TABLE b ADD PRIMARY KEY (bid)"), "ALTER TABLE");
    assert_eq!(client.run("SELECT count(*) FROM a"), "100001\nSELECT 1");
    assert_eq!(other.run("SELECT count(*), min(aid) FROM a"), "1|7\nSELECT 1");
    assert_eq!(other.run("SELECT count(*) FROM b"), "0\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT count(*) FROM a"), "100001\nSELECT 1");
    assert_eq!(other.run("SELECT sum(bid) FROM b"), "3\nSELECT 1");
    client.run("BEGIN");
    client.run("TRUNCATE a, b");
    client.run("INSERT INTO b VALUES (9, 0, '')");
    copy_in(&mut client, "COPY a FROM STDIN", &accounts(70_000));
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM a"), "100001\nSELECT 1");
    assert_eq!(client.run("SELECT sum(bid) FROM b"), "3\nSELECT 1");
}

#[test]
fn rows_that_others_see_keep_a_transaction_whole() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE kept (a int)");
    client.run("CREATE TABLE t (a int)");
    let numbers: String = (1..=70_000).map(|number| format!("{number}\n")).collect();
    let firsts = ["INSERT INTO kept VALUES (1)", "SELECT a FROM kept FOR UPDATE"];
    for (first, kept) in firsts.into_iter().zip(["2\nSELECT 1", "1\nSELECT 1"]) {
        client.run("BEGIN");
        client.run("TRUNCATE t");
        client.run(first);
        client.run("INSERT INTO kept VALUES (2)");
        assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", &numbers), "COPY 70000");
        assert_eq!(client.run("SELECT count(*) FROM kept"), kept);
        assert_eq!(other.run("SELECT count(*) FROM kept"), "0\nSELECT 1");
        client.run("ROLLBACK");
        assert_eq!(other.run("SELECT count(*) FROM kept"), "0\nSELECT 1");
        assert_eq!(other.run("SELECT count(*) FROM t"), "0\nSELECT 1");
    }
    // A transaction that keeps its snapshot cannot give it up.
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    client.run("TRUNCATE t");
    client.run("SELECT count(*) FROM kept");
    other.run("INSERT INTO kept VALUES (3)");
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", &numbers), "COPY 70000");
    assert_eq!(client.run("SELECT count(*) FROM kept"), "0\nSELECT 1");
    assert!(client.run("COMMIT").starts_with("40001"), "the rows that it has read are others now");
    assert_eq!(client.run("SELECT count(*) FROM t"), "0\nSELECT 1");
}

#[test]
fn many_rows_of_a_query_are_inserted() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (a int PRIMARY KEY, b timestamptz DEFAULT now())");
    let insert = "INSERT INTO t (a) SELECT x FROM generate_series(1, 150000) AS x";
    // An empty table gets new storage.
    assert_eq!(client.run(insert), "INSERT 0 150000");
    assert_eq!(other.run("SELECT count(*), count(distinct b) FROM t"), "150000|1\nSELECT 1");
    assert!(client.run(insert).starts_with("23505"));
    let more = "INSERT INTO t (a) SELECT x FROM generate_series(200001, 300000) AS x";
    client.run("BEGIN");
    assert_eq!(client.run(more), "INSERT 0 100000");
    client.run("ROLLBACK");
    assert_eq!(other.run("SELECT count(*) FROM t"), "150000\nSELECT 1");
    client.run("BEGIN");
    client.run("TRUNCATE t");
    client.run("INSERT INTO t (a) VALUES (0)");
    client.run("SAVEPOINT before");
    let small = "INSERT INTO t (a) SELECT x FROM generate_series(400001, 400010) AS x";
    assert_eq!(client.run(small), "INSERT 0 10");
    assert_eq!(client.run("ROLLBACK TO before"), "ROLLBACK");
    assert_eq!(client.run(insert), "INSERT 0 150000");
    let copied = "INSERT INTO t (a) SELECT -a FROM t WHERE a > 0";
    assert_eq!(client.run(copied), "INSERT 0 150000");
    assert_eq!(client.run("SELECT count(*), count(distinct b) FROM t"), "300001|1\nSELECT 1");
    assert!(client.run("ROLLBACK TO before").starts_with("0A000"));
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(other.run("SELECT count(*) FROM t"), "150000\nSELECT 1");
    client.run("BEGIN");
    client.run("CREATE TABLE u (a int PRIMARY KEY)");
    client.run("INSERT INTO u VALUES (99000)");
    assert!(client.run("INSERT INTO u SELECT a FROM t").starts_with("23505"));
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert!(client.run("SELECT 1 FROM u").starts_with("42P01"));
}

#[test]
fn copied_values_have_the_scales_and_lengths_of_their_columns() {
    let mut client = Client::of(&new_database());
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, n numeric(6, 2), m numeric(6, 2)[], v varchar(3)[])",
    );
    let copied = copy_in(&mut client, "COPY t FROM STDIN", "1\t1.239\t{1.239,2}\t{abc,NULL}\n");
    assert_eq!(copied, "COPY 1");
    assert_eq!(client.run("SELECT * FROM t"), "1|1.24|{1.24,2.00}|{abc,NULL}\nSELECT 1");
    let refused = copy_in(&mut client, "COPY t (id, v) FROM STDIN", "2\t{abcd}\n");
    assert_eq!(refused, "22001: value too long for type character varying(3)");
    let refused = copy_in(&mut client, "COPY t (id, n) FROM STDIN", "2\t99999\n");
    assert_eq!(refused.get(..5), Some("22003"));
}
