//! Another program beside this test: the test's binary, started again.

use super::tables::{Counter, count_up};
use namdb::{RecordTable, record};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The work of the process, and its cluster file.
const WORK: &str = "NAMDB_CONNECT_TEST_WORK";
const FILE: &str = "NAMDB_CONNECT_TEST_FILE";
/// Begins its line, among those of the test harness.
const MARK: &str = "peer: ";

/// Transactions of a peer that counts.
pub const COUNTS: i64 = 50;

/// A peer declares the table of counters as a program of another version does.
mod later {
    namdb::record! {
        pub struct Counter in "counter" {
            key { name: i32 }
            value: i32,
        }
    }
}

record! {
    /// A row in a table that only peers declare.
    struct Note in "note" {
        key { number: i64 }
        process: i64,
    }
}

/// A process that joins the cluster.
pub struct Peer(Child);

impl Peer {
    pub fn start(work: &str, cluster: &Path) -> Self {
        let child = Command::new(std::env::current_exe().expect("this test runs"))
            .args(["--exact", "peer::process", "--nocapture"])
            .env(WORK, work)
            .env(FILE, cluster)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.expect("a test starts again"))
    }

    /// Lets the process end, and returns what it has to say.
    pub fn end(mut self) -> String {
        drop(self.0.stdin.take());
        let mut text = String::new();
        let mut output = self.0.stdout.take().expect("it is piped");
        output.read_to_string(&mut text).expect("it writes text");
        assert!(self.0.wait().expect("it was started here").success(), "{text}");
        let said = text.lines().find_map(|line| line.split_once(MARK));
        said.unwrap_or_else(|| panic!("it says nothing: {text}")).1.to_owned()
    }
}

/// The peer's side: does nothing in an ordinary run of the tests.
#[test]
fn process() {
    let (Ok(work), Some(file)) = (std::env::var(WORK), std::env::var_os(FILE)) else { return };
    let db = namdb::connect(file).expect("the cluster runs");
    let said = match work.as_str() {
        "count" => {
            let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
            let counters = counters.expect("it is there now");
            let mut session = db.session();
            for _ in 0..COUNTS {
                count_up(&mut session, counters).expect("it commits");
            }
            "counted".to_owned()
        }
        "differ" => {
            let counters = RecordTable::<later::Counter>::open_or_create(&db, Default::default());
            counters.expect_err("the table has other columns").to_string()
        }
        // Until standard input ends, without a table that the test declares.
        "stay" => {
            let notes = RecordTable::<Note>::open_or_create(&db, Default::default());
            let end = std::io::stdin().read_to_string(&mut String::new());
            format!("stayed: {}", notes.is_ok() && end.is_ok())
        }
        other => panic!("no such work: {other}"),
    };
    println!("{MARK}{said}");
}
