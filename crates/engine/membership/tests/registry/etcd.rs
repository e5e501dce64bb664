//! A real etcd from the distribution, on its own ports and in its own folder.

use crate::world::{Folder, PATIENCE, now, sleep_ms};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Printed if etcd is not installed.
const MISSING: &str = "skipped: there is no program `etcd` (apt-get install etcd-server)";

/// An etcd that ends when it is dropped.
pub struct Etcd {
    program: PathBuf,
    folder: Folder,
    pub port: u16,
    peer_port: u16,
    /// The port for health checks, always without TLS.
    health_port: u16,
    /// Whether clients need a certificate.
    wants_tls: bool,
    process: Option<Child>,
}

impl Etcd {
    /// Starts an etcd, or returns `None` if it is not installed; if all tests are required, that is
    /// a failure.
    pub fn start() -> Option<Self> {
        Self::start_with(false)
    }

    /// Starts one that accepts members only.
    pub fn start_with_tls() -> Option<Self> {
        Self::start_with(true)
    }

    fn start_with(wants_tls: bool) -> Option<Self> {
        let program = std::env::var_os("PATH").and_then(|path| {
            std::env::split_paths(&path)
                .map(|folder| folder.join("etcd"))
                .find(|file| file.is_file())
        });
        let Some(program) = program else {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{MISSING}");
            println!("{MISSING}");
            return None;
        };
        let [port, peer_port, health_port] = [(); 3].map(|()| free_port());
        let folder = Folder::new();
        let mut etcd =
            Self { program, folder, port, peer_port, health_port, wants_tls, process: None };
        etcd.run();
        Some(etcd)
    }

    pub fn endpoint(&self) -> String {
        let scheme = if self.wants_tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Starts or restarts it with its data, and waits until it responds.
    pub fn run(&mut self) {
        let (clients, peers) = (self.endpoint(), format!("http://127.0.0.1:{}", self.peer_port));
        let log =
            std::fs::File::create(self.folder.path().join("log")).expect("the folder is ours");
        let mut command = Command::new(&self.program);
        if self.wants_tls {
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(pem("ca.pem"));
            command
                .arg("--cert-file")
                .arg(pem("member.pem"))
                .arg("--key-file")
                .arg(pem("member.key"));
        }
        let process = command
            .args(["--name", "test", "--data-dir"])
            .arg(self.folder.path().join("data"))
            .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("test={peers}")])
            .args(["--listen-metrics-urls", &format!("http://127.0.0.1:{}", self.health_port)])
            // A busy disk would block it, and no data needs to survive the host.
            .arg("--unsafe-no-fsync")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("it is a program");
        self.process = Some(process);
        let deadline = now() + PATIENCE;
        while !ask(self.health_port, "GET /health HTTP/1.0\r\n\r\n").contains("\"true\"") {
            assert!(now() < deadline, "etcd does not start, see {}", self.log().display());
            sleep_ms(20);
        }
    }

    /// Removes a key, as an administrator may.
    pub fn delete(&self, key: &str) {
        let body = format!("{{\"key\":\"{}\"}}", BASE64.encode(key));
        let head =
            format!("POST /v3/kv/deleterange HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
        let answer = ask(self.port, &(head + &body));
        assert!(answer.contains("\"deleted\":\"1\""), "{answer}");
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Kills it; its data stays.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it is ours");
        }
    }

    /// Suspends it: it accepts connections and never responds. [`Etcd::kill`] still works.
    pub fn freeze(&self) {
        let process = self.process.as_ref().expect("it runs");
        let id = rustix::process::Pid::from_child(process);
        rustix::process::kill_process(id, rustix::process::Signal::STOP).expect("it is ours");
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a port that is free at this moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    listener.local_addr().expect("it is bound").port()
}

/// A certificate or key of the tests: of an authority, a member that it has signed, or a stranger.
pub fn pem(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "registry", "tls", name].iter().collect()
}

/// Returns the response to an HTTP request, or an empty text.
fn ask(port: u16, request: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let written = stream.write_all(request.as_bytes());
        // A partial response counts like none.
        let _ = written.and_then(|()| stream.read_to_string(&mut answer));
    }
    answer
}
