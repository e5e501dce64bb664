//! Passwords and encryption: psql, the driver of Rust, our client, and clients that cheat.

use crate::programs::{World, text};
use namdb::host::Moment;
use pgwire::client::{Client, Failure, Target};
use pgwire::message::frontend::Frontend;
use pgwire::message::startup::{Packet, Startup, VERSION_3_0};
use pgwire::tls::{Tls, TlsFault};
use pgwire::{Limits, Server};
use rcgen::{CertificateParams, KeyPair};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Files of a self-signed certificate.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn new(name: &str, host: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pgwire-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let files = Self { folder };
        files.write(host);
        files
    }

    /// Writes another certificate and key.
    fn write(&self, host: &str) {
        let key = KeyPair::generate().expect("the system has random numbers");
        let certificate = CertificateParams::new([host.to_owned()]).expect("it is a name");
        let certificate = certificate.self_signed(&key).expect("the key fits");
        std::fs::write(self.certificate(), certificate.pem()).expect("there is room");
        std::fs::write(self.key(), key.serialize_pem()).expect("there is room");
        self.set_mode(0o600);
    }

    fn set_mode(&self, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.key(), mode).expect("it is ours");
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("server.key")
    }

    fn open(&self) -> Result<Tls, TlsFault> {
        Tls::open(&self.certificate(), &self.key())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const USERS: &str = "create role staff; create user bob password 'secret' in role staff; \
                     create user late password 'x' valid until '2001-01-01'; \
                     create role locked password 'x'; alter role me password 'p\u{e4}ss'";

/// A server whose users have passwords.
fn world(tls: Option<Arc<Tls>>) -> World {
    let limits = Limits { startup: Duration::from_secs(2), ..Limits::default() };
    let world = World::with(limits, tls);
    let mut client = Client::connect(&target(&world, "me", None), &[]).expect("it is trusted");
    client.query(USERS, |_, message| panic_at_errors(message)).expect("they are created");
    world
}

fn panic_at_errors(message: pgwire::message::backend::Backend) -> Result<(), Failure> {
    match message {
        pgwire::message::backend::Backend::Error(error) if pgwire::client::is_error(&error) => {
            panic!("{error}")
        }
        _ => Ok(()),
    }
}

fn target(world: &World, user: &str, password: Option<&str>) -> Target {
    Target {
        host: "127.0.0.1".to_owned(),
        port: world.port(),
        user: user.to_owned(),
        database: "postgres".to_owned(),
        password: password.map(str::to_owned),
    }
}

/// Runs `select current_user` by psql with these words of a connection string.
fn psql(world: &World, words: &str, password: &str, extra: &[&str]) -> Option<Output> {
    let words = format!("host=127.0.0.1 port={} dbname=postgres {words}", world.port());
    let query = "select 'I am ' || current_user";
    let command = Command::new("psql")
        .args(["-X", "-w", "-A", "-t", "-d", &words, "-c", query])
        .args(extra)
        .env("PGPASSWORD", password)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output();
    command.inspect_err(|error| eprintln!("skipped: psql is not installed ({error})")).ok()
}

#[test]
fn psql_proves_passwords() {
    let world = world(None);
    let said = |user: &str, password: &str| {
        let output = psql(&world, &format!("user={user} sslmode=disable"), password, &[])?;
        Some(text(&output))
    };
    let Some(bob) = said("bob", "secret") else { return };
    assert_eq!(bob, "I am bob\n");
    assert_eq!(said("me", "p\u{e4}ss").as_deref(), Some("I am me\n"));
    // The same words for all, so that nobody learns which roles there are.
    for (user, password) in [("bob", "wrong"), ("nobody", "x"), ("late", "x"), ("locked", "y")] {
        let refused = said(user, password).expect("psql is there");
        let sentence = format!("FATAL:  password authentication failed for user \"{user}\"");
        assert!(refused.contains(&sentence), "{refused}");
    }
    let locked = said("locked", "x").expect("psql is there");
    assert!(locked.contains("FATAL:  role \"locked\" is not permitted to log in"), "{locked}");
    let none = said("bob", "").expect("psql is there");
    assert!(none.contains("no password supplied"), "{none}");
    let roles = psql(&world, "user=me", "p\u{e4}ss", &["-c", "\\du"]).expect("psql is there");
    let roles = text(&roles);
    for line in ["bob||{staff}", "locked|Cannot login|{}", "late|", "me|Superuser, Create role"] {
        assert!(roles.contains(line), "no `{line}` in {roles}");
    }
}

#[test]
fn passwords_stay_hidden() {
    let world = world(None);
    let hidden = ["-c", "select rolpassword from pg_roles", "-c", "select * from pg_authid"];
    let Some(output) = psql(&world, "user=bob", "secret", &hidden) else { return };
    let said = text(&output);
    assert!(said.contains("********") && !said.contains("SCRAM"), "{said}");
    assert!(said.contains("permission denied for table pg_authid"), "{said}");
    let stored = ["-c", "select rolpassword from pg_authid where rolname = 'bob'"];
    let output = psql(&world, "user=me", "p\u{e4}ss", &stored).expect("psql is there");
    assert!(text(&output).contains("SCRAM-SHA-256$4096:"), "{}", text(&output));
}

#[test]
fn drivers_prove_passwords() {
    let world = world(None);
    let connect = |password: &str| {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(world.port()).user("bob").dbname("postgres");
        config.password(password).connect(postgres::NoTls)
    };
    let mut client = connect("secret").expect("the password is right");
    let row = client.query_one("select current_user::text", &[]).expect("it is a query");
    assert_eq!(row.get::<_, &str>(0), "bob");
    let refused = connect("wrong").err().and_then(|error| error.code().cloned());
    assert_eq!(refused, Some(postgres::error::SqlState::INVALID_PASSWORD));
    // Our own client checks that the server knows the password, too.
    Client::connect(&target(&world, "bob", Some("secret")), &[]).expect("it is right");
    let refused = Client::connect(&target(&world, "bob", Some("x")), &[]).err();
    assert!(matches!(refused, Some(Failure::Server(error)) if error.sqlstate == "28P01"));
    let refused = Client::connect(&target(&world, "bob", None), &[]).err();
    assert!(matches!(refused, Some(Failure::NoPassword)));
    let startup = Client::connect(&target(&world, "bob", Some("secret")), &[("role", "me")]).err();
    assert!(matches!(startup, Some(Failure::Server(error)) if error.sqlstate == "0A000"));
}

#[test]
fn psql_encrypts_and_checks_the_certificate() {
    let files = Files::new("encrypts", "localhost");
    let tls = Arc::new(files.open().expect("the files fit"));
    let world = world(Some(tls.clone()));
    let root = files.certificate();
    let root = root.display();
    let encrypted = ["-c", "\\conninfo"];
    let said = |words: &str| {
        let words = format!("user=bob sslrootcert={root} {words}");
        psql(&world, &words, "secret", &encrypted).map(|output| text(&output))
    };
    // The name in the certificate is that of `host`; the address is looked up by `hostaddr`.
    let by_name = "host=localhost hostaddr=127.0.0.1";
    for words in [
        "sslmode=require channel_binding=require",
        "sslmode=require channel_binding=disable",
        &format!("sslmode=verify-full {by_name}"),
        &format!("sslmode=verify-full {by_name} channel_binding=require gssencmode=disable"),
    ] {
        let Some(said) = said(words) else { return };
        assert!(said.contains("I am bob") && said.contains("TLSv1.3"), "{words}: {said}");
    }
    let other = said("sslmode=verify-full").expect("psql is there");
    assert!(other.contains("does not match host name"), "{other}");
    let old = said("sslmode=require ssl_max_protocol_version=TLSv1.2").expect("psql is there");
    assert!(!old.contains("I am bob"), "{old}");
    // A new certificate is for new connections.
    files.write("localhost");
    let before = said(&format!("sslmode=verify-full {by_name}")).expect("psql is there");
    assert!(before.contains("certificate verify failed"), "{before}");
    tls.reload().expect("the files fit");
    let after = said(&format!("sslmode=verify-full {by_name}")).expect("psql is there");
    assert!(after.contains("I am bob"), "{after}");
    let plain = said("sslmode=disable").expect("psql is there");
    assert!(plain.contains("I am bob"), "this host may leave it out: {plain}");
}

#[test]
fn encrypted_clients_copy_and_cancel() {
    let files = Files::new("copies", "localhost");
    let world = world(Some(Arc::new(files.open().expect("the files fit"))));
    let extra = [
        "-c",
        "create temp sequence x",
        "-c",
        "set statement_timeout = 100; select count(*) from generate_series(1, 1000000000)",
        "-c",
        "select count(*), sum(length(repeat('x', 1000) || n)) from generate_series(1, 100) n",
        "-c",
        "select repeat('y', 1000) from generate_series(1, 3000)",
    ];
    let Some(output) = psql(&world, "user=me sslmode=require", "p\u{e4}ss", &extra) else { return };
    let said = text(&output);
    assert!(said.contains("canceling statement due to statement timeout"), "{said}");
    assert_eq!(said.matches(&"y".repeat(1000)).count(), 3_000, "all rows have arrived");
}

#[test]
fn unusable_files_are_named_with_a_remedy() {
    let (files, others) = (Files::new("unusable", "localhost"), Files::new("other", "localhost"));
    let sentence = |opened: Result<Tls, TlsFault>| opened.expect_err("unusable").to_string();
    files.set_mode(0o644);
    assert!(sentence(files.open()).contains("chmod 600"));
    files.set_mode(0o600);
    let missing = Tls::open(&files.folder.join("none"), &files.key());
    assert!(sentence(missing).contains("none: No such file"));
    let mixed = sentence(Tls::open(&files.certificate(), &others.key()));
    assert!(mixed.contains("cannot be used together"), "{mixed}");
    let swapped = sentence(Tls::open(&files.certificate(), &files.certificate()));
    assert!(swapped.contains("private key"), "{swapped}");
    std::fs::write(files.certificate(), "nothing").expect("there is room");
    assert!(sentence(files.open()).contains("has no certificate in PEM"));
}

fn packet(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.write(&mut bytes);
    bytes
}

fn startup(user: &str) -> Vec<u8> {
    let parameters = vec![("user".to_owned(), user.to_owned())];
    packet(&Packet::Startup(Startup { version: VERSION_3_0, parameters }))
}

fn connect(world: &World) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", world.port())).expect("it is accepted");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    socket
}

/// Sends bytes; returns the answer up to the end that the server makes.
fn answer(world: &World, bytes: &[u8]) -> String {
    let mut socket = connect(world);
    let _ = socket.write_all(bytes);
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        read => _ = read.expect("the server ends the connection"),
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Bytes that were sent in the clear must not count as encrypted (CVE-2021-23214).
#[test]
fn plain_bytes_behind_a_request_for_encryption_are_refused() {
    let files = Files::new("plain", "localhost");
    let world = world(Some(Arc::new(files.open().expect("the files fit"))));
    let mut injected = packet(&Packet::Ssl);
    injected.extend(startup("me"));
    let said = answer(&world, &injected);
    assert!(said.contains("received unencrypted data after SSL request"), "{said}");
    // A handshake that is none, and one of another protocol.
    for start in [&b"\x16\x03\x01\x00\x05hello"[..], b"GET / HTTP/1.1\r\n\r\n"] {
        assert!(!answer(&world, start).contains("AuthenticationOk"));
    }
    Client::connect(&target(&world, "bob", Some("secret")), &[]).expect("it goes on");
}

#[test]
fn strange_proofs_are_refused() {
    let world = world(None);
    let with = |message: &Frontend<'_>| {
        let mut bytes = startup("bob");
        message.write(&mut bytes);
        answer(&world, &bytes)
    };
    let long = vec![b'x'; 5_000];
    assert!(with(&Frontend::Password(&long)).contains("invalid SASL message length"));
    assert!(with(&Frontend::Query("drop table t")).contains("expected SASL response"));
    assert!(with(&Frontend::Password(b"secret\0")).contains("FATAL"));
    assert!(with(&Frontend::Password(b"SCRAM-SHA-256-PLUS\0\0\0\0\x01x")).contains("invalid SASL"));
    assert!(with(&Frontend::Password(b"SCRAM-SHA-256\0\0\0\0\x03n,,")).contains("malformed SCRAM"));
    let bob = Client::connect(&target(&world, "bob", Some("secret")), &[]);
    bob.expect("the server goes on");
}

/// Clients that never log in occupy no connection and no thread, and end in time.
#[test]
fn clients_that_never_log_in_keep_nobody_out() {
    let files = Files::new("never", "localhost");
    let tls = Arc::new(files.open().expect("the files fit"));
    let limits =
        Limits { startup: Duration::from_secs(2), connections_max: 3, ..Limits::default() };
    let world = World::with(limits, Some(tls));
    let mut owner = Client::connect(&target(&world, "me", None), &[]).expect("it is trusted");
    owner.query(USERS, |_, message| panic_at_errors(message)).expect("they are created");
    let begin = Moment::now();
    let mut waiting = Vec::new();
    for number in 0..300 {
        let mut socket = connect(&world);
        let bytes = match number % 3 {
            0 => startup("bob"),
            1 => packet(&Packet::Ssl),
            _ => Vec::new(),
        };
        socket.write_all(&bytes).expect("it is accepted");
        waiting.push(socket);
    }
    let bob = Client::connect(&target(&world, "bob", Some("secret")), &[]);
    let _bob = bob.expect("there is room");
    assert_eq!(world.server.gauges().connections(), 2, "those that have logged in");
    assert!(world.server.gauges().threads() < 8, "no threads wait for them");
    for mut socket in waiting {
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    }
    assert!(begin.elapsed_s() < 15.0, "they were ended in time");
}

#[test]
fn a_wrong_secret_cancels_nothing() {
    let world = world(None);
    let mut bytes = packet(&Packet::Cancel { process: 1, secret: vec![0; 4] });
    assert_eq!(answer(&world, &bytes), "");
    bytes = packet(&Packet::Cancel { process: u32::MAX, secret: Vec::new() });
    assert_eq!(answer(&world, &bytes), "");
    assert_eq!(world.server.gauges().counts().cancels, 0);
}

impl World {
    fn with(limits: Limits, tls: Option<Arc<Tls>>) -> Self {
        let config = namdb::Config { server_bytes: 256 << 20, lanes: 64, ..Default::default() };
        let db = namdb::open(config).expect("there is memory");
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let database = db.sql().expect("a new database has an empty catalog");
        let server = Server::start_with(listener, database, limits, tls).expect("it starts");
        Self { server }
    }
}
