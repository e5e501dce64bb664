//! A development cluster: all its servers are processes on this host, started and stopped together.
//!
//! Decision: docs/decisions/0094-development-clusters-over-shared-memory-read-the-vector.md

use super::{data, exposure, keys, room};
use crate::bench::text::{bytes, counted};
use anyhow::{Context, Result, bail, ensure};
use layout::NodeId;
use membership::{ClusterFile, ClusterMap, Member, Registry};
use namdb::host::{Moment, sleep_ms};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Maximal time for the servers to start, which does not include the first touch of memory.
const START_S: f64 = 20.0;
/// Maximal time for the servers to stop.
const STOP_S: f64 = 10.0;
/// Maximal additional time for memory servers to read or write their data.
const DATA_S: f64 = 600.0;
/// After this time the progress of reading and writing data is shown.
const DATA_QUIET_S: f64 = 2.0;
/// Polling interval.
const POLL_MS: u64 = 5;
/// Suffixes of the servers' files in the cluster's directory.
const OF_SERVERS: [&str; 2] = [".socket", ".lock"];

/// Writes the file of a new cluster, and its keys if it is `encrypted`. Keeps an existing file.
pub fn write(file: &Path, mut cluster: ClusterFile, encrypted: bool) -> Result<()> {
    ensure!(
        !file.exists(),
        "{} exists already; start that cluster without options that describe a new one, or choose another name \
         with --file",
        file.display()
    );
    if encrypted {
        cluster.tls = Some(keys::make(file, &cluster)?);
    }
    fs::write(file, cluster.to_toml()).with_context(|| format!("cannot write {}", file.display()))
}

/// Starts a process for each server, waits until all have joined, and returns the file's content
/// and the members. `accepts_loss` begins with an empty database if data is lost.
pub fn start(file: &Path, accepts_loss: bool) -> Result<(ClusterFile, ClusterMap)> {
    let cluster = ClusterFile::load(file, &[])?;
    ensure_room(&cluster)?;
    exposure::check_all(&cluster)?;
    keys::check_all(&cluster)?;
    cluster.make_secret()?;
    cluster.read_secret()?;
    let registry = Registry::open(&cluster)?;
    let running = registry.map()?;
    if !running.members.is_empty() {
        bail!(runs_already(&cluster, &running, file));
    }
    if accepts_loss {
        data::accept_loss(&cluster)?;
    }
    let logs = logs(&cluster);
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut servers = Vec::new();
    let map = start_all(&cluster, &registry, file, &mut servers);
    let map = map.map_err(|error| end_all(&cluster, servers, error))?;
    Ok((cluster, map))
}

/// Rejects regions that exceed the host's memory. A server reserves its region and gets memory at
/// first use, so a server with a too large region would start and be killed later.
fn ensure_room(cluster: &ClusterFile) -> Result<()> {
    let wanted = cluster.memory.iter().fold(0_u64, |sum, server| sum.saturating_add(server.bytes));
    let wanted = wanted.saturating_mul(u64::from(cluster.replicas));
    let available = room::available_bytes();
    ensure!(
        wanted <= available,
        "the memory servers of cluster {} need {}, but this host has {} available; reduce their memory (--memory, or \
         `bytes` in the cluster's file), or stop other processes",
        cluster.name,
        bytes(wanted),
        bytes(available)
    );
    Ok(())
}

/// Describes the running servers of a cluster that was to be started, and what to do.
fn runs_already(cluster: &ClusterFile, running: &ClusterMap, file: &Path) -> String {
    let memory = (running.memory_servers().count(), cluster.memory.len());
    let compute = (running.compute_servers().count(), cluster.compute.len());
    let (name, file) = (&cluster.name, file.display());
    let who = format!(
        "cluster {name} runs already, with {} of {} and {} of {}",
        memory.0,
        counted(memory.1 as u64, "memory server"),
        compute.0,
        counted(compute.1 as u64, "compute server")
    );
    let goes_on = running.database().is_ok_and(|root| root.is_some_and(|root| root.replicas > 1));
    match memory.0 < memory.1 || compute.0 < compute.1 {
        true if goes_on && memory.0 < memory.1 => format!(
            "{who}; its database goes on with the replicas of what has died. `namdb status --cluster {file}` shows \
             them; `namdb cluster down --file {file}` ends the cluster, and its data"
        ),
        true => format!(
            "{who}; stop those with `namdb cluster down --file {file}`, then start it again"
        ),
        false => format!("{who}; `namdb status --cluster {file}` shows them"),
    }
}

/// Starts the memory servers first: compute servers join only once the database exists.
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
    wait_until(cluster, registry, servers, |map| Ok(map.database()?.is_some()))?;
    for number in 0..cluster.compute.len() {
        servers.push(Server::spawn(file, &logs, "compute", number)?);
    }
    let count = cluster.compute.len();
    wait_until(cluster, registry, servers, |map| Ok(map.compute_servers().count() == count))
}

/// A started process.
struct Server {
    role: &'static str,
    number: usize,
    log: PathBuf,
    child: Child,
}

/// The folder of the servers' logs.
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
        // A process group of its own, so that Ctrl-C at the terminal does not stop it.
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

/// Waits until the cluster reaches a state.
fn wait_until(
    cluster: &ClusterFile,
    registry: &Registry,
    servers: &mut [Server],
    is_there: impl Fn(&ClusterMap) -> Result<bool>,
) -> Result<ClusterMap> {
    let start = Moment::now();
    let mut news = DataNews::new(cluster);
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
        let limit_s = START_S + data_s(cluster);
        ensure!(start.elapsed_s() < limit_s, "the servers did not start within {limit_s} s");
        news.show();
        sleep_ms(POLL_MS);
    }
}

/// Ends servers that have started, by a signal that lets them write their data.
fn end_all(cluster: &ClusterFile, servers: Vec<Server>, error: anyhow::Error) -> anyhow::Error {
    let mut left: Vec<Child> = servers.into_iter().map(|server| server.child).collect();
    left.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
    for child in &left {
        // A server that has just exited is no error.
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
    let (start, limit_s) = (Moment::now(), STOP_S + data_s(cluster));
    while !left.is_empty() && start.elapsed_s() < limit_s {
        sleep_ms(POLL_MS);
        left.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
    }
    for mut child in left {
        // A process that has exited meanwhile cannot be killed.
        let _ = child.kill();
        let _ = child.wait();
    }
    error
}

/// Result of stopping a cluster.
pub struct Stopped {
    /// The directory in which the memory servers have kept their data.
    pub data: Option<PathBuf>,
    /// Number of servers that were stopped.
    pub servers: usize,
    /// The folder of the logs, if they were kept because a server had died before.
    pub logs: Option<PathBuf>,
    /// The cluster's directory, if it stays for another reason: it has files that the cluster did
    /// not make, or processes still use it.
    pub directory: Option<PathBuf>,
}

/// Stops all servers on this host, waits until they have exited, and removes their files from the
/// cluster's directory. Compute servers stop first, since they return their slots to the memory
/// servers.
pub fn stop(file: &Path) -> Result<Stopped> {
    let cluster = ClusterFile::load(file, &[])?;
    let Some(registry) = Registry::find(&cluster)? else {
        remove_files(&cluster, true)?;
        return Ok(Stopped { data: None, servers: 0, logs: None, directory: kept(&cluster) });
    };
    let map = registry.map()?;
    let has_died = map.loss().is_some()
        || (!map.members.is_empty() && !missing_compute_servers(&cluster, &map).is_empty());
    let compute = end_servers(&cluster, map.compute_servers())?;
    let memory = end_servers(&cluster, map.memory_servers())?;
    let data = cluster.data.clone().filter(|_| memory > 0 && data::is_any(&cluster));
    let loss = data::loss(&cluster);
    if registry.clear()? {
        remove_files(&cluster, !has_died && loss.is_none())?;
    }
    if let Some(loss) = loss {
        bail!(
            "{loss}; the logs are in {}. All servers are stopped; `namdb cluster up --accept-loss` begins with an empty \
             database",
            logs(&cluster).display()
        );
    }
    let logs = Some(logs(&cluster)).filter(|logs| has_died && logs.is_dir());
    let directory = kept(&cluster).filter(|_| logs.is_none());
    Ok(Stopped { data, servers: compute + memory, logs, directory })
}

/// The cluster's directory, if it still exists.
fn kept(cluster: &ClusterFile) -> Option<PathBuf> {
    Some(cluster.directory.clone()).filter(|directory| directory.exists())
}

/// Numbers of the memory servers in the file that have not joined.
pub fn missing_memory_servers(cluster: &ClusterFile, map: &ClusterMap) -> Vec<u16> {
    let is_there = |number: &u16| map.memory_server(NodeId(*number)).is_some();
    (0..cluster.memory.len() as u16).filter(|number| !is_there(number)).collect()
}

/// Numbers of the compute servers in the file that have not joined.
pub fn missing_compute_servers(cluster: &ClusterFile, map: &ClusterMap) -> Vec<u16> {
    let is_there = |number: &u16| map.compute_servers().any(|member| member.number == *number);
    (0..cluster.compute.len() as u16).filter(|number| !is_there(number)).collect()
}

/// Stops the servers that are on this host; returns their number.
fn end_servers<'a>(
    cluster: &ClusterFile,
    members: impl Iterator<Item = &'a Member>,
) -> Result<usize> {
    let host = rustix::system::uname();
    let here = host.nodename().to_string_lossy();
    let ours = members.filter(|member| member.host == here);
    let servers: Vec<Pid> = ours.filter_map(|member| Pid::from_raw(member.pid as i32)).collect();
    for &server in &servers {
        // A server that has just exited is no error.
        let _ = kill_process(server, Signal::TERM);
    }
    let start = Moment::now();
    let limit_s = STOP_S + data_s(cluster);
    let mut news = DataNews::new(cluster);
    while !servers.iter().all(|&server| has_exited(server)) {
        ensure!(
            start.elapsed_s() < limit_s,
            "some servers of cluster {} still run after {limit_s} s; `namdb status` shows their process numbers",
            cluster.name
        );
        news.show();
        sleep_ms(POLL_MS);
    }
    Ok(servers.len())
}

/// Additional time to start or stop, if memory servers read or write their data.
fn data_s(cluster: &ClusterFile) -> f64 {
    cluster.data.as_ref().map_or(0.0, |_| DATA_S)
}

/// Shows how far the servers of this host are with their data, from their logs.
struct DataNews {
    logs: Vec<PathBuf>,
    shown: Moment,
}

impl DataNews {
    fn new(cluster: &ClusterFile) -> Self {
        let logs = logs(cluster);
        let servers = 0..cluster.data.as_ref().map_or(0, |_| cluster.memory.len());
        let logs = servers.map(|number| logs.join(format!("memory-{number}.log"))).collect();
        Self { logs, shown: Moment::now() }
    }

    fn show(&mut self) {
        if self.shown.elapsed_s() < DATA_QUIET_S {
            return;
        }
        self.shown = Moment::now();
        for (number, log) in self.logs.iter().enumerate() {
            let text = fs::read_to_string(log).unwrap_or_default();
            let is_news = |line: &&str| line.contains("ing data");
            if let Some(line) = text.lines().last().filter(is_news) {
                crate::output::say(&format!("memory server {number}: {line}"));
            }
        }
    }
}

/// Whether a process has exited. One that its parent has not waited for still has its number.
fn has_exited(process: Pid) -> bool {
    if test_kill_process(process).is_err() {
        return true;
    }
    let status = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    // The state follows the name, which is in parentheses and may contain some.
    let state = status.ok().and_then(|text| text.rsplit_once(')')?.1.trim_start().chars().next());
    matches!(state, Some('Z' | 'X'))
}

/// Removes the servers' files from the cluster's directory, and the directory if it is empty then.
/// No server may run.
pub fn remove_files(cluster: &ClusterFile, with_logs: bool) -> Result<()> {
    let directory = &cluster.directory;
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.contains("-server-") && OF_SERVERS.iter().any(|end| name.ends_with(end));
        if is_ours {
            remove(&entry.path(), |path| fs::remove_file(path))?;
        }
    }
    if with_logs {
        remove(&logs(cluster), |path| fs::remove_dir_all(path))?;
    }
    // The directory stays if it contains other files.
    let _ = fs::remove_dir(directory);
    let above = directory.parent().filter(|above| {
        let name = above.file_name().unwrap_or_default().to_string_lossy();
        name == "namdb" || name.starts_with("namdb-")
    });
    above.into_iter().for_each(|above| drop(fs::remove_dir(above)));
    Ok(())
}

/// Removes a path; a missing one is no error.
fn remove(path: &Path, how: impl Fn(&Path) -> io::Result<()>) -> Result<()> {
    match how(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::FabricKind;

    #[test]
    fn regions_beyond_the_hosts_memory_are_refused() {
        let of = |memory: &[u64]| ClusterFile::development("dev", FabricKind::Shm, memory, 0);
        let all = room::available_bytes();
        let error = ensure_room(&of(&[all, all])).expect_err("one of them would fit, both do not");
        assert!(error.to_string().contains("reduce their memory"), "{error}");
        assert!(ensure_room(&of(&[1 << 20, 1 << 20])).is_ok());
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_has_exited() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a program");
        let process = Pid::from_child(&child);
        assert!(!has_exited(process));
        drop(child.stdin.take());
        let start = Moment::now();
        while !has_exited(process) {
            assert!(start.elapsed_s() < STOP_S, "it has lost its input");
            sleep_ms(POLL_MS);
        }
        child.wait().expect("it has exited");
        assert!(has_exited(process));
    }

    #[test]
    fn files_of_users_stay_and_those_of_the_cluster_go() {
        let mut cluster = ClusterFile::development("dev", FabricKind::Shm, &[1 << 20], 0);
        let name = format!("namdb-down-{}", std::process::id());
        cluster.directory = std::env::temp_dir().join(name).join("dev");
        let directory = cluster.directory.clone();
        fs::create_dir_all(logs(&cluster)).expect("a new folder");
        for file in ["memory-server-0.socket", "memory-server-0.lock", "log/memory-0.log", "mine"] {
            fs::write(directory.join(file), "x").expect("a new file");
        }
        remove_files(&cluster, true).expect("they can be removed");
        let left = fs::read_dir(&directory).expect("it stays").flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["mine"]);
        assert_eq!(kept(&cluster), Some(directory.clone()));
        fs::remove_file(directory.join("mine")).expect("it is there");
        remove_files(&cluster, true).expect("there is nothing left");
        assert_eq!(kept(&cluster), None);
        assert!(!directory.parent().expect("it has one").exists(), "the folder above is ours, too");
    }
}
