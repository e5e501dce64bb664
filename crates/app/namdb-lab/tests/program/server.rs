//! Memory servers as processes of one test, which reads their events.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use super::support::{temporary, text, write_secret};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Maximal time for anything that a server does by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with a cluster's file; dropping it removes the folder.
pub struct Site {
    pub folder: PathBuf,
    pub file: PathBuf,
}

impl Site {
    /// A cluster with one memory server of 64 MiB; `lines` come before the servers.
    pub fn new(name: &str, fabric: &str, lines: &str) -> Self {
        let folder = temporary(name);
        std::fs::create_dir_all(&folder).expect("room for a folder");
        let file = folder.join("cluster.toml");
        write_secret(&file);
        let site = Self { folder, file };
        site.write(&format!(
            "name = \"{name}\"\nid = \"{:016x}\"\nfabric = \"{fabric}\"\ndirectory = \"run\"\n{lines}\n\
             [[memory]]\nbytes = \"64 MiB\"\n",
            std::process::id()
        ));
        site
    }

    pub fn write(&self, cluster: &str) {
        std::fs::write(&self.file, cluster).expect("room for a file");
    }

    pub fn server(&self, options: &str) -> Server {
        Server::start(&self.command(options), &self.folder.join("events"))
    }

    /// The arguments of the memory server.
    pub fn command(&self, options: &str) -> String {
        format!("memory-server --cluster {} --number 0 {options}", self.file.display())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A process that logs to a file; dropping it kills the process.
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    pub fn start(arguments: &str, log: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
        command.args(arguments.split_whitespace());
        Self::spawn(&mut command, log)
    }

    pub fn spawn(command: &mut Command, log: &Path) -> Self {
        let file = std::fs::File::create(log).expect("room for a file");
        let child = command.stdout(Stdio::null()).stderr(file).spawn().expect("it was built");
        Self { child, log: log.to_owned() }
    }

    pub fn log(&self) -> String {
        text(&std::fs::read(&self.log).expect("the file is there"))
    }

    /// All events so far; each must be a line of JSON.
    pub fn events(&self) -> Vec<Value> {
        let log = self.log();
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let event = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        whole.lines().map(event).collect()
    }

    /// Waits for an event with this message.
    pub fn wait_for(&self, message: &str) -> Value {
        self.wait_until(message, |event| event["message"] == message)
    }

    pub fn wait_until(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(event) = self.events().into_iter().find(&is_it) {
                return event;
            }
            assert!(start.elapsed() < PATIENCE, "no event {what} in\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits for the process to exit.
    pub fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has exited cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
