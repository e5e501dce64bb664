//! A development cluster: all its servers as processes on this host, started and ended together.

use super::keys;
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

/// Writes the file of a new cluster, and keys beside it if it is to be `encrypted`. One that is there is kept.
pub fn write(file: &Path, mut cluster: ClusterFile, encrypted: bool) -> Result<()> {
    ensure!(
        !file.exists(),
        "{} is there already; start that cluster without options that describe a new one, or choose another \
         name with --file",
        file.display()
    );
    if encrypted {
        cluster.tls = Some(keys::make(file, &cluster)?);
    }
    fs::write(file, cluster.to_toml()).with_context(|| format!("cannot write {}", file.display()))
}

/// Starts a process for each server, and waits until all are there.
pub fn start(file: &Path) -> Result<ClusterMap> {
    let cluster = ClusterFile::load(file, &[])?;
    let registry = Registry::open(&cluster)?;
    let running = registry.map()?;
    if !running.members.is_empty() {
        bail!(runs_already(&cluster, &running, file));
    }
    let logs = logs(&cluster);
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut servers = Vec::new();
    let map = start_all(&cluster, &registry, file, &mut servers);
    map.map_err(|error| end_all(servers, error))
}

/// Who is there of a cluster that is to be started, and the way out.
fn runs_already(cluster: &ClusterFile, running: &ClusterMap, file: &Path) -> String {
    let memory = (running.memory_servers().count(), cluster.memory.len());
    let compute = (running.compute_servers().count(), cluster.compute.len());
    let (name, file) = (&cluster.name, file.display());
    let who = format!(
        "cluster {name} runs already, with {} of {} memory servers and {} of {} compute servers",
        memory.0, memory.1, compute.0, compute.1
    );
    match memory.0 < memory.1 || compute.0 < compute.1 {
        true => format!(
            "{who}; `namdb cluster down --file {file}` ends those, and then it can be started"
        ),
        false => format!("{who}; `namdb status --cluster {file}` shows them"),
    }
}

/// Memory servers first: compute servers join once there is a database.
fn start_all(
    cluster: &ClusterFile,
    registry: &Registry,
    file: &Path,
    servers: &mut Vec<Server>,
) -> Result<ClusterMap> {
    let logs = logs(cluster);
    for number in 0..cluster.memory.len() {
        servers.push(Server::spawn(file, &logs, "memory", number)?);
    }
    wait_until(registry, servers, |map| Ok(map.database()?.is_some()))?;
    for number in 0..cluster.compute.len() {
        servers.push(Server::spawn(file, &logs, "compute", number)?);
    }
    wait_until(registry, servers, |map| Ok(map.compute_servers().count() == cluster.compute.len()))
}

/// A process that was started.
struct Server {
    role: &'static str,
    number: usize,
    log: PathBuf,
    child: Child,
}

/// Where the servers' messages go.
pub fn logs(cluster: &ClusterFile) -> PathBuf {
    cluster.directory.join("log")
}

impl Server {
    fn spawn(file: &Path, logs: &Path, role: &'static str, number: usize) -> Result<Self> {
        let log = logs.join(format!("{role}-{number}.log"));
        let program = std::env::current_exe().context("cannot find this program's file")?;
        let output =
            File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let errors = output.try_clone().context("cannot share a log")?;
        // A group of their own: a Ctrl-C at the terminal is not meant for them.
        let child = std::os::unix::process::CommandExt::process_group(
            Command::new(program)
                .args([&format!("{role}-server"), "--cluster"])
                .arg(file)
                .args(["--number", &number.to_string()])
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(errors),
            0,
        )
        .spawn()
        .with_context(|| format!("cannot start {role} server {number}"))?;
        Ok(Self { role, number, log, child })
    }
}

/// Waits until the cluster is as it should be.
fn wait_until(
    registry: &Registry,
    servers: &mut [Server],
    is_there: impl Fn(&ClusterMap) -> Result<bool>,
) -> Result<ClusterMap> {
    let start = Moment::now();
    loop {
        let map = registry.map()?;
        if is_there(&map)? {
            return Ok(map);
        }
        for Server { role, number, log, child } in servers.iter_mut() {
            if child.try_wait().context("a server cannot be watched")?.is_some() {
                let said = fs::read_to_string(log).unwrap_or_default();
                bail!("{role} server {number} did not start: {}", said.trim());
            }
        }
        ensure!(start.elapsed_s() < START_S, "the servers did not start within {START_S} s");
        sleep_ms(LOOK_MS);
    }
}

fn end_all(servers: Vec<Server>, error: anyhow::Error) -> anyhow::Error {
    for Server { mut child, .. } in servers {
        // Whoever has ended already cannot be ended.
        let _ = child.kill();
        let _ = child.wait();
    }
    error
}

/// Asks all servers of this host to end, and waits until they have; how many there were.
pub fn stop(file: &Path) -> Result<usize> {
    let cluster = ClusterFile::load(file, &[])?;
    let registry = Registry::open(&cluster)?;
    let map = registry.map()?;
    let host = rustix::system::uname();
    let here = host.nodename().to_string_lossy();
    let ours = map.members.iter().filter(|member| member.host == here);
    let servers: Vec<Pid> = ours.filter_map(|member| Pid::from_raw(member.pid as i32)).collect();
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
