//! A development cluster: all its servers as processes on this host, started and ended together.

use super::place;
use anyhow::{Context, Result, bail, ensure};
use membership::{ClusterFile, ClusterMap, Registry};
use namdb::host::{Moment, sleep_ms};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How long the servers may take to start: the first touch of memory is not part of it.
const START_S: f64 = 20.0;
/// How long servers may take to end.
const STOP_S: f64 = 10.0;
/// Between two looks.
const LOOK_MS: u64 = 5;

/// Writes the file of a new cluster. One that is there is kept, unless it may be replaced.
pub fn write(file: &Path, cluster: &ClusterFile) -> Result<()> {
    ensure!(
        !file.exists(),
        "{} is there already; start that cluster without options that describe a new one, or choose another \
         name with --file",
        file.display()
    );
    fs::write(file, cluster.to_toml()).with_context(|| format!("cannot write {}", file.display()))
}

/// Starts a process for each memory server, and waits until there is a database.
pub fn start(file: &Path) -> Result<ClusterMap> {
    let cluster = place::load(file, &[])?;
    let registry = Registry::open(&cluster)?;
    let running = registry.map()?;
    ensure!(
        running.members.is_empty(),
        "cluster {} runs already, with {} servers; `namdb status --cluster {}` shows them",
        cluster.name,
        running.members.len(),
        file.display()
    );
    let logs = logs(&cluster);
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut servers: Vec<(PathBuf, Child)> = Vec::new();
    for number in 0..cluster.memory.len() {
        let log = logs.join(format!("memory-{number}.log"));
        let started = spawn(file, number, &log);
        match started {
            Ok(child) => servers.push((log, child)),
            Err(error) => return Err(end_all(servers, error)),
        }
    }
    let map = wait_for_database(&registry, &mut servers);
    map.map_err(|error| end_all(servers, error))
}

/// Where the servers' messages go.
pub fn logs(cluster: &ClusterFile) -> PathBuf {
    cluster.directory.join("log")
}

fn spawn(file: &Path, number: usize, log: &Path) -> Result<Child> {
    let program = std::env::current_exe().context("cannot find this program's file")?;
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let errors = output.try_clone().context("cannot share a log")?;
    // A group of their own: a Ctrl-C at the terminal is not meant for them.
    std::os::unix::process::CommandExt::process_group(
        Command::new(program)
            .args(["memory-server", "--cluster"])
            .arg(file)
            .args(["--number", &number.to_string()])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors),
        0,
    )
    .spawn()
    .context("cannot start a server")
}

fn wait_for_database(registry: &Registry, servers: &mut [(PathBuf, Child)]) -> Result<ClusterMap> {
    let start = Moment::now();
    loop {
        let map = registry.map()?;
        if map.database()?.is_some() {
            return Ok(map);
        }
        for (number, (log, child)) in servers.iter_mut().enumerate() {
            if child.try_wait().context("a server cannot be watched")?.is_some() {
                let said = fs::read_to_string(log).unwrap_or_default();
                bail!("memory server {number} did not start: {}", said.trim());
            }
        }
        ensure!(start.elapsed_s() < START_S, "the servers did not start within {START_S} s");
        sleep_ms(LOOK_MS);
    }
}

fn end_all(servers: Vec<(PathBuf, Child)>, error: anyhow::Error) -> anyhow::Error {
    for (_, mut child) in servers {
        // Whoever has ended already cannot be ended.
        let _ = child.kill();
        let _ = child.wait();
    }
    error
}

/// Asks all servers of this host to end, and waits until they have; how many there were.
pub fn stop(file: &Path) -> Result<usize> {
    let cluster = place::load(file, &[])?;
    let registry = Registry::open(&cluster)?;
    let map = registry.map()?;
    let servers: Vec<Pid> =
        map.members.iter().filter_map(|member| Pid::from_raw(member.pid as i32)).collect();
    for &server in &servers {
        // One that has just ended on its own is no error.
        let _ = kill_process(server, Signal::TERM);
    }
    let start = Moment::now();
    while servers.iter().any(|&server| test_kill_process(server).is_ok()) {
        ensure!(
            start.elapsed_s() < STOP_S,
            "some servers of cluster {} still run after {STOP_S} s; `namdb status` shows their process numbers",
            cluster.name
        );
        sleep_ms(LOOK_MS);
    }
    Ok(servers.len())
}
