//! Clusters on the hosts: a registry, three memory servers, and programs that use them.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::network::{COMPUTE_HOSTS, Host, MEMORY_HOSTS, Network, THIRD_PLACE};
use super::running::{Ended, Running};

/// Lease of a server in seconds.
pub const LEASE_S: u64 = 5;
/// Port of memory servers.
const MEMORY_PORT: u16 = 7400;
/// Port at which compute servers receive work.
const COMPUTE_PORT: u16 = 7500;
/// Memory of each memory server.
const MEMORY: &str = "640 MiB";
/// Time-out of every start.
const START_TIME: Duration = Duration::from_secs(20);

/// A server prints this when it has joined, followed by its identity.
pub const JOINED: &str = "joined identity=";

/// The hosts, and the common parts of all clusters on them.
pub struct Lab {
    pub network: Network,
    work: PathBuf,
    program: PathBuf,
    _registry: Running,
    started: u32,
}

impl Lab {
    /// Starts the registry.
    pub fn new(network: Network, work: &Path, program: &Path) -> Result<Self> {
        let address = THIRD_PLACE.address();
        let (clients, peers) = (format!("http://{address}:2379"), format!("http://{address}:2380"));
        let mut etcd = THIRD_PLACE.command(Path::new("etcd"));
        etcd.args(["--name", "third", "--data-dir"]).arg(work.join("etcd"));
        etcd.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        etcd.args(["--initial-cluster", &format!("third={peers}")]);
        // Nothing here outlives the run, and other programs may use the disk.
        etcd.arg("--unsafe-no-fsync");
        let mut registry = Running::start(&mut etcd, "etcd", work)?;
        registry.wait_for("ready to serve client requests", START_TIME)?;
        let (work, program) = (work.to_owned(), program.to_owned());
        Ok(Self { network, work, program, _registry: registry, started: 0 })
    }

    /// Starts a cluster, independent of earlier ones.
    pub fn cluster(&mut self) -> Result<Cluster> {
        self.started += 1;
        let folder = self.work.join(format!("cluster-{}", self.started));
        std::fs::create_dir(&folder).context("make a cluster's folder")?;
        let file = folder.join("cluster.toml");
        std::fs::write(&file, self.text()).context("write a cluster's file")?;
        write_secret(&file.with_extension("secret")).context("write a cluster's secret")?;
        let mut cluster =
            Cluster { file, folder, program: self.program.clone(), servers: Vec::new(), runs: 0 };
        for number in 0..MEMORY_HOSTS.len() {
            let server = cluster.start_server(number)?;
            cluster.servers.push(server);
        }
        for server in &mut cluster.servers {
            server.wait_for(JOINED, START_TIME)?;
        }
        Ok(cluster)
    }

    fn text(&self) -> String {
        let mut text = format!(
            "name = \"hosts\"\nid = \"{:016x}\"\nfabric = \"tcp\"\ndirectory = \"run\"\nlease_seconds = {LEASE_S}\n\
             transaction_time_ms = 2000\nallow_unencrypted = true\n\
             [detector]\nlease_ms = {LEASE_S}000\n\
             [registry]\nkind = \"etcd\"\nendpoints = [\"http://{}:2379\"]\n",
            self.started,
            THIRD_PLACE.address()
        );
        for host in MEMORY_HOSTS {
            let address = host.address();
            text += &format!(
                "[[memory]]\nlisten = \"{address}:{MEMORY_PORT}\"\nbytes = \"{MEMORY}\"\ncontrol = \"{address}:0\"\n"
            );
        }
        for host in COMPUTE_HOSTS {
            let address = host.address();
            text += &format!(
                "[[compute]]\nlisten = \"{address}:{COMPUTE_PORT}\"\ncontrol = \"{address}:0\"\n"
            );
        }
        text
    }

    /// Restores the network after a case.
    pub fn mend(&self) -> Result<()> {
        self.network.mend_all()
    }
}

/// Writes the secret of a cluster that exists for a test only.
fn write_secret(path: &Path) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file?.write_all(&[b'5'; 64])
}

/// A cluster; its servers stop on drop.
pub struct Cluster {
    file: PathBuf,
    folder: PathBuf,
    program: PathBuf,
    /// The memory servers, by number.
    pub servers: Vec<Running>,
    runs: u32,
}

impl Cluster {
    /// Starts a memory server that does not run.
    pub fn start_server(&mut self, number: usize) -> Result<Running> {
        let mut command = MEMORY_HOSTS[number].command(&self.program);
        command
            .args(["memory-server", "--number", &number.to_string(), "--cluster"])
            .arg(&self.file);
        self.start(&mut command, &format!("memory-{number}"))
    }

    /// Starts compute servers on all their hosts. Without any, a client runs its transactions
    /// itself.
    pub fn start_compute_servers(&mut self) -> Result<Vec<Running>> {
        let mut servers = Vec::new();
        for (number, host) in COMPUTE_HOSTS.into_iter().enumerate() {
            let mut command = host.command(&self.program);
            command.args(["compute-server", "--number", &number.to_string(), "--cluster"]);
            command.arg(&self.file);
            let mut server = self.start(&mut command, &format!("compute-{number}"))?;
            server.wait_for(JOINED, START_TIME)?;
            servers.push(server);
        }
        Ok(servers)
    }

    fn start(&mut self, command: &mut Command, name: &str) -> Result<Running> {
        self.runs += 1;
        Running::start(command, &format!("{}-{name}", self.runs), &self.folder)
    }

    /// Starts a benchmark on a host.
    pub fn bench(&mut self, host: Host, words: &str) -> Result<Bench> {
        let report = self.folder.join(format!("report-{}.json", self.runs));
        let mut command = host.command(&self.program);
        command.arg("bench").args(words.split(' ')).arg("--cluster").arg(&self.file);
        command.arg("--json").arg(&report);
        let name = format!("{}-on-{}", words.split(' ').next().unwrap_or("bench"), host.name());
        Ok(Bench { running: self.start(&mut command, &name)?, report })
    }

    /// Runs another command of the program on a host, to its end.
    pub fn run(&mut self, host: Host, words: &str, bound: Duration) -> Result<Ended> {
        let mut command = host.command(&self.program);
        command.args(words.split(' ')).current_dir(&self.folder);
        let name = words.split(' ').next().unwrap_or("command").to_owned();
        self.start(&mut command, &name)?.finish(bound)
    }

    /// The report of `namdb status`, on the third host.
    pub fn status(&mut self) -> Result<Value> {
        let report = self.folder.join("status.json");
        let words = format!("status --cluster {} --json {}", self.file.display(), report.display());
        self.run(THIRD_PLACE, &words, START_TIME)?;
        read(&report)
    }

    /// A file of this cluster.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A benchmark that runs, or has run.
pub struct Bench {
    pub running: Running,
    report: PathBuf,
}

impl Bench {
    /// Waits until its tables are loaded and it runs transactions.
    pub fn wait_until_running(&mut self) -> Result<()> {
        let bound = Duration::from_secs(60);
        self.running.wait_for("process size", bound)
    }

    /// Waits until it succeeds, with all its checks.
    pub fn succeed(self, bound: Duration) -> Result<Report> {
        self.running.succeed(bound)?;
        let report = Report(read(&self.report)?);
        report.ensure_checked()?;
        Ok(report)
    }

    /// Waits until it ends with a report of any content.
    pub fn report(self, bound: Duration) -> Result<Report> {
        let ended = self.running.finish(bound)?;
        read(&self.report).map(Report).with_context(|| ended.said)
    }

    /// Waits until it ends, which must be a failure.
    pub fn fail(self, bound: Duration) -> Result<Ended> {
        let ended = self.running.finish(bound)?;
        ensure!(
            ended.code.is_some_and(|code| code != 0),
            "it ended with {:?}: {}",
            ended.code,
            ended.said
        );
        Ok(ended)
    }
}

/// The identity under which a server is a member.
pub fn identity(server: &Running) -> Result<String> {
    let said = server.said();
    let (_, behind) =
        said.split_once(JOINED).with_context(|| format!("it has not joined: {said}"))?;
    Ok(behind.split(' ').next().unwrap_or_default().to_owned())
}

/// The report of a benchmark.
pub struct Report(Value);

impl Report {
    /// The checks that failed.
    pub fn failed(&self) -> Vec<&Value> {
        self.checks().iter().filter(|check| check["ok"] != true).collect()
    }

    fn ensure_checked(&self) -> Result<()> {
        let (checks, failed) = (self.checks(), self.failed());
        ensure!(
            !checks.is_empty() && failed.is_empty(),
            "of {} checks these failed: {failed:?}",
            checks.len()
        );
        Ok(())
    }

    pub fn checks(&self) -> &[Value] {
        self.0["checks"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The number of transactions and of checks.
    pub fn summary(&self) -> Result<String> {
        let committed = self.number("/committed")?;
        Ok(format!("{committed:.0} transactions, {} checks hold", self.checks().len()))
    }

    /// A number, by its path.
    pub fn number(&self, path: &str) -> Result<f64> {
        self.0
            .pointer(path)
            .and_then(Value::as_f64)
            .with_context(|| format!("the report has no number {path}"))
    }
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
}
