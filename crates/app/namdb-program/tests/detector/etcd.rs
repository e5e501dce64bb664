//! A real etcd on ports of its own.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MISSING: &str = "skipped: there is no program `etcd` (apt-get install etcd-server)";
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends with its owner.
pub struct Etcd {
    pub endpoint: String,
    child: Child,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    listener.local_addr().expect("it is bound").port()
}

impl Etcd {
    /// Starts etcd with its data in `folder`; `None` if it is not installed, which is a failure if
    /// all tests are required.
    pub fn start(folder: &Path) -> Option<Self> {
        let [port, peer, health] = [(); 3].map(|()| free_port());
        let endpoint = format!("http://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer}");
        let mut command = Command::new("etcd");
        command.args(["--name", "test", "--data-dir"]).arg(folder.join("etcd"));
        command.args(["--listen-client-urls", &endpoint, "--advertise-client-urls", &endpoint]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("test={peer}")]);
        command.args(["--listen-metrics-urls", &format!("http://127.0.0.1:{health}")]);
        // A busy disk would stall etcd, and nothing here must survive a crash of the host.
        command.arg("--unsafe-no-fsync");
        let Ok(child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{MISSING}");
            println!("{MISSING}");
            return None;
        };
        let etcd = Self { endpoint, child };
        let start = Instant::now();
        while !is_well(health) {
            assert!(start.elapsed() < PATIENCE, "etcd does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(etcd)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_well(port: u16) -> bool {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let written = stream.write_all(b"GET /health HTTP/1.0\r\n\r\n");
        // An incomplete answer counts as none.
        let _ = written.and_then(|()| stream.read_to_string(&mut answer));
    }
    answer.contains("\"true\"")
}
