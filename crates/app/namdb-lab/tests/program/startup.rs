//! Servers that cannot start report what failed, where, and which check of the doctor has details.

use super::server::{Server, Site};
use super::support::{namdb, text};
use etcd_process::free_port;
use membership::{Addresses, ClusterFile, Member, Program, Registry};
use rustix::process::Signal;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

/// Starts a server that cannot start, and checks its output.
fn refuses(site: &Site, options: &str, words: &[&str]) {
    let output = namdb(&site.command(&format!("--log-format json {options}")));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    says(&errors, words);
}

/// The last event is an error with `words`; the first word is the doctor's check.
fn says(errors: &str, words: &[&str]) {
    let last = errors.lines().next_back().expect("it says something");
    let event: serde_json::Value = serde_json::from_str(last).expect("it is JSON");
    assert_eq!((&event["level"], &event["check"]), (&"error".into(), &words[0].into()), "{errors}");
    let message = event["message"].as_str().expect("a text");
    for word in words {
        assert!(message.contains(word), "no {word} in {message}");
    }
}

#[test]
fn a_port_in_use() {
    let site = Site::new("port", "tcp", "");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    let place = format!("cannot listen at {address}");
    let listen = format!("--set memory.0.listen={address}");
    refuses(&site, &listen, &["D11-ports", "memory server 0", &place, "in use"]);
    let place = format!("cannot open its control address {address}");
    let control = format!("--set memory.0.control={address}");
    refuses(&site, &control, &["D11-ports", "memory server 0", &place, "in use"]);
}

#[test]
fn a_port_in_use_of_a_compute_server() {
    let site = Site::new("work", "tcp", "[[compute]]");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    let file = site.file.display();
    let listen = format!("--set compute.0.listen={address} --log-format json");
    let output = namdb(&format!("compute-server --cluster {file} --number 0 {listen}"));
    let place = format!("compute server 0 cannot listen at {address}");
    says(&text(&output.stderr), &["D11-ports", &place, "in use"]);
}

#[test]
fn an_address_of_another_host() {
    let site = Site::new("elsewhere", "tcp", "");
    let words = ["D11-ports", "cannot listen at 192.0.2.1:7400", "Cannot assign"];
    let listen = "--set memory.0.listen=192.0.2.1:7400 --set allow_unencrypted=true";
    refuses(&site, listen, &words);
}

/// Without TLS a server serves its own host only, unless the file allows more.
#[test]
fn an_address_that_others_reach_without_encryption() {
    let site = Site::new("exposed", "tcp", "[[compute]]");
    let place = "memory server 0 would listen at 192.0.2.1:7400 (`memory.0.listen`)";
    let words = ["D18-encryption", place, "add `[tls]`", "`allow_unencrypted = true`"];
    refuses(&site, "--set memory.0.listen=192.0.2.1:7400", &words);
    let place = "listen at 0.0.0.0:0 (`memory.0.control`)";
    refuses(&site, "--set memory.0.control=0.0.0.0:0", &["D18-encryption", place]);
    let (file, listen) = (site.file.display(), "--set compute.0.listen=192.0.2.1:7400");
    let command = format!("compute-server --cluster {file} --number 0 {listen}");
    let output = namdb(&format!("{command} --log-format json"));
    assert_eq!(output.status.code(), Some(2));
    let place = "compute server 0 would listen at 192.0.2.1:7400 (`compute.0.listen`)";
    says(&text(&output.stderr), &["D18-encryption", place]);
    let up = namdb(&format!("cluster up --file {file}"));
    assert_eq!(up.status.code(), Some(0), "on this host nothing is exposed: {up:?}");
    assert_eq!(namdb(&format!("cluster down --file {file}")).status.code(), Some(0));
}

#[test]
fn a_secret_that_is_missing_or_open_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new("secret", "tcp", "");
    let secret = site.file.with_extension("secret");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).expect("our file");
    let fix = format!("chmod 600 {}", secret.display());
    refuses(&site, "", &["D17-secret", "(mode 644)", &fix]);
    std::fs::remove_file(&secret).expect("our file");
    refuses(&site, "", &["D17-secret", "is missing", "openssl rand -hex 32"]);
    let doctor = namdb(&format!("doctor --cluster {}", site.file.display()));
    let told = text(&doctor.stdout);
    let found = told.lines().find(|line| line.contains("D17-secret")).expect("a check");
    assert!(found.starts_with("problem") && found.contains("is missing"), "{told}");
    let other = site.folder.join("other");
    std::fs::write(&other, "no secret").expect("room for a file");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).expect("our file");
    let named = format!("--set secret={}", other.display());
    refuses(&site, &named, &["D17-secret", "other is not the secret", "64 hexadecimal digits"]);
}

#[test]
fn an_etcd_that_is_not_there() {
    let site = Site::new("no-etcd", "tcp", "");
    let endpoint = format!("http://127.0.0.1:{}", free_port());
    let options = format!("--set registry.kind=etcd --set registry.endpoints={endpoint}");
    refuses(&site, &options, &["D12-etcd", &endpoint, "cannot be reached"]);
}

#[test]
fn a_directory_that_cannot_be_written() {
    let site = Site::new("directory", "shm", "");
    let options = "--set directory=/proc/namdb";
    refuses(&site, options, &["D10-stale-files", "/proc/namdb", "cannot be used"]);
}

#[test]
fn too_little_memory() {
    for fabric in ["shm", "tcp"] {
        let site = Site::new(&format!("memory-{fabric}"), fabric, "");
        let command = site.command("--log-format json --set memory.0.bytes=68719476736");
        let limited =
            format!("ulimit -v 8388608; exec {} {command}", env!("CARGO_BIN_EXE_namdb-lab"));
        let output = Command::new("sh").args(["-c", &limited]).output().expect("there is a shell");
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        says(&errors, &["D13-memory", "memory server 0", "64.0 GiB", "available"]);
    }
}

#[test]
fn a_host_without_a_device() {
    if std::path::Path::new("/sys/class/infiniband").exists() {
        println!("skipped: this host may have an RDMA device");
        return;
    }
    let site = Site::new("device", "verbs", "");
    refuses(&site, "", &["D01-rdma-device", "the fabric `verbs`"]);
}

#[test]
fn a_number_that_is_taken() {
    for fabric in ["shm", "tcp"] {
        let site = Site::new(&format!("number-{fabric}"), fabric, "lease_seconds = 2");
        let server = site.server("--log-format json");
        server.wait_for("joined");
        refuses(&site, "", &["D09-members", "0", "process"]);
    }
}

#[test]
fn another_version() {
    let site = Site::new("version", "tcp", "lease_seconds = 2");
    let cluster = ClusterFile::load(&site.file, &[]).expect("it was written");
    let program = Program { version: "9.9.9".to_owned(), ..Program::this() };
    let registry = Registry::open_as(&cluster, program).expect("it is a folder");
    let member = Member::compute_server(0, Addresses::default());
    let lease = registry.join(member, Duration::ZERO).expect("nobody is there");
    refuses(&site, "", &["D09-members", "compute server 0", "namdb 9.9.9", "same version"]);
    lease.leave().expect("it may leave");
}

#[test]
fn another_cluster() {
    let site = Site::new("cluster", "tcp", "");
    let server = site.server("--log-format json");
    server.wait_for("joined");
    let other = "--set id=00000000000000aa --set name=other";
    refuses(&site, other, &["D09-members", "00000000000000aa", "belongs to cluster `cluster`"]);
}

/// Files of a killed server do not affect the next one, and the doctor reports them meanwhile.
#[test]
fn a_socket_that_was_left_behind() {
    let site = Site::new("stale", "shm", "");
    let mut server = site.server("--log-format json");
    server.wait_for("joined");
    server.signal(Signal::KILL);
    server.ended();
    let socket = site.folder.join("run/memory-server-0.socket");
    assert!(socket.exists());
    let doctor = namdb(&format!("doctor --cluster {}", site.file.display()));
    let told = text(&doctor.stdout);
    let stale = told.lines().find(|line| line.contains("D10-stale-files")).expect("a check");
    assert!(stale.starts_with("warning"), "{told}");
    assert!(told.contains(&format!("fix: rm {}", socket.display())), "{told}");
    site.server("--log-format json").wait_for("joined");
}

/// Without root, locked memory and RDMA device, two fabrics work, and the servers report what is
/// missing.
#[test]
fn a_user_without_privileges() {
    let program = env!("CARGO_BIN_EXE_namdb-lab");
    let is_root = rustix::process::geteuid().is_root();
    for fabric in ["shm", "tcp"] {
        let site = Site::new(&format!("user-{fabric}"), fabric, "");
        if is_root {
            for path in [&site.folder, &site.file.with_extension("secret")] {
                std::os::unix::fs::chown(path, Some(65534), Some(65534)).expect("root may");
            }
        }
        // Other users may not be able to read the build folder.
        let copy = site.folder.join("namdb");
        std::fs::copy(program, &copy).expect("room for the program");
        let shell = format!("ulimit -l 8192; exec {} \"$@\"", copy.display());
        let run = |arguments: &str| {
            let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
            let mut command = Command::new(if is_root { "setpriv" } else { "sh" });
            if is_root {
                command.args(user).args(["--bounding-set", "-all", "--inh-caps", "-all", "sh"]);
            }
            command.args(["-c", &shell, "sh"]).args(arguments.split_whitespace());
            command
        };
        let arguments = site.command("--log-format json");
        let server = Server::spawn(&mut run(&arguments), &site.folder.join("events"));
        let started = server.wait_for("started");
        let without = started["without"].as_str().expect("it does without something");
        assert!(without.contains("locked memory (at most 8.00 MiB)"), "{started}");
        let has_devices = std::path::Path::new("/sys/class/infiniband").exists();
        assert!(has_devices || without.contains("RDMA devices"), "{started}");
        server.wait_for("database created");
        let bench = "bench bank --records 100 --threads 1 --lanes 2 --seconds 0.2 --warm-up 0";
        let bench = run(&format!("{bench} --cluster {}", site.file.display())).output();
        let bench = bench.expect("it was built");
        assert_eq!(bench.status.code(), Some(0), "{}", text(&bench.stderr));
    }
}
