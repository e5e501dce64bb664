//! Sessions of several threads that wait for each other's rows.

use crate::support::{Client, new_database, other_process};
use fabric::run_now;
use sql_session::{LocalHost, SqlDatabase};
use std::collections::BTreeSet;
use std::sync::Mutex;

const THREADS: u64 = 4;
const ROUNDS: u64 = 120;

/// The next drawn number, below a limit.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*state >> 33) % below
}

/// Runs the statements of a transaction; returns the SQLSTATE of the one that fails.
fn transaction(client: &mut Client, statements: &[String]) -> Result<(), String> {
    for statement in statements {
        if let Err(error) = client.query(statement) {
            client.run("ROLLBACK");
            return Err(error.sqlstate.to_string());
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "sessions of threads are the subject")]
fn in_threads(database: &SqlDatabase<LocalHost>, work: impl Fn(u64, &mut Client) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                let mut client = Client::of(database);
                work(thread, &mut client);
                run_now(client.session.close());
            });
        }
    });
}

/// Accounts are changed in any order, so that sessions wait in circles: each has one victim, whose
/// transaction is repeated.
#[test]
fn deadlocks_are_the_only_failures_of_transfers() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE account (id int PRIMARY KEY, v int NOT NULL)");
    client.run("INSERT INTO account SELECT n, 100 FROM generate_series(0, 4) n");
    in_threads(&database, |thread, client| {
        let mut state = thread + 1;
        let mut done = 0;
        while done < ROUNDS {
            let (from, to) = (draw(&mut state, 5), draw(&mut state, 5));
            let change = |id, by| format!("UPDATE account SET v = v + {by} WHERE id = {id}");
            let texts = ["BEGIN".to_owned(), change(from, -1), change(to, 1), "COMMIT".to_owned()];
            match transaction(client, &texts) {
                Ok(()) => done += 1,
                Err(sqlstate) => assert_eq!(sqlstate, "40P01"),
            }
        }
    });
    assert_eq!(client.run("SELECT sum(v), count(*) FROM account"), "500|5\nSELECT 1");
}

/// Half of the threads are in another process, which does not see the locks.
#[test]
fn counters_are_right_among_processes() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE counter (id int PRIMARY KEY, v int NOT NULL)");
    client.run("INSERT INTO counter VALUES (1, 0), (2, 0)");
    let other = other_process(&database);
    let done = Mutex::new(0);
    in_threads(&database, |thread, own| {
        let mut foreign = Client::of(&other);
        let client = if thread % 2 == 0 { own } else { &mut foreign };
        for round in 0..ROUNDS {
            let id = round % 2 + 1;
            let texts = [
                "BEGIN".to_owned(),
                format!("SELECT v >= 0 FROM counter WHERE id = {id}"),
                format!("UPDATE counter SET v = v + 1 WHERE id = {id}"),
                "COMMIT".to_owned(),
            ];
            let ended = transaction(client, &texts);
            // A conflict may last longer than the session repeats the transaction.
            assert!(ended.as_ref().err().is_none_or(|state| state == "40001"), "{ended:?}");
            *done.lock().expect("no thread panics") += u64::from(ended.is_ok());
        }
    });
    let done = done.into_inner().expect("no thread panics");
    assert_eq!(client.run("SELECT sum(v) FROM counter"), format!("{done}\nSELECT 1"));
}

/// Parents come and go under their children.
#[test]
fn no_child_is_without_its_parent() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE parent (id int PRIMARY KEY, v int)");
    client.run("CREATE TABLE child (id serial PRIMARY KEY, parent int REFERENCES parent)");
    client.run("INSERT INTO parent SELECT n, 0 FROM generate_series(0, 3) n");
    in_threads(&database, |thread, client| {
        let mut state = thread + 11;
        for _ in 0..ROUNDS {
            let id = draw(&mut state, 4);
            let text = match draw(&mut state, 5) {
                0 => format!("DELETE FROM parent WHERE id = {id}"),
                1 => format!("INSERT INTO parent VALUES ({id}, 0) ON CONFLICT DO NOTHING"),
                2 => format!("UPDATE parent SET v = v + 1 WHERE id = {id}"),
                3 => format!("DELETE FROM child WHERE parent = {id}"),
                _ => format!("INSERT INTO child (parent) VALUES ({id})"),
            };
            let texts = ["BEGIN".to_owned(), text, "SELECT 1".to_owned(), "COMMIT".to_owned()];
            if let Err(sqlstate) = transaction(client, &texts) {
                assert!(matches!(&*sqlstate, "23503" | "40P01" | "40001"), "{sqlstate}");
            }
        }
    });
    let orphans =
        "SELECT count(*) FROM child c LEFT JOIN parent p ON p.id = c.parent WHERE p.id IS NULL";
    assert_eq!(client.run(orphans), "0\nSELECT 1");
}

/// A queue of jobs: each is taken once, and nobody waits.
#[test]
fn each_job_is_taken_once() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE job (id int PRIMARY KEY, done bool NOT NULL)");
    client.run("INSERT INTO job SELECT n, false FROM generate_series(1, 200) n");
    let taken = Mutex::new(BTreeSet::new());
    in_threads(&database, |_, client| {
        loop {
            client.run("BEGIN");
            let next =
                "SELECT id FROM job WHERE NOT done ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
            let found = client.run(next);
            let Some((id, _)) = found.split_once('\n') else {
                assert_eq!(found, "SELECT 0");
                client.run("COMMIT");
                return;
            };
            assert_eq!(
                client.run(&format!("UPDATE job SET done = true WHERE id = {id}")),
                "UPDATE 1"
            );
            assert_eq!(client.run("COMMIT"), "COMMIT");
            assert!(taken.lock().expect("no thread panics").insert(id.to_owned()), "{id} again");
        }
    });
    assert_eq!(taken.into_inner().expect("no thread panics").len(), 200);
}
