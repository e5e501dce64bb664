//! The child: opens the directory, commits in several threads, and reports until it is killed.

use crate::caretaker::Caretaker;
use crate::pipe::{Message, Sender, Task};
use crate::tables::{ACCOUNTS, Account, BALANCE, Counter, TWINS, Tables, Twin, WORKERS};
use crate::work::{Setting, Worker, read_notes, read_numbers};
use anyhow::{Context, Result, bail};
use namdb::host::sleep_ms;
use namdb::{AsyncSession, Config, Db, Durability, Isolation, Retry};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Memory of the database. It is never full.
const SERVER_BYTES: u64 = 64 << 20;
/// Threads that run the transactions of asynchronous workers.
const ENGINE_THREADS: usize = 2;
/// A child that nobody kills ends by itself.
const TIME_MAX_MS: u64 = 60_000;

/// The orders of the parent.
#[derive(Clone, Debug)]
pub struct Orders {
    pub directory: PathBuf,
    pub seed: u64,
    pub round: u64,
    pub durability: Durability,
    /// The first task of the caretaker.
    pub first: Task,
    /// Commits end after this time; the child waits then, until it is killed.
    pub quiet_after_ms: Option<u64>,
    pub acknowledges_early: bool,
}

/// How parent and child open the database.
pub fn config(directory: PathBuf, durability: Durability) -> Config {
    let directory = Some(directory);
    Config { server_bytes: SERVER_BYTES, directory, durability, ..Config::default() }
}

pub fn run(orders: &Orders) -> Result<()> {
    let sender = Sender::stdout()?;
    sender.send(Message::Opening)?;
    let config = config(orders.directory.clone(), orders.durability);
    // If the parent has died, the next message says so.
    let loading = |_| drop(sender.send(Message::Loading));
    let db = namdb::open_with_progress(config, &loading).context("the child cannot open")?;
    sender.send(Message::Opened)?;
    let tables = Tables::open_or_create(&db)?;
    set_up(&db, &tables)?;
    let setting = Setting {
        tables,
        seed: orders.seed,
        round: orders.round,
        is_synchronous: orders.durability == Durability::Synchronous,
        acknowledges_early: orders.acknowledges_early,
    };
    let mut resumed = Vec::new();
    for (worker, number) in (0..WORKERS).zip(read_numbers(&db, &tables)?) {
        sender.send(Message::Resumed { worker, number })?;
        resumed.push((worker, number, read_notes(&db, &tables, worker)?));
    }
    sender.send(Message::Running)?;
    load(&db, orders, setting, resumed, &sender)
}

/// Runs the threads until the time of the orders is over.
fn load(
    db: &Db,
    orders: &Orders,
    setting: Setting,
    resumed: Vec<(u32, u64, crate::plan::Notes)>,
    sender: &Sender,
) -> Result<()> {
    let asynchronous = AsyncSession::open(db, ENGINE_THREADS)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for resumed in resumed {
            let mut worker = Worker::new(db, asynchronous.clone(), setting, resumed, sender);
            let is_over = &is_over;
            scope.spawn(move || exit_on_error(worker.run(is_over)));
        }
        if orders.quiet_after_ms.is_none() {
            let Orders { seed, round, first, .. } = *orders;
            let mut caretaker = Caretaker::new(db, setting.tables, sender, seed, round);
            let is_over = &is_over;
            scope.spawn(move || exit_on_error(caretaker.run(first, is_over)));
        }
        sleep_ms(orders.quiet_after_ms.unwrap_or(TIME_MAX_MS));
        is_over.store(true, Relaxed);
    });
    if orders.quiet_after_ms.is_none() {
        bail!("nobody has killed the child for {TIME_MAX_MS} ms");
    }
    sender.send(Message::Quiet)?;
    sleep_ms(TIME_MAX_MS);
    bail!("nobody has killed the quiet child for {TIME_MAX_MS} ms")
}

/// Ends the whole child, so that the parent need not wait for its other threads.
fn exit_on_error(outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("child: {error:#}");
        std::process::exit(1);
    }
}

/// The first rows, in one transaction that waits for the disk at any level.
fn set_up(db: &Db, tables: &Tables) -> Result<()> {
    let done = db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        txn.set_synchronous(true);
        if txn.get(tables.counters, 0)?.is_some() {
            return namdb::Ok(());
        }
        for worker in 0..WORKERS {
            txn.insert(tables.counters, &Counter { worker, number: 0, round: 0 })?;
        }
        for account in 0..ACCOUNTS {
            txn.insert(tables.accounts, &Account { account, balance: BALANCE, entries: 0 })?;
        }
        (0..TWINS).try_for_each(|twin| txn.insert(tables.twins, &Twin { twin, name: twin }))
    });
    done.context("cannot insert the first rows")
}

/// The level as an argument: `synchronous`, or an interval in milliseconds.
pub fn level(text: &str) -> Result<Durability, String> {
    match text {
        "synchronous" => Ok(Durability::Synchronous),
        interval => match interval.parse() {
            Ok(interval_ms) => Ok(Durability::Periodic(Duration::from_millis(interval_ms))),
            Err(_) => Err("`synchronous` or an interval in milliseconds".to_owned()),
        },
    }
}
