//! The client: threads that count in rows of their own until the process is killed. It is this
//! program started again.

use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The cluster's file.
const FILE: &str = "NAMDB_TEST_KILLS_FILE";
/// Number of groups of a thread.
const GROUPS: &str = "NAMDB_TEST_KILLS_GROUPS";
/// Threads of the client. Each writes rows of its own, and one that it shares with others.
pub const THREADS: i64 = 4;
/// Rows that one transaction writes.
pub const GROUP_ROWS: i64 = 12;
pub const SHARED_ROWS: i64 = 2;
/// Every fourth transaction writes the shared row, so that threads seldom wait for each other.
pub const SHARES_ONE_IN: i64 = 4;
/// First word of the line that a client writes when a transaction has committed; the thread and its
/// number follow.
const ACKNOWLEDGED: &str = "acknowledged";

record! {
    pub struct Counter in "counter" {
        key { number: i64 }
        value: i64,
        /// Makes commits longer, so that kills meet them.
        note: String[1000],
    }
}

impl Counter {
    pub fn new(number: i64, value: i64) -> Self {
        Self { number, value, note: format!("{value:>1000}") }
    }
}

/// The numbers of the table's rows: those of each thread's groups, then the shared ones.
/// Transaction n of a thread writes its group n mod `groups`.
#[derive(Clone, Copy)]
pub struct Rows {
    pub groups: i64,
}

impl Rows {
    pub const fn of_a_thread(self) -> i64 {
        self.groups * GROUP_ROWS
    }

    pub const fn first_shared(self) -> i64 {
        THREADS * self.of_a_thread()
    }

    pub const fn all(self) -> std::ops::Range<i64> {
        0..self.first_shared() + SHARED_ROWS
    }
}

/// Does nothing in an ordinary run of the tests.
#[test]
fn count_until_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let groups = std::env::var(GROUPS).ok().and_then(|groups| groups.parse().ok());
    let rows = Rows { groups: groups.expect("a number") };
    let db = namdb::connect(file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open(&db).expect("the table is there");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut session = db.session();
            scope.spawn(move || {
                let mut number = last_number(&mut session, table, (rows, thread));
                loop {
                    write_group(&mut session, table, (rows, thread), number + 1)
                        .expect("it commits");
                    number += 1;
                    let line = format!("{ACKNOWLEDGED} {thread} {number}\n");
                    std::io::stdout().write_all(line.as_bytes()).expect("the parent reads");
                }
            });
        }
    });
}

/// The number of the thread's last transaction.
fn last_number(
    session: &mut Session,
    table: RecordTable<Counter>,
    (rows, thread): (Rows, i64),
) -> i64 {
    let read = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let mut last = 0;
        for group in 0..rows.groups {
            let row = txn.get(table, thread * rows.of_a_thread() + group * GROUP_ROWS)?;
            last = last.max(row.expect("it was made").value);
        }
        Ok::<_, TransactionError>(last)
    });
    read.expect("rows can be read")
}

/// The transaction of a thread with this number, which it writes to a group of rows; every fourth
/// one adds 1 to the row that the thread shares.
fn write_group(
    session: &mut Session,
    table: RecordTable<Counter>,
    (rows, thread): (Rows, i64),
    value: i64,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let first = thread * rows.of_a_thread() + value % rows.groups * GROUP_ROWS;
        for number in first..first + GROUP_ROWS {
            txn.update(table, &Counter::new(number, value))?;
        }
        if value % SHARES_ONE_IN == 0 {
            let number = rows.first_shared() + thread % SHARED_ROWS;
            let value = txn.get(table, number)?.expect("it was made").value + 1;
            txn.update(table, &Counter::new(number, value))?;
        }
        Ok(())
    })
}

pub fn start_client(file: &Path, rows: Rows) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test runs"));
    command.args(["--exact", "kills::client::count_until_killed"]);
    command.env(FILE, file).env(GROUPS, rows.groups.to_string());
    command.stdout(Stdio::piped()).spawn().expect("a test starts again")
}

/// The last number that each thread has acknowledged until the client died; says when the first has
/// come.
pub fn last_numbers(
    lines: BufReader<ChildStdout>,
    first: &std::sync::mpsc::Sender<()>,
) -> [Option<i64>; THREADS as usize] {
    let mut last = [None; THREADS as usize];
    for line in lines.lines() {
        let line = line.expect("it is text");
        let Some(numbers) = line.strip_prefix(ACKNOWLEDGED) else { continue };
        let mut numbers =
            numbers.split_whitespace().map(|word| word.parse::<i64>().expect("number"));
        let thread = numbers.next().expect("the thread") as usize;
        let value = numbers.next().expect("the value");
        assert!(last[thread] < Some(value), "thread {thread} counts upwards");
        last[thread] = Some(value);
        let _ = first.send(());
    }
    last
}
