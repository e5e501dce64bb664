//! A cluster of processes on this host, as `namdb cluster up` starts it.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long anything may take that the cluster does by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends with its owner.
pub struct Cluster {
    pub file: PathBuf,
}

impl Cluster {
    /// Two memory servers of 64 MiB.
    pub fn up(name: &str, fabric: &str) -> Self {
        let name = format!("namdb-connect-{name}-{fabric}-{}.toml", std::process::id());
        let cluster = Self { file: std::env::temp_dir().join(name) };
        cluster.start(&format!("--fabric {fabric} --memory-servers 2 --memory 64M"));
        cluster
    }

    /// Starts it again, where `options` describe no new one.
    pub fn start(&self, options: &str) {
        let up = namdb(&format!("cluster up --file {} {options}", self.file.display()));
        assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    }

    pub fn down(&self) {
        namdb(&format!("cluster down --file {}", self.file.display()));
    }

    pub fn status(&self) -> Value {
        let output = namdb(&format!("status --json - --cluster {}", self.file.display()));
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    }

    /// The processes of a role that `namdb status` lists.
    pub fn processes(&self, role: &str) -> Vec<i32> {
        let status = self.status();
        let servers = status["servers"].as_array().expect("a list");
        let of_role = servers.iter().filter(|server| server["role"] == role);
        of_role.map(|server| server["process"].as_i64().expect("a number") as i32).collect()
    }

    pub fn kill_memory_server(&self, number: usize) {
        let process = Pid::from_raw(self.processes("memory")[number]).expect("it is a process");
        kill_process(process, Signal::KILL).expect("it runs");
    }

    /// Waits until `namdb status` lists this many compute servers.
    pub fn await_compute_servers(&self, count: usize) {
        let start = Instant::now();
        while self.processes("compute").len() != count {
            assert!(start.elapsed() < PATIENCE, "not {count} compute servers: {}", self.status());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.down();
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(self.file.with_extension("secret"));
    }
}

fn namdb(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb"));
    command.args(arguments.split_whitespace()).output().expect("the program was built")
}
