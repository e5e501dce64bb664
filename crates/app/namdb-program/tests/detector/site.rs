//! A cluster of processes, each with a log of its own.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use etcd_process::Etcd;
use membership::{ClusterFile, ClusterMap, Registry};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long anything may take that is expected to happen.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Two memory servers; ends with its owner.
pub struct Site {
    pub file: PathBuf,
    pub cluster: ClusterFile,
    pub registry: Registry,
    pub memory: Vec<Server>,
    folder: PathBuf,
    _etcd: Option<Etcd>,
}

/// Where the registry of a site is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Files,
    Etcd,
}

impl Site {
    /// Starts the memory servers; `None` without etcd. `lines` are further lines of the cluster's
    /// file, before its sections of servers.
    pub fn start(place: Place, fabric: &str, lines: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("namdb-detector-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("a new folder");
        let etcd = match place {
            Place::Files => None,
            Place::Etcd => Some(Etcd::start()?),
        };
        let registry = etcd.as_ref().map_or(String::new(), |etcd| {
            format!("[registry]\nkind = \"etcd\"\nendpoints = [\"{}\"]\n", etcd.endpoint())
        });
        let file = folder.join("cluster.toml");
        let id = u64::from(std::process::id()) << 16 | u64::from(number);
        let memory = "[[memory]]\nbytes = \"64 MiB\"\n";
        let text = format!(
            "name = \"dev\"\nid = \"{id:016x}\"\nfabric = \"{fabric}\"\ndirectory = \"run\"\n{lines}\n\
             {registry}{memory}{memory}[[compute]]\n"
        );
        std::fs::write(&file, text).expect("room for a file");
        let secret = file.with_extension("secret");
        std::fs::write(&secret, "5a".repeat(32)).expect("room for a file");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&secret, private).expect("it is ours");
        let cluster = ClusterFile::load(&file, &[]).expect("it is right");
        let memory = (0..2).map(|number| Server::start("memory-server", number, &file)).collect();
        let registry = Registry::await_open(&cluster, PATIENCE).expect("it answers");
        registry.wait_for_database(2, PATIENCE).expect("the servers start");
        Some(Self { file, cluster, registry, memory, folder, _etcd: etcd })
    }

    pub fn map(&self) -> ClusterMap {
        self.registry.map().expect("it answers")
    }

    /// Waits until the map satisfies a condition.
    pub fn await_map(&self, what: &str, is_right: impl Fn(&ClusterMap) -> bool) -> ClusterMap {
        let start = Instant::now();
        loop {
            let map = self.map();
            if is_right(&map) {
                return map;
            }
            assert!(start.elapsed() < PATIENCE, "{what} never: {map:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Starts compute server 0, and waits until it is a member whose heartbeats arrive.
    pub fn compute_server(&self) -> Server {
        let server = Server::start("compute-server", 0, &self.file);
        server.wait_for("joined");
        std::thread::sleep(2 * self.cluster.detector_lease());
        server
    }

    pub fn namdb(&self, command: &str) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_namdb"));
        program.args(command.split_whitespace()).arg("--cluster").arg(&self.file);
        program.output().expect("the program was built")
    }

    /// The value of a metric of a server, summed over its samples.
    pub fn metric(&self, server: &Server, name: &str) -> f64 {
        let token = self.cluster.read_secret().expect("it was written").token();
        let page = server.page(&token);
        let lines = page.lines().filter_map(|line| line.strip_prefix(name));
        let samples = lines.filter(|rest| rest.starts_with([' ', '{']));
        samples.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.memory.iter().for_each(|server| eprintln!("{}", server.log()));
        }
        self.memory.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A server's process; dropping it kills the process.
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    fn start(command: &str, number: u16, cluster: &Path) -> Self {
        let folder = cluster.parent().expect("it is in a folder");
        let log = folder.join(format!("{command}-{number}.log"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_namdb"));
        program.args([command, "--number", &number.to_string(), "--log-format", "json"]);
        program.arg("--cluster").arg(cluster);
        let file = std::fs::File::create(&log).expect("room for a file");
        let child = program.stdout(Stdio::null()).stderr(file).spawn().expect("it was built");
        Self { child, log }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("the file is there")
    }

    /// The complete events so far.
    pub fn events(&self) -> Vec<Value> {
        let log = self.log();
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub fn wait_for(&self, message: &str) -> Value {
        let start = Instant::now();
        loop {
            if let Some(event) = self.events().into_iter().find(|it| it["message"] == message) {
                return event;
            }
            assert!(start.elapsed() < PATIENCE, "no event {message} in\n{}", self.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    pub fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Its page of metrics.
    fn page(&self, token: &str) -> String {
        use std::io::{Read, Write};
        let events = self.events();
        let control = events.iter().find_map(|event| event["control"].as_str());
        let control = control.expect("it has said where");
        let mut stream = std::net::TcpStream::connect(control).expect("it listens");
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {control}\r\nConnection: close\r\n");
        let request = format!("{head}Authorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("it answers");
        page
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
