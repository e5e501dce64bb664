//! Sessions of several threads that wait for each other's rows.

use crate::support::{Client, new_database, other_process};
use fabric::run_now;
use sql_session::{LocalHost, SqlDatabase};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

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

/// Runs a statement of `waiting` that waits for a row of `holder`, until that one commits.
#[allow(clippy::disallowed_methods, reason = "sessions of threads are the subject")]
fn while_waiting(waiting: &mut Client, statement: &str, holder: &mut Client) -> String {
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| waiting.run(statement));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!waits.is_finished(), "it waits");
        assert_eq!(holder.run("COMMIT"), "COMMIT");
        waits.join().expect("it ends")
    })
}

/// The call runs again from its beginning: its inserts, which wait in a batch, take effect once,
/// and so do its notices.
#[test]
fn a_call_that_has_waited_takes_effect_once() {
    let database = new_database();
    let (mut client, mut holder) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE counter (id int PRIMARY KEY, v int NOT NULL)");
    client.run("INSERT INTO counter VALUES (1, 0)");
    client.run("CREATE TABLE journal (id int PRIMARY KEY, v int)");
    let body = "BEGIN
           INSERT INTO journal VALUES (n, 0);
           INSERT INTO journal VALUES (n + 1, 0);
           RAISE NOTICE 'counts %', n;
           UPDATE counter SET v = v + 1 WHERE id = 1;
         END";
    client.run(&format!("CREATE PROCEDURE count_up(n int) LANGUAGE plpgsql AS $$ {body} $$"));
    for in_block in [false, true] {
        holder.run("BEGIN");
        holder.run("UPDATE counter SET v = v + 10 WHERE id = 1");
        if in_block {
            client.run("BEGIN");
        }
        client.session.take_notices();
        let first = if in_block { 3 } else { 1 };
        let called = while_waiting(&mut client, &format!("CALL count_up({first})"), &mut holder);
        assert_eq!(called, "CALL", "in a block: {in_block}");
        assert_eq!(client.session.take_notices().len(), 1, "in a block: {in_block}");
        if in_block {
            assert_eq!(client.run("COMMIT"), "COMMIT");
        }
    }
    assert_eq!(client.run("SELECT count(*) FROM journal"), "4\nSELECT 1");
    assert_eq!(client.run("SELECT v FROM counter"), "22\nSELECT 1");
}

/// A statement that fails after its call has queued inserts leaves none of them to the next one.
#[test]
fn a_call_that_fails_leaves_no_inserts() {
    let database = new_database();
    let (mut client, mut holder) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE counter (id int PRIMARY KEY, v int NOT NULL)");
    client.run("INSERT INTO counter VALUES (1, 0)");
    client.run("CREATE TABLE journal (id int PRIMARY KEY, v int)");
    let body = "BEGIN
           INSERT INTO journal VALUES (n, 0);
           UPDATE counter SET v = v + 1 WHERE id = n;
         END";
    client.run(&format!("CREATE PROCEDURE count_up(n int) LANGUAGE plpgsql AS $$ {body} $$"));
    holder.run("BEGIN");
    holder.run("UPDATE counter SET v = v + 10 WHERE id = 1");
    client.run("SET lock_timeout = '30ms'");
    client.run("BEGIN; SAVEPOINT a");
    let failed = client.run("CALL count_up(1)");
    assert!(failed.starts_with("55P03"), "{failed}");
    assert_eq!(client.run("ROLLBACK TO a; CALL count_up(7); COMMIT"), "ROLLBACK\nCALL\nCOMMIT");
    assert_eq!(client.run("SELECT id FROM journal"), "7\nSELECT 1");
    holder.run("ROLLBACK");
}

/// The statements of a procedure read their rows ahead, and a foreign key's check is between them.
#[test]
fn rows_that_were_read_ahead_are_those_that_later_statements_change() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL)");
    client.run("CREATE TABLE q (id int PRIMARY KEY, v int NOT NULL)");
    client.run("CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p, q int REFERENCES q)");
    client.run("INSERT INTO p VALUES (1, 10), (2, 20); INSERT INTO q VALUES (1, 10)");
    let body = "DECLARE a int; b int;
         BEGIN
           SELECT v INTO a FROM p WHERE id = n;
           INSERT INTO c VALUES (n, n, 1);
           UPDATE p SET v = v + 1 WHERE v < 100;
           UPDATE p SET v = v + 1 WHERE id = n;
           SELECT v INTO b FROM p WHERE id = n;
           UPDATE q SET v = v + a + b WHERE id = 1;
           RETURN b;
         END";
    client.run(&format!("CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS $$ {body} $$"));
    assert_eq!(client.run("SELECT f(1)"), "12\nSELECT 1");
    assert_eq!(client.run("BEGIN; SELECT f(2); COMMIT"), "BEGIN\n23\nSELECT 1\nCOMMIT");
    assert_eq!(client.run("SELECT v FROM p ORDER BY id"), "13\n23\nSELECT 2");
    assert_eq!(client.run("SELECT v FROM q"), "76\nSELECT 1");
}

/// Sessions insert rows with different keys and common parents, many at a time: they do not make
/// each other run again, let alone fail.
#[test]
fn inserts_of_many_rows_do_not_disturb_each_other() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL)");
    client.run("CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)");
    client.run("INSERT INTO p SELECT n, 0 FROM generate_series(0, 9) n");
    in_threads(&database, |thread, client| {
        for round in 0..20 {
            let first = 1_000_000 * thread + 1_000 * round;
            let texts = [
                "BEGIN".to_owned(),
                format!(
                    "INSERT INTO c SELECT n, n % 10 FROM generate_series({first}, {first} + 499) n"
                ),
                format!("UPDATE p SET v = v + 1 WHERE id = {}", thread % 10),
                "COMMIT".to_owned(),
            ];
            assert_eq!(transaction(client, &texts), Ok(()));
        }
    });
    assert_eq!(client.run("SELECT count(*) FROM c"), "40000\nSELECT 1");
    assert_eq!(client.run("SELECT sum(v) FROM p"), "80\nSELECT 1");
}

/// A unique value is free, or not, only when the transaction that gives it up has ended.
#[test]
fn a_unique_value_that_is_given_up_is_waited_for() {
    let database = new_database();
    let (mut client, mut holder) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text UNIQUE, v int)");
    client.run("INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0)");
    let insert = "INSERT INTO t VALUES (4, 'a', 0)";
    let takes = [
        ("DELETE FROM t WHERE id = 1", insert, "INSERT 0 1"),
        (
            "UPDATE t SET name = 'd' WHERE id = 4",
            "UPDATE t SET name = 'a' WHERE id = 2",
            "UPDATE 1",
        ),
        (
            "UPDATE t SET name = 'e' WHERE id = 2; UPDATE t SET name = 'a' WHERE id = 2",
            "INSERT INTO t VALUES (5, 'a', 0)",
            "23505",
        ),
    ];
    for (given_up, taken, expected) in takes {
        holder.run("BEGIN");
        holder.run(given_up);
        let ended = while_waiting(&mut client, taken, &mut holder);
        assert!(ended.starts_with(expected), "{taken}: {ended}");
    }
    assert_eq!(client.run("SELECT id, name FROM t ORDER BY id"), "2|a\n3|c\n4|d\nSELECT 3");
    // A change of other columns gives no value up.
    holder.run("BEGIN; UPDATE t SET v = 1 WHERE id = 2");
    assert!(client.run("INSERT INTO t VALUES (5, 'a', 0)").starts_with("23505"));
    holder.run("COMMIT");
}

/// COPY in a block sees the parents that others have committed since its last statement.
#[test]
fn copy_in_a_block_has_a_snapshot_of_its_own() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE p (id int PRIMARY KEY)");
    client.run("CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)");
    assert_eq!(client.run("BEGIN; SELECT count(*) FROM p"), "BEGIN\n0\nSELECT 1");
    assert_eq!(client.run("INSERT INTO c VALUES (1, NULL)"), "INSERT 0 1");
    other.run("INSERT INTO p VALUES (1)");
    let begun = client.run("COPY c FROM STDIN");
    assert!(begun.starts_with("CopyIn"), "{begun}");
    run_now(client.session.copy_data(b"2\t1\n")).expect("it is a row");
    assert_eq!(run_now(client.session.copy_done()).expect("the parent is there"), "COPY 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
}

/// A call that waits inside of a block with handlers runs again from its begin.
#[test]
fn blocks_with_handlers_wait_for_rows() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE counter (id int PRIMARY KEY, v int NOT NULL)");
    client.run("INSERT INTO counter VALUES (1, 0), (2, 0), (3, 0)");
    client.run(
        "CREATE FUNCTION adds(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int := 0; \
         BEGIN UPDATE counter SET v = v + 1 WHERE id = a; BEGIN UPDATE counter SET v = v + 1 WHERE id \
         = b; IF b = 2 THEN RAISE EXCEPTION 'undone'; END IF; n := 1; EXCEPTION WHEN raise_exception \
         THEN UPDATE counter SET v = v + 10 WHERE id = 3; END; RETURN n; END $$",
    );
    let expected = Mutex::new([0_u64; 3]);
    in_threads(&database, |thread, client| {
        let mut state = thread + 7;
        let mut done = 0;
        while done < ROUNDS / 2 {
            let (a, b) = (draw(&mut state, 2) + 1, draw(&mut state, 2) + 1);
            match client.query(&format!("SELECT adds({a}, {b})")) {
                Ok(shown) => {
                    assert_eq!(shown, format!("{}\nSELECT 1", 2 - b));
                    let mut counts = expected.lock().expect("no holder panics");
                    counts[a as usize - 1] += 1;
                    if b == 2 {
                        counts[2] += 10
                    } else {
                        counts[0] += 1
                    };
                    done += 1;
                }
                Err(error) => assert_eq!(error.sqlstate, "40P01"),
            }
        }
    });
    let [one, two, three] = expected.into_inner().expect("no holder panics");
    let counted = client.run("SELECT v FROM counter ORDER BY id");
    assert_eq!(counted, format!("{one}\n{two}\n{three}\nSELECT 3"));
}
