//! Open transactions that give their lanes back between statements.

use crate::support::{Client, other_process};
use fabric::run_now;
use sql_session::{Host, LocalHost, Outcome, SqlDatabase};
use txn::DatabaseConfig;
use txn::local::{OpenConfig, open};

const LANES: u32 = 8;

fn few_lanes() -> SqlDatabase<LocalHost> {
    let database = DatabaseConfig { lanes: LANES, ..DatabaseConfig::default() };
    let config = OpenConfig { server_bytes: 256 << 20, database, ..OpenConfig::default() };
    let database = open(&config).expect("the memory is there");
    run_now(SqlDatabase::open(LocalHost::new(database))).expect("it is empty")
}

#[test]
fn five_hundred_open_transactions_need_eight_lanes() {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let database = few_lanes();
        let mut admin = Client::of(&database);
        admin.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
        admin.run("INSERT INTO t SELECT g, -1 FROM generate_series(-1, 499) g");
        let mut clients: Vec<Client> = (0..500).map(|_| Client::of(&database)).collect();
        for (id, client) in clients.iter_mut().enumerate() {
            assert_eq!(admin.run(&format!("UPDATE t SET v = {id} WHERE id = -1")), "UPDATE 1");
            assert_eq!(client.run(&format!("BEGIN ISOLATION LEVEL {level}")), "BEGIN");
            let seen = client.run(&format!("SELECT v + 0 * {id} FROM t WHERE id = -1"));
            assert_eq!(seen, format!("{id}\nSELECT 1"), "{level}");
        }
        for (id, client) in clients.iter_mut().enumerate() {
            let updated = client.run(&format!("UPDATE t SET v = {} WHERE id = {id}", 2 * id));
            assert_eq!(updated, "UPDATE 1");
        }
        let is_serializable = level == "SERIALIZABLE";
        for (id, client) in clients.iter_mut().enumerate() {
            let seen = client.run(&format!("SELECT v FROM t WHERE id IN (-1, {id}) ORDER BY id"));
            // At READ COMMITTED a statement has a snapshot of its own.
            let first = if level == "READ COMMITTED" { 499 } else { id };
            assert_eq!(seen, format!("{first}\n{}\nSELECT 2", 2 * id), "its snapshot and row");
            let ended = client.run("COMMIT");
            match is_serializable && id < 499 {
                // The row that it has read has changed.
                true => assert!(ended.starts_with("40001"), "{ended}"),
                false => assert_eq!(ended, "COMMIT", "{level}"),
            }
        }
        let count = admin.run("SELECT count(*) FROM t WHERE id >= 0 AND v = 2 * id");
        assert_eq!(count, format!("{}\nSELECT 1", if is_serializable { 1 } else { 500 }));
    }
}

/// Each updates the row that all others update, too, in a process of its own: the first committer
/// wins.
#[test]
fn conflicts_with_parked_transactions_are_found() {
    let database = few_lanes();
    let mut first = Client::of(&database);
    first.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)");
    let process = |_| Client::of(&other_process(&database));
    let mut clients: Vec<Client> = (0..20).map(process).collect();
    for client in &mut clients {
        client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
        assert_eq!(client.run("UPDATE t SET v = v + 1 WHERE id = 1"), "UPDATE 1");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let ended = client.run("COMMIT");
        assert!(ended == "COMMIT" || number > 0 && ended.starts_with("40001"), "{number}: {ended}");
    }
    for client in &mut clients {
        client.run("BEGIN");
        assert_eq!(client.run("UPDATE t SET v = v + 1 WHERE id = 1"), "UPDATE 1");
    }
    for client in &mut clients {
        assert_eq!(client.run("COMMIT"), "COMMIT", "it is repeated");
    }
    assert_eq!(clients[0].run("SELECT v FROM t"), "21\nSELECT 1");
}

/// All lanes are held by others while this one is silent.
#[test]
fn a_parked_transaction_keeps_savepoints_cursors_and_its_catalog() {
    let database = few_lanes();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 5000) g");
    // The first transaction that is parked may be older than the keeper of pins.
    client.run("BEGIN; SELECT v FROM t WHERE id = 1");
    run_now(client.session.park());
    assert_eq!(client.run("COMMIT"), "COMMIT");
    let park = |client: &mut Client| run_now(client.session.park());
    client.run("BEGIN; UPDATE t SET v = 0 WHERE id = 1; SAVEPOINT a; DELETE FROM t WHERE id = 2");
    park(&mut client);
    assert_eq!(client.run("SELECT count(*) FROM t WHERE v <= 2"), "1\nSELECT 1");
    park(&mut client);
    assert_eq!(client.run("ROLLBACK TO a"), "ROLLBACK");
    park(&mut client);
    assert_eq!(client.run("SELECT count(*) FROM t WHERE v <= 2"), "2\nSELECT 1");
    client.run("DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id");
    for first in [1, 4, 7] {
        park(&mut client);
        let rows = client.run("FETCH 3 FROM c");
        assert_eq!(rows, format!("{first}\n{}\n{}\nFETCH 3", first + 1, first + 2));
    }
    park(&mut client);
    assert_eq!(client.run("CREATE TABLE later (id int)"), "CREATE TABLE");
    park(&mut client);
    assert_eq!(client.run("INSERT INTO later SELECT id FROM t WHERE id < 4"), "INSERT 0 3");
    park(&mut client);
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT count(*) FROM later"), "3\nSELECT 1");
    assert_eq!(client.run("SELECT v FROM t WHERE id = 1"), "0\nSELECT 1");
}

/// The rows of an open cursor are old ones by then, and are still there.
#[test]
fn an_open_cursor_keeps_its_snapshot_while_it_is_parked() {
    let database = few_lanes();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 3000) g");
    let park = |client: &mut Client| run_now(client.session.park());
    // The first transaction that is parked may be older than the keeper of pins.
    client.run("BEGIN; SELECT v FROM t WHERE id = 1");
    park(&mut client);
    assert_eq!(client.run("SELECT v FROM t WHERE id = 2"), "0\nSELECT 1");
    client.run("DECLARE c CURSOR FOR SELECT id, v FROM t ORDER BY id");
    assert_eq!(client.run("FETCH 1 FROM c"), "1|0\nFETCH 1");
    park(&mut client);
    for round in 1..40 {
        let update = format!("UPDATE t SET v = {round} WHERE id > 2900");
        assert_eq!(other.run(&update), "UPDATE 100");
    }
    let rows = client.run("FETCH 2999 FROM c");
    assert!(rows.ends_with("3000|0\nFETCH 2999"), "{}", &rows[rows.len().saturating_sub(80)..]);
    assert_eq!(client.run("COMMIT"), "COMMIT");
}

/// The rows of a copy see the snapshot that it has begun with. Later commands see newer ones.
#[test]
fn a_copy_keeps_its_snapshot_while_it_is_parked() {
    let database = few_lanes();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE p (id int PRIMARY KEY, v int)");
    client.run("CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)");
    client.run("INSERT INTO p SELECT g, 0 FROM generate_series(1, 100) g");
    let park = |client: &mut Client| run_now(client.session.park());
    // The first transaction that is parked may be older than the keeper of pins.
    client.run("BEGIN; SELECT v FROM p WHERE id = 1");
    park(&mut client);
    let mut change = || {
        for _ in 0..40 {
            assert_eq!(other.run("UPDATE p SET v = v + 1"), "UPDATE 100");
        }
    };
    let begun = client.run("COPY c FROM STDIN");
    assert!(begun.starts_with("CopyIn"), "{begun}");
    for row in 1..4 {
        let data = format!("{row}\t{row}\n");
        run_now(client.session.copy_data(data.as_bytes())).expect("the parent is there");
        park(&mut client);
        change();
    }
    assert_eq!(run_now(client.session.copy_done()).expect("it ends"), "COPY 3");
    // The statements of such a block cannot be repeated, so each must succeed.
    change();
    for command in [
        "ALTER TABLE p ALTER v TYPE bigint",
        "ALTER TABLE p ADD CHECK (v >= 160)",
        "ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p",
    ] {
        assert_eq!(client.run(command), "ALTER TABLE", "{command}");
        park(&mut client);
    }
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT min(v), max(v) FROM p"), "160|160\nSELECT 1");
}

/// A row-limited portal outside of a block has a transaction of its own.
#[test]
fn a_portal_is_parked_with_its_transaction() {
    let database = few_lanes();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 5000) g");
    let prepared = run_now(client.session.prepare("SELECT id FROM t ORDER BY id", &[]));
    let prepared = prepared.expect("it is right");
    for round in 0..2 {
        let opened = run_now(client.session.open(&prepared, &[], 10));
        let Ok(Outcome::Part { mut rows, open }) = opened else { panic!("{opened:?}") };
        let mut count = 0;
        loop {
            count += rows.len();
            run_now(client.session.park());
            assert_eq!(
                other.run(&format!("DELETE FROM t WHERE id = {}", 5000 - round)),
                "DELETE 1"
            );
            assert_eq!(
                other.run(&format!("INSERT INTO t VALUES ({}, 1)", 5000 - round)),
                "INSERT 0 1"
            );
            let fetched = run_now(client.session.fetch(open, 1000)).expect("it goes on");
            rows = fetched.rows;
            if fetched.has_ended {
                break;
            }
        }
        assert_eq!(count + rows.len(), 5000);
    }
}

#[test]
fn a_failed_transaction_gives_its_lane_back() {
    let database = few_lanes();
    let mut clients: Vec<Client> = (0..3 * LANES).map(|_| Client::of(&database)).collect();
    clients[0].run("CREATE TABLE t (id int PRIMARY KEY)");
    for client in &mut clients {
        assert_eq!(client.run("BEGIN"), "BEGIN");
        assert_eq!(client.run("SELECT * FROM t"), "SELECT 0");
        assert!(client.run("SELECT 1 / 0 FROM t UNION SELECT 1 / 0").starts_with("22012"));
    }
    for client in &mut clients {
        assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    }
}

/// Its repetition finds another count than the client has seen.
#[test]
fn a_commit_that_fails_in_its_repetition_gives_its_lane_back() {
    let database = few_lanes();
    let (mut first, mut second) = (Client::of(&database), Client::of(&database));
    first.run("CREATE TABLE t (id int PRIMARY KEY)");
    let mut failed = 0;
    for id in 0..2 * LANES {
        first.run("BEGIN");
        first.run("SELECT count(*) FROM t");
        first.run(&format!("INSERT INTO t VALUES ({})", 2 * id));
        second.run(&format!("INSERT INTO t VALUES ({})", 2 * id + 1));
        failed += u32::from(first.run("COMMIT").starts_with("40001"));
    }
    assert!(failed > LANES, "{failed} commits have failed");
    assert!(!database.host().are_lanes_scarce());
}

/// A rollback undoes changes in the transaction that was parked, which keeps its snapshot.
#[test]
fn savepoints_of_parked_transactions_keep_the_snapshot() {
    let database = few_lanes();
    let mut admin = Client::of(&database);
    admin.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    admin.run("INSERT INTO t SELECT g, 0 FROM generate_series(0, 40) g");
    let mut clients: Vec<Client> = (0..40).map(|_| Client::of(&database)).collect();
    for (id, client) in (1..).zip(&mut clients) {
        client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
        assert_eq!(client.run("SELECT v FROM t WHERE id = 0"), "0\nSELECT 1");
        client.run(&format!("UPDATE t SET v = 1 WHERE id = {id}"));
    }
    for (id, client) in (1..).zip(&mut clients) {
        assert_eq!(client.run("SAVEPOINT s"), "SAVEPOINT");
        client.run(&format!("UPDATE t SET v = 2 WHERE id = {id}; INSERT INTO t VALUES (-{id}, 0)"));
    }
    admin.run("UPDATE t SET v = 9 WHERE id = 0");
    for (id, client) in (1..).zip(&mut clients) {
        assert_eq!(client.run("ROLLBACK TO s"), "ROLLBACK");
        let seen = client.run(&format!("SELECT v FROM t WHERE id IN (-{id}, 0, {id}) ORDER BY id"));
        assert_eq!(seen, "0\n1\nSELECT 2");
        assert_eq!(client.run("COMMIT"), "COMMIT");
    }
    assert_eq!(admin.run("SELECT count(*), sum(v) FROM t"), "41|49\nSELECT 1");
}
