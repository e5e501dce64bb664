//! Sessions of several threads.

use crate::support::{Client, new_database};
use fabric::run_now;
use sql_session::{LocalHost, SqlDatabase};
use sql_value::Value;

const THREADS: i64 = 4;
const TRANSACTIONS: i64 = 150;

/// The standard transaction of pgbench; the row of the branch is changed by all.
fn transfer(client: &mut Client, account: i64, amount: i64) -> Result<(), sql_session::SqlError> {
    let mut run = |text: &str, parameters: &[i64]| {
        let parameters: Vec<Value> = parameters.iter().copied().map(Value::Int).collect();
        client.statement(text, &[], &parameters).map(drop)
    };
    run("BEGIN", &[])?;
    run("UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2", &[amount, account])?;
    run("SELECT abalance FROM accounts WHERE aid = $1", &[account])?;
    run("UPDATE branches SET bbalance = bbalance + $1 WHERE bid = 1", &[amount])?;
    run(
        "INSERT INTO history (aid, delta, mtime) VALUES ($1, $2, CURRENT_TIMESTAMP)",
        &[account, amount],
    )?;
    run("COMMIT", &[])
}

fn transfers(database: &SqlDatabase<LocalHost>, thread: i64) {
    let mut client = Client::of(database);
    for number in 0..TRANSACTIONS {
        let account = 1 + (number * THREADS + thread) % 1000;
        let done = transfer(&mut client, account, number % 7 - 3);
        done.unwrap_or_else(|error| panic!("thread {thread}, transaction {number}: {error}"));
    }
    run_now(client.session.close());
}

#[test]
#[allow(clippy::disallowed_methods, reason = "sessions of threads are the subject")]
fn the_standard_transaction_of_pgbench_reports_no_conflicts() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE branches (bid int PRIMARY KEY, bbalance int)");
    client.run("CREATE TABLE accounts (aid int PRIMARY KEY, abalance int)");
    client.run("CREATE TABLE history (aid int, delta int, mtime timestamp)");
    client.run("INSERT INTO branches VALUES (1, 0)");
    client.run("INSERT INTO accounts SELECT n, 0 FROM generate_series(1, 1000) n");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let database = &database;
            scope.spawn(move || transfers(database, thread));
        }
        // The catalog changes meanwhile.
        for number in 0..5 {
            assert_eq!(client.run(&format!("CREATE TABLE other{number} (a int)")), "CREATE TABLE");
            assert_eq!(client.run(&format!("DROP TABLE other{number}")), "DROP TABLE");
        }
    });
    let sums = "SELECT sum(abalance) = (SELECT sum(delta) FROM history), \
                (SELECT bbalance FROM branches) = (SELECT sum(delta) FROM history) FROM accounts";
    assert_eq!(client.run(sums), "t|t\nSELECT 1");
    let count = format!("{}\nSELECT 1", THREADS * TRANSACTIONS);
    assert_eq!(client.run("SELECT count(*) FROM history"), count);
}
