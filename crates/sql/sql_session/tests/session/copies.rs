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
            if let Some(tag) = session.copy_out(&mut data).await? {
                data.extend(tag.bytes());
                return Ok(String::from_utf8(data).expect("it is text"));
            }
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
    assert_eq!(client.run("SELECT count(*) FROM t"), "2\nSELECT 1");
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
    let refused = copy_in(&mut client, "COPY t FROM STDIN", &more);
    assert!(refused.starts_with("54000"), "{refused}");
    assert_eq!(client.run("SELECT count(*) FROM t"), "40000\nSELECT 1");
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
    assert_eq!(client.run("SELECT count(*) FROM t"), "40000\nSELECT 1");
}
