//! Encrypted connections with certificates on both sides. The keys in `keys` are for these tests
//! only; the private keys of the two authorities no longer exist.

use crate::support::{REGION_BYTES, Server, at, config, engine_of};
use fabric::tcp::{TlsError, TlsKeys, TlsStream};
use fabric::{Batch, Env, Fabric, TcpConfig, TcpTransport};
use layout::NodeId;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const AUTHORITY: &[u8] = include_bytes!("keys/authority.pem");
const STRANGER: &[u8] = include_bytes!("keys/stranger.pem");
const SERVER: (&[u8], &[u8]) =
    (include_bytes!("keys/server.pem"), include_bytes!("keys/server.key"));
const CALLER: (&[u8], &[u8]) =
    (include_bytes!("keys/caller.pem"), include_bytes!("keys/caller.key"));
const FORGED: (&[u8], &[u8]) =
    (include_bytes!("keys/forged.pem"), include_bytes!("keys/forged.key"));

fn keys(authority: &[u8], (certificate, key): (&[u8], &[u8])) -> TlsKeys {
    TlsKeys::from_pem(authority, certificate, key).expect("keys that fit")
}

fn server(own: (&[u8], &[u8])) -> Server {
    Server::start_by(0, 1, &[], Some(keys(AUTHORITY, own)))
}

fn config_of(server: &Server) -> TcpConfig {
    TcpConfig { attempts_max: 2, ..config(&[server]) }
}

fn connect(server: &Server, keys: TlsKeys) -> Result<TcpTransport, String> {
    let connected = TcpTransport::connect_encrypted(config_of(server), keys);
    connected.map_err(|error| error.to_string())
}

#[test]
fn batches_of_any_size_go_over_an_encrypted_connection() {
    const WORDS: u32 = 300_000;
    let server = server(SERVER);
    let engine = engine_of(connect(&server, keys(AUTHORITY, CALLER)).expect("both are known"));
    let main = engine.endpoint();
    assert_eq!(main.with_transport(|t| t.server(NodeId(0)).region_bytes), REGION_BYTES);
    let mut batch = Batch::new();
    let words = batch.reserve(WORDS);
    batch.words_mut(words).iter_mut().zip(5..).for_each(|(word, value)| *word = value);
    batch.write(at(0, 0), words);
    let read = batch.read(at(0, 0), WORDS);
    let batch = engine.block_on(main.execute(batch)).expect("inside its region");
    assert_eq!(batch.words(read), batch.words(words));
    engine.block_on(async {
        let ended = Rc::new(std::cell::Cell::new(0));
        for lane in 0..16 {
            let (env, ended) = (engine.endpoint(), ended.clone());
            main.spawn(async move {
                for round in 0..50 {
                    let mut batch = Batch::new();
                    batch.write_word(at(0, lane), round);
                    let read = batch.read(at(0, lane), 1 + round as u32 * 100);
                    let batch = env.execute(batch).await.expect("inside its region");
                    assert_eq!(batch.words(read)[0], round);
                }
                ended.set(ended.get() + 1);
            });
        }
        while ended.get() < 16 {
            main.sleep_ns(100_000).await;
        }
    });
}

#[test]
fn who_cannot_prove_who_it_is_is_not_served() {
    let server = server(SERVER);
    let forged =
        connect(&server, keys(AUTHORITY, FORGED)).expect_err("another authority signed it");
    assert!(forged.contains("memory server 0 at "), "{forged}");
    assert!(forged.contains("the server ends the handshake"), "{forged}");
    let plain = TcpTransport::connect(config_of(&server)).expect_err("it does not encrypt");
    assert!(plain.to_string().contains("the server accepts TLS only"), "{plain}");
    let nameless = without_certificate(&server);
    assert!(nameless.contains("CertificateRequired"), "{nameless}");
    connect(&server, keys(AUTHORITY, CALLER)).expect("others are served");
}

#[test]
fn a_server_that_cannot_prove_who_it_is_is_not_used() {
    let other = server(CALLER);
    let wrong_name = connect(&other, keys(AUTHORITY, CALLER)).expect_err("another's certificate");
    assert!(wrong_name.contains("is that of another server"), "{wrong_name}");
    assert!(wrong_name.contains("memory-server-0.namdb"), "{wrong_name}");
    let right = server(SERVER);
    let unknown = connect(&right, keys(STRANGER, FORGED)).expect_err("another authority signed it");
    assert!(unknown.contains("was not signed by the authority in `tls.ca`"), "{unknown}");
    let plain = Server::start(0, 1);
    let plain = connect(&plain, keys(AUTHORITY, CALLER)).expect_err("it does not encrypt");
    assert!(plain.contains("the server does not speak TLS"), "{plain}");
}

/// The error of a caller that trusts the server and sends no certificate.
fn without_certificate(server: &Server) -> String {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).expect("it is PEM")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("it is supported")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = TlsKeys::server_name(NodeId(0)).try_into().expect("a name");
    let mut session = rustls::ClientConnection::new(Arc::new(config), name).expect("it fits");
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let mut session = rustls::Stream::new(&mut session, &mut stream);
    let read = session.read(&mut [0; 1]);
    read.expect_err("it is not served").to_string()
}

#[test]
fn a_plain_server_answers_a_caller_that_encrypts_with_its_version() {
    let server = Server::start(0, 1);
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let mut handshake = [0; fabric::proof::OPENING_BYTES];
    handshake[..5].copy_from_slice(&[22, 3, 1, 1, 0]);
    stream.write_all(&handshake).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert_eq!(answer, fabric::proof::version());
}

#[test]
fn garbage_before_and_in_a_handshake_harms_nobody() {
    let server = server(SERVER);
    for length in [1, 5, 100, 3000] {
        for first in [0, 0x16, 0x17, 0xff] {
            let mut stream = TcpStream::connect(server.address).expect("it listens");
            let mut sent = vec![3_u8; length];
            sent[0] = first;
            let _ = stream.write_all(&sent);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    connect(&server, keys(AUTHORITY, CALLER)).expect("others are served");
}

#[test]
fn keys_that_cannot_be_used_are_told_apart() {
    let (certificate, key) = CALLER;
    let wrong = |authority, certificate, key| {
        TlsKeys::from_pem(authority, certificate, key).expect_err("it does not fit").to_string()
    };
    assert!(wrong(b"", certificate, key).starts_with("the authority's certificate cannot be read"));
    assert!(wrong(AUTHORITY, b"-----BEGIN CERTIFICATE-----", key).contains("certificate"));
    assert!(wrong(AUTHORITY, certificate, b"").starts_with("the private key cannot be read"));
    let other = TlsKeys::from_pem(AUTHORITY, certificate, SERVER.1).expect_err("another's key");
    assert!(matches!(other, TlsError::Keys(_)), "{other}");
    assert_eq!(TlsKeys::server_name(NodeId(3)), "memory-server-3.namdb");
}

/// Runs both ends on two threads: returns the result of each handshake, and the bytes that the
/// accepting end received.
fn converse(
    accepting: TlsKeys,
    name: &str,
    connect: impl FnOnce(TcpStream, String) -> std::io::Result<TlsStream>,
) -> (std::io::Result<String>, std::io::Result<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::scope(|scope| {
        let accepted = scope.spawn(move || {
            let (socket, _) = listener.accept()?;
            let mut stream = TlsStream::accept(&accepting, socket, HANDSHAKE_TIME)?;
            let mut heard = String::new();
            stream.write_all(b"answer")?;
            stream.read_to_string(&mut heard)?;
            Ok(heard)
        });
        let socket = TcpStream::connect(address).expect("it listens");
        let connected = connect(socket, name.to_owned()).and_then(|mut stream| {
            let mut heard = [0; 6];
            stream.write_all(b"question")?;
            stream.read_exact(&mut heard)?;
            Ok(String::from_utf8_lossy(&heard).into_owned())
        });
        (connected, accepted.join().expect("it ends"))
    })
}

const HANDSHAKE_TIME: Duration = Duration::from_millis(500);

#[test]
fn streams_are_for_processes_of_the_cluster_that_are_who_they_should_be() {
    let known = || keys(AUTHORITY, SERVER);
    let by =
        |keys: TlsKeys| move |socket, name| TlsStream::connect(&keys, name, socket, HANDSHAKE_TIME);
    let name = "memory-server-0.namdb";
    let (connected, accepted) = converse(known(), name, by(keys(AUTHORITY, CALLER)));
    assert_eq!(
        (connected.expect("an answer"), accepted.expect("words")),
        ("answer".to_owned(), "question".to_owned())
    );
    let (connected, _) = converse(known(), "compute-server-0.namdb", by(keys(AUTHORITY, CALLER)));
    let error = connected.expect_err("it is another").to_string();
    assert!(error.contains("that of another server"), "{error}");
    let (connected, accepted) = converse(known(), name, by(keys(AUTHORITY, FORGED)));
    connected.expect_err("nobody listens to it");
    let error = accepted.expect_err("nobody knows it").to_string();
    assert!(error.contains("was not signed by"), "{error}");
    let (_, accepted) = converse(known(), name, |mut socket, _| {
        socket.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        Err(std::io::ErrorKind::Other.into())
    });
    let error = accepted.expect_err("it is no TLS").to_string();
    assert!(error.contains("does not speak TLS"), "{error}");
    let (_, accepted) = converse(known(), name, |socket, _| {
        std::thread::sleep(2 * HANDSHAKE_TIME);
        drop(socket);
        Err(std::io::ErrorKind::Other.into())
    });
    accepted.expect_err("it says nothing");
}
