//! Processes of a test: starts this program again with a role in its environment.

use crate::parts;
use fabric::shm::{ConnectConfig, ConnectError, connect};
use fabric::{Hello, LocalWorld, Secret};
use layout::NodeId;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub const CLUSTER: u64 = 0xc1;
pub const SERVER: u64 = 0x5e;
pub const KEY: u64 = 0x4e;
pub const PROGRAM: &str = "0.1.0 of these tests";
pub const REGION_BYTES: u64 = 4 << 20;

/// The environment variables with the role and the folder.
const PART: &str = "NAMDB_TEST_PART";
const FOLDER: &str = "NAMDB_TEST_FOLDER";

/// The entry point of started processes; does nothing when the tests run.
#[test]
fn part() {
    let (Ok(part), Ok(folder)) = (std::env::var(PART), std::env::var(FOLDER)) else { return };
    match part.as_str() {
        "server" => parts::serve(Path::new(&folder)),
        "peer" => parts::serve_calls(Path::new(&folder)),
        "adder" => parts::add_when_told(&world(Path::new(&folder))),
        "caller" => parts::call_forever(&world(Path::new(&folder))),
        "sleeper" => parts::wait_forever(&world(Path::new(&folder))),
        other => panic!("there is no part {other}"),
    }
}

/// A temporary folder, removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("namdb-shm-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may not exist.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process with a role, killed on drop.
pub struct Player {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Player {
    /// Starts a process and waits until it has printed that it is ready.
    pub fn start(part: &str, folder: &Folder) -> Self {
        let own = std::env::current_exe().expect("a running program has a file");
        let mut command = Command::new(own);
        command.args(["--exact", "play::part", "--nocapture", "--test-threads=1"]);
        command.env(PART, part).env(FOLDER, &folder.0);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it can be started again");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut player = Self { child, input, output };
        player.wait_for("ready");
        player
    }

    /// Reads its output up to `[word]`; returns the rest of that line.
    pub fn wait_for(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.output.read_line(&mut line).expect("a pipe can be read");
            assert!(bytes > 0, "the process ended before it said {word}");
            // The first line of a role follows output of the test harness.
            if let Some((_, rest)) = line.split_once(&format!("[{word}]")) {
                return rest.trim().to_owned();
            }
        }
    }

    pub fn go(&mut self) {
        self.input.write_all(b"go\n").expect("it reads");
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("and has ended");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn secret() -> Secret {
    Secret::new([7; 32])
}

/// The first message of an admitted caller.
pub fn hello(caller: u64) -> Hello {
    Hello {
        node: NodeId(0),
        cluster: CLUSTER,
        epoch: 1,
        server: SERVER,
        key: KEY,
        caller,
        endpoint: 0,
        process: std::process::id(),
        program: PROGRAM.to_owned(),
    }
}

pub fn try_connect(folder: &Path, hello: Hello) -> Result<Arc<LocalWorld>, ConnectError> {
    connect(&ConnectConfig::new(folder, secret(), vec![hello]))
}

/// Connects this process to the server in `folder`, with its process number as identity.
pub fn world(folder: &Path) -> Arc<LocalWorld> {
    try_connect(folder, hello(std::process::id().into())).expect("the server lets us in")
}
