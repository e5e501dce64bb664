//! A real etcd for tests: a process on ports of its own, with its data in a folder that goes with
//! it.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Printed if etcd is not installed.
const MISSING: &str = "skipped: there is no program `etcd` (apt-get install etcd-server)";
/// Maximal wait for etcd to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// An etcd that ends when it is dropped.
pub struct Etcd {
    folder: PathBuf,
    ports: Ports,
    wants_tls: bool,
    process: Option<Child>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    peer: u16,
    /// For health checks, always without TLS.
    health: u16,
}

impl Etcd {
    /// Starts an etcd, or returns `None` if it is not installed; if all tests are required, that is
    /// a failure.
    pub fn start() -> Option<Self> {
        Self::start_with(false)
    }

    /// Starts one that accepts only clients with a certificate; see [`pem`].
    pub fn start_with_tls() -> Option<Self> {
        Self::start_with(true)
    }

    fn start_with(wants_tls: bool) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !is_installed() {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{MISSING}");
            // Not `println!`, which a test that passes does not show.
            let _ = writeln!(std::io::stdout(), "{MISSING}");
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("namdb-etcd-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("a new folder");
        let mut etcd = Self { folder, ports: Ports::choose(), wants_tls, process: None };
        let deadline = Instant::now() + PATIENCE;
        while !etcd.spawns_well(deadline) {
            // Another process has taken one of the ports since they were chosen.
            etcd.ports = Ports::choose();
            std::fs::remove_dir_all(etcd.data()).expect("the folder is ours");
        }
        Some(etcd)
    }

    /// The URL that clients connect to.
    pub fn endpoint(&self) -> String {
        let scheme = if self.wants_tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.ports.client)
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.ports.client
    }

    /// Starts it again after [`Etcd::kill`], with its data, and waits until it responds.
    pub fn restart(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.spawns_well(deadline) {
            // A connection of another process has this port for a while.
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills it; its data stays.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it is ours");
        }
    }

    /// Sends it a signal. A stopped etcd accepts connections and never responds.
    pub fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("it runs");
        kill_process(Pid::from_child(process), signal).expect("it is ours");
    }

    /// The response to a request of the HTTP gateway without TLS, or an empty text.
    pub fn post(&self, path: &str, body: &str) -> String {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        ask(self.ports.client, &(head + body))
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts the process, and waits until it responds (true) or has ended (false).
    fn spawns_well(&mut self, deadline: Instant) -> bool {
        let log_path = self.folder.join("log");
        let log = std::fs::File::create(&log_path).expect("the folder is ours");
        let mut process = self.command().stdout(Stdio::null()).stderr(log).spawn().expect("found");
        let said = || std::fs::read_to_string(&log_path).unwrap_or_default();
        loop {
            let has_ended = process.try_wait().expect("it is ours").is_some();
            assert!(Instant::now() < deadline, "etcd does not start: {}", said());
            if has_ended {
                return false;
            }
            let health = ask(self.ports.health, "GET /health HTTP/1.0\r\n\r\n");
            if health.contains("\"true\"") {
                self.process = Some(process);
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self) -> Command {
        let (clients, peers) = (self.endpoint(), format!("http://127.0.0.1:{}", self.ports.peer));
        let mut command = Command::new("etcd");
        if self.wants_tls {
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(pem("ca.pem"));
            command.arg("--cert-file").arg(pem("member.pem"));
            command.arg("--key-file").arg(pem("member.key"));
        }
        command.args(["--name", "test", "--data-dir"]).arg(self.data());
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("test={peers}")]);
        let health = format!("http://127.0.0.1:{}", self.ports.health);
        command.args(["--listen-metrics-urls", &health]);
        // A busy disk would block it, and no data needs to survive the host.
        command.arg("--unsafe-no-fsync");
        command
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.folder).expect("nobody else has removed it");
    }
}

impl Ports {
    /// Three different ports that are free at this moment.
    fn choose() -> Self {
        let listeners = [(); 3].map(|()| listen());
        let [client, peer, health] = listeners.map(|listener| port_of(&listener));
        Self { client, peer, health }
    }
}

/// A port that is free at this moment.
pub fn free_port() -> u16 {
    port_of(&listen())
}

fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("some port is free")
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

/// A certificate or key: of an authority (`ca.pem`), a member that it has signed (`member.pem`,
/// `member.key`), or a stranger (`stranger.pem`).
pub fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tls").join(name)
}

fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("etcd").is_file())
}

/// The response to an HTTP request, or an empty text.
fn ask(port: u16, request: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let written = stream.write_all(request.as_bytes());
        // A partial response counts like none.
        let _ = written.and_then(|()| stream.read_to_string(&mut answer));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etcd_whose_ports_are_taken_waits_for_them() {
        let Some(mut etcd) = Etcd::start() else { return };
        assert!(etcd.post("/v3/kv/put", "{\"key\":\"YQ==\",\"value\":\"Yg==\"}").contains("200"));
        etcd.kill();
        let taken = TcpListener::bind(("127.0.0.1", etcd.port())).expect("etcd has ended");
        let gives_back = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            drop(taken);
        });
        etcd.restart();
        gives_back.join().expect("it only waits");
        let found = etcd.post("/v3/kv/range", "{\"key\":\"YQ==\"}");
        assert!(found.contains("\"Yg==\""), "{found}");
    }
}
