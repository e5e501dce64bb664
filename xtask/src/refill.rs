//! `cargo xtask refill`: kills a memory server of a cluster with replicas, starts it again, and
//! measures how long it takes until it has its data, and how much that costs transactions.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::{clock, process};

/// The server that is killed, and the one of whose region it has the replica.
const KILLED: u64 = 2;
const BEFORE: u64 = 1;
/// Bytes of a record that is loaded.
const RECORD_BYTES: u64 = 1000;
/// Longest time until the others go on, and until the server has its data.
const GO_ON: Duration = Duration::from_secs(30);
const FILLED: Duration = Duration::from_secs(600);

/// The size of the experiment.
#[derive(Args)]
pub struct Options {
    /// Records of 1,000 bytes on three servers: one of them has two thirds of all
    #[arg(long, default_value_t = 1_300_000)]
    records: u64,
    /// Memory of each server's region
    #[arg(long, default_value = "2G")]
    memory: String,
    /// Seconds of each measurement of transactions
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The program; by default a release build of this folder
    #[arg(long)]
    program: Option<PathBuf>,
}

/// A cluster of three memory servers, which ends with it.
struct Cluster {
    program: PathBuf,
    folder: PathBuf,
}

/// Measures, and prints the figures.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => built(root)?,
    };
    let folder = std::env::temp_dir().join(format!("namdb-refill-{}", std::process::id()));
    std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let cluster = Cluster { program, folder };
    let memory = &options.memory;
    cluster.run(&format!(
        "cluster up --fabric tcp --memory-servers 3 --replicas 2 --memory {memory} --file"
    ))?;
    let (records, seconds) = (options.records, options.seconds);
    cluster.run(&format!(
        "bench ycsb --records {records} --record-bytes {RECORD_BYTES} --seconds 0.1 --warm-up 0 --cluster"
    ))?;
    let whole = cluster.throughput(seconds)?;
    let status = cluster.status()?;
    let bytes = server(&status, KILLED)?.1 + server(&status, BEFORE)?.1;
    let process = server(&status, KILLED)?.0.to_string();
    process::run(Command::new("kill").args(["-9", &process]))?;
    cluster.wait(GO_ON, |status| status["missing"] == serde_json::json!([KILLED]))?;
    let without = cluster.throughput(seconds)?;
    let mut returned = cluster.start(&format!("memory-server --number {KILLED} --cluster"))?;
    let start = clock::now();
    let (filled, beside) = std::thread::scope(|scope| {
        let load = scope.spawn(|| cluster.throughput(seconds));
        let is_whole = |status: &Value| {
            status["state"] == "running" && status["regions"] == serde_json::json!([])
        };
        let filled = cluster.wait(FILLED, is_whole).map(|()| start.elapsed());
        (filled, load.join().expect("it does not panic"))
    });
    drop(cluster);
    returned.wait().context("the server that has returned")?;
    let (seconds, beside) = (filled?.as_secs_f64(), beside?);
    let gigabytes = bytes as f64 / 1e9;
    println!("{gigabytes:.2} GB were there again {seconds:.1} s after the start of the server");
    println!("that is {:.1} s for 1 GB", seconds / gigabytes);
    println!(
        "transactions per second: {whole:.0} with all servers, {without:.0} without the killed one"
    );
    let cost = 100.0 * (1.0 - beside / without);
    println!("beside the fill: {beside:.0}, which is {cost:.0} % less than without the server");
    Ok(())
}

fn built(root: &Path) -> Result<PathBuf> {
    process::run(&mut process::cargo(root, &["build", "--release", "-p", "namdb-program"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(target.join("release/namdb"))
}

/// The process and the bytes in use of a memory server.
fn server(status: &Value, number: u64) -> Result<(u64, u64)> {
    let servers = status["servers"].as_array().context("`status` has no servers")?;
    let is_it = |server: &&Value| server["role"] == "memory" && server["number"] == number;
    let server =
        servers.iter().find(is_it).with_context(|| format!("no memory server {number}"))?;
    let field = |name: &str| server[name].as_u64().with_context(|| format!("it has no {name}"));
    Ok((field("process")?, field("used_bytes")?))
}

impl Cluster {
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments.split_whitespace()).arg(self.folder.join("cluster.toml"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command, to which the cluster's file is added; returns its output.
    fn run(&self, arguments: &str) -> Result<String> {
        let output = self.command(arguments).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`namdb {arguments}` failed: {errors}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn start(&self, arguments: &str) -> Result<Child> {
        let mut command = self.command(arguments);
        Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    /// Committed transactions per second of a bank beside the data.
    fn throughput(&self, seconds: u64) -> Result<f64> {
        let bank = "bench bank --fresh --records 10000 --threads 1 --lanes 8";
        let told = self.run(&format!("{bank} --seconds {seconds} --json - --cluster"))?;
        let report: Value = serde_json::from_str(&told)?;
        report["txn_per_s"].as_f64().context("the report has no `txn_per_s`")
    }

    /// The status, also of a cluster that is not as it should be.
    fn status(&self) -> Result<Value> {
        let output = self.command("status --json - --cluster").output()?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn wait(&self, patience: Duration, is_there: impl Fn(&Value) -> bool) -> Result<()> {
        let start: Instant = clock::now();
        loop {
            let status = self.status()?;
            if is_there(&status) {
                return Ok(());
            }
            ensure!(start.elapsed() < patience, "it takes too long: {status:#}");
            clock::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.run("cluster down --file");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
