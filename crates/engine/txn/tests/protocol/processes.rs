//! Memory servers in processes of their own, whose memory this process maps: the test program,
//! started again.

use crate::support::server::{SERVERS, admission, memory_server as memory_server_of};
use fabric::shm::{ConnectConfig, ShmPort, connect};
use fabric::{Admission, Hello, LocalEnv, Patience, Port, ServeCounters, Sharing, port, run_now};
use layout::NodeId;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::{Database, DatabaseConfig};

/// The line that a memory server prints when it listens.
const READY: &str = "[ready]";
/// The environment variables with a memory server's folder and number.
const FOLDER: &str = "NAMDB_TEST_FOLDER";
const NUMBER: &str = "NAMDB_TEST_NUMBER";

/// Runs a memory server if the program was started as one; it ends with its parent. Otherwise tests
/// that.
#[test]
fn memory_server() {
    let (Ok(folder), Ok(number)) = (std::env::var(FOLDER), std::env::var(NUMBER)) else {
        let (mut servers, database) = Processes::start();
        run_now(database.check()).expect("they are there");
        for child in &mut servers.children {
            drop(child.stdin.take());
            assert!(child.wait().expect("a child").success());
        }
        return;
    };
    let node = NodeId(number.parse().expect("a number"));
    let world = memory_server_of(node, Sharing::File);
    let end_with_owner = || {
        // The parent writes nothing; the read returns when it has ended.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    };
    std::thread::Builder::new().spawn(end_with_owner).expect("a thread");
    let port = ShmPort::new(Path::new(&folder), Arc::new(admission(node)), &world);
    let mut ports: [Box<dyn Port>; 1] = [Box::new(port.expect("a free place"))];
    println!("{READY}");
    std::io::stdout().flush().expect("the parent reads");
    let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
    port::serve(&mut ports, &stop, Patience::default(), &counters);
}

/// Memory servers, killed with their owner.
pub struct Processes {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Processes {
    /// Starts two memory servers with an empty database, as this process sees it.
    pub fn start() -> (Self, Database<LocalEnv>) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("namdb-litmus-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let mut processes = Self { folder, children: Vec::new() };
        (0..SERVERS).for_each(|number| processes.add(number));
        let hello = |number| {
            let Admission { node, cluster, server, key, program, .. } = admission(NodeId(number));
            let process = std::process::id();
            let (epoch, caller, endpoint) = (1, process.into(), 0);
            Hello { node, cluster, epoch, server, key, caller, endpoint, process, program }
        };
        let config = ConnectConfig::new(
            &processes.folder,
            fabric::Secret::new([7; 32]),
            (0..SERVERS).map(hello).collect(),
        );
        let world = connect(&config).expect("they have just started");
        let nodes = (0..SERVERS).map(NodeId).collect();
        let database = Database::create(world.endpoint(), nodes, DatabaseConfig::default());
        (processes, run_now(database).expect("empty servers"))
    }

    fn add(&mut self, number: u16) {
        let own = std::env::current_exe().expect("a running program has a file");
        let mut command = Command::new(own);
        command.args(["--exact", "processes::memory_server", "--nocapture", "--test-threads=1"]);
        command.env(FOLDER, &self.folder).env(NUMBER, number.to_string());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it can be started again");
        let output = child.stdout.take().expect("a pipe");
        self.children.push(child);
        let mut lines = BufReader::new(output).lines();
        // The line follows output of the test harness.
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.ends_with(READY)));
        assert!(is_ready, "memory server {number} has ended");
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        // A folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
