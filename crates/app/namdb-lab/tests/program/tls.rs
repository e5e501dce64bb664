//! Clusters with encrypted connections serve only processes that can prove their identity.

use super::support::{namdb, temporary, text};
use fabric::tcp::{TlsKeys, TlsStream};
use layout::NodeId;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const BENCH: &str =
    "bench bank --records 100 --threads 1 --lanes 4 --seconds 0.3 --warm-up 0 --fresh";

/// Encrypted development clusters of one test.
struct Encrypted {
    folder: PathBuf,
}

impl Encrypted {
    fn up(&self, name: &str, compute_servers: u16) -> PathBuf {
        let file = self.folder.join(format!("{name}.toml"));
        let options =
            format!("--fabric tcp --tls --compute-servers {compute_servers} --memory 64M");
        let up = namdb(&format!("cluster up --file {} {options}", file.display()));
        assert_eq!(up.status.code(), Some(0), "{}", text(&up.stderr));
        assert!(text(&up.stdout).contains("fabric tcp with TLS"), "{}", text(&up.stdout));
        file
    }

    /// A copy of the cluster's file with some texts replaced.
    fn changed(&self, file: &Path, changes: &[(&str, &str)]) -> PathBuf {
        let mut cluster = std::fs::read_to_string(file).expect("it was written");
        let secret = file.with_extension("secret");
        let secret = format!("secret = \"{}\"\n", secret.display());
        cluster.insert_str(0, &secret);
        for (from, to) in changes {
            assert!(cluster.contains(from), "no {from} in {cluster}");
            cluster = cluster.replace(from, to);
        }
        let changed = self.folder.join("changed.toml");
        std::fs::write(&changed, cluster).expect("room for a file");
        changed
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        for name in ["one", "two"] {
            namdb(&format!("cluster down --file {}/{name}.toml", self.folder.display()));
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The error of a client that is not served.
fn refused(file: &Path) -> String {
    let output = namdb(&format!("{BENCH} --cluster {}", file.display()));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    errors
}

fn served(file: &Path) {
    let output = namdb(&format!("{BENCH} --cluster {}", file.display()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The section `tls` of the cluster's file.
fn tls_section(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("it was written");
    let section = &text[text.find("[tls]").expect("it is there")..];
    section[..section[1..].find('[').map_or(section.len(), |end| end + 1)].to_owned()
}

/// The addresses of the servers, memory servers first.
fn addresses(file: &Path) -> Vec<String> {
    let status = namdb(&format!("status --json - --cluster {}", file.display()));
    let status: serde_json::Value =
        serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
    let servers = status["servers"].as_array().expect("a list");
    let address = |server: &serde_json::Value| server["address"].as_str().map(str::to_owned);
    servers.iter().filter_map(address).collect()
}

/// The log of memory server 0 about refused callers, and its address.
fn told(file: &Path) -> (String, String) {
    let address = addresses(file).swap_remove(0);
    let cluster = membership::ClusterFile::load(file, &[]).expect("it was written");
    let log = std::fs::read_to_string(cluster.directory.join("log/memory-0.log"));
    (log.expect("a log"), address)
}

/// Connects to memory server 0 of the first cluster, and shows a certificate of the second.
fn connect_with_forged_certificate(folder: &Path, address: &str) {
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    let (authority, certificate) = (read("one.tls/ca.pem"), read("two.tls/server.pem"));
    let keys = TlsKeys::from_pem(&authority, &certificate, &read("two.tls/server.key"));
    let socket = TcpStream::connect(address).expect("it listens");
    let (name, within) = (TlsKeys::server_name(NodeId(0)), Duration::from_secs(20));
    let stream = TlsStream::connect(&keys.expect("they fit"), name, socket, within);
    // The server checks the certificate after this end has completed its handshake.
    let read = stream.and_then(|mut stream| stream.read(&mut [0; 1]));
    assert!(!matches!(read, Ok(1..)), "it is not served");
}

/// Connects with TLS, trusts the server and shows no certificate.
fn connect_without_certificate(authority: &Path, name: String, address: &str) -> String {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(authority).expect("it is PEM");
    roots.add(authority).expect("it is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("it is supported")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = name.try_into().expect("a name");
    let mut session = rustls::ClientConnection::new(Arc::new(config), name).expect("it fits");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let read = rustls::Stream::new(&mut session, &mut stream).read(&mut [0; 1]);
    read.expect_err("it is not served").to_string()
}

#[test]
fn strangers_are_refused_with_a_sentence_on_both_sides_and_others_are_served() {
    let folder = temporary("tls");
    std::fs::create_dir_all(&folder).expect("room for a folder");
    let clusters = Encrypted { folder };
    let (one, two) = (clusters.up("one", 0), clusters.up("two", 0));
    served(&one);

    let plain = refused(&clusters.changed(&one, &[(&tls_section(&one), "")]));
    assert!(plain.contains("memory server 0 at 127.0.0.1:"), "{plain}");
    assert!(plain.contains("the server accepts TLS only"), "{plain}");
    let (log, address) = told(&one);
    assert!(
        log.contains("caller refused") && log.contains("the caller does not speak TLS"),
        "{log}"
    );

    let other = refused(&clusters.changed(&one, &[("one.tls/", "two.tls/")]));
    assert!(other.contains("was not signed by the authority in `tls.ca`"), "{other}");
    let forged = [
        ("one.tls/server.pem", "two.tls/server.pem"),
        ("one.tls/server.key", "two.tls/server.key"),
    ];
    let early = refused(&clusters.changed(&one, &forged));
    assert!(early.contains("was not signed by the authority in `tls.ca`"), "{early}");
    connect_with_forged_certificate(&clusters.folder, &address);
    assert!(
        told(&one).0.contains("the caller's certificate was not signed by"),
        "{}",
        told(&one).0
    );

    let authority = clusters.folder.join("one.tls/ca.pem");
    let name = TlsKeys::server_name(NodeId(0));
    let nameless = connect_without_certificate(&authority, name, &address);
    assert!(nameless.contains("CertificateRequired"), "{nameless}");
    assert!(told(&one).0.contains("the caller has shown no certificate"), "{}", told(&one).0);

    let lost = refused(&clusters.changed(&one, &[("one.tls/server.key", "one.tls/lost.key")]));
    assert!(lost.contains("one.tls/lost.key of section `tls` cannot be read"), "{lost}");
    served(&one);
    served(&two);
}

/// Compute servers only accept orders from processes of the cluster, and orders are encrypted, too.
#[test]
fn compute_servers_take_work_from_members_only() {
    let folder = temporary("tls-work");
    std::fs::create_dir_all(&folder).expect("room for a folder");
    let clusters = Encrypted { folder };
    let file = clusters.up("one", 1);
    let run = namdb(&format!("{BENCH} --compute-servers 1 --json - --cluster {}", file.display()));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let report: serde_json::Value = serde_json::from_str(&text(&run.stdout)).expect("it is JSON");
    assert_eq!(report["compute_servers"].as_array().map(Vec::len), Some(1), "{report:#}");
    let section = tls_section(&file);
    let plain = refused(&clusters.changed(&file, &[(&section, "")]));
    assert!(plain.contains("compute server 0 cannot be given work"), "{plain}");
    assert!(plain.contains("it accepts TLS only"), "{plain}");
    let address = addresses(&file).swap_remove(1);
    let mut plain = TcpStream::connect(&address).expect("it listens");
    plain.write_all(b"\"End\"\n").expect("it reads");
    let mut heard = Vec::new();
    plain.read_to_end(&mut heard).expect("it closes");
    assert!(heard.starts_with(&[21, 3]), "an alert of TLS, and nothing in words: {heard:?}");
    let (authority, name) =
        (clusters.folder.join("one.tls/ca.pem"), TlsKeys::compute_server_name(0));
    let nameless = connect_without_certificate(&authority, name, &address);
    assert!(nameless.contains("CertificateRequired"), "{nameless}");
}

#[test]
fn shared_memory_has_nothing_to_encrypt() {
    let up = namdb("cluster up --tls --file /nowhere/namdb.toml");
    let errors = text(&up.stderr);
    assert_eq!(up.status.code(), Some(2), "{errors}");
    assert!(errors.contains("use --fabric tcp with --tls"), "{errors}");
}
