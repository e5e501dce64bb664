//! The endpoint with clients that are slow, silent, numerous, or do not speak HTTP.
#![allow(clippy::disallowed_methods, reason = "real clients have real clocks and threads")]

use metrics::{Access, Bounds, Endpoint, Registry, Status, catalog};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longer than any answer on a busy machine, and far shorter than a connection's time limit where
/// tests depend on the difference.
const SOON: Duration = Duration::from_secs(20);
const LONG: Bounds =
    Bounds { connections: 8, per_peer: 8, connection_time: Duration::from_secs(300) };
const SHORT: Bounds =
    Bounds { connections: 8, per_peer: 8, connection_time: Duration::from_millis(200) };

fn endpoint(bounds: Bounds, status: impl Fn() -> Status + Send + 'static) -> Endpoint {
    let registry = Registry::new();
    registry.add(&catalog::COMMITS, &[], || 7_u64);
    metrics::serve_within(bounds, "127.0.0.1:0", Access::Everybody, &registry, status)
        .expect("a free port")
}

fn well() -> Status {
    Status::healthy("{\"epoch\":4}".to_owned())
}

fn connect(endpoint: &Endpoint) -> TcpStream {
    let socket = TcpStream::connect(endpoint.address()).expect("the endpoint listens");
    socket.set_read_timeout(Some(SOON)).expect("a time is set");
    socket
}

fn answer(mut socket: TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer, and its end, come soon");
    text
}

fn get(endpoint: &Endpoint, path: &str) -> String {
    let mut socket = connect(endpoint);
    write!(socket, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").expect("it is taken");
    answer(socket)
}

#[test]
fn pages_are_served_and_their_lengths_are_right() {
    let endpoint = endpoint(Bounds::default(), well);
    for (path, body) in [("/status", "{\"epoch\":4}"), ("/healthz", "healthy\n")] {
        let text = get(&endpoint, path);
        let (head, found) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        assert_eq!(found, body);
    }
    assert!(get(&endpoint, "/metrics").ends_with("\nnamdb_commits_total 7\n"));
    assert!(get(&endpoint, "/metrics?a=b").contains("namdb_commits_total 7"));
    assert!(get(&endpoint, "/nothing").starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let endpoint = endpoint(Bounds::default(), well);
    let mut socket = connect(&endpoint);
    socket.set_nodelay(true).expect("a flag");
    for byte in b"GET /healthz HTTP/1.1\r\n\r\n" {
        socket.write_all(&[*byte]).expect("it is taken");
    }
    assert!(answer(socket).ends_with("healthy\n"));
}

#[test]
fn clients_that_are_silent_or_do_not_read_keep_nobody_waiting() {
    let endpoint = endpoint(LONG, || Status::healthy("x".repeat(64 << 20)));
    let _silent: Vec<TcpStream> = (0..3).map(|_| connect(&endpoint)).collect();
    let mut lazy = connect(&endpoint);
    lazy.write_all(b"GET /status HTTP/1.1\r\n\r\n").expect("it is taken");
    let mut half = connect(&endpoint);
    half.write_all(b"GET /met").expect("it is taken");
    assert!(get(&endpoint, "/metrics").starts_with("HTTP/1.1 200 "));
    half.write_all(b"rics HTTP/1.1\r\n\r\n").expect("it is taken");
    assert!(answer(half).starts_with("HTTP/1.1 200 "));
}

#[test]
fn when_all_connections_are_taken_the_oldest_makes_room() {
    let endpoint = endpoint(LONG, well);
    let silent: Vec<TcpStream> = (0..3 * LONG.connections).map(|_| connect(&endpoint)).collect();
    assert!(get(&endpoint, "/metrics").starts_with("HTTP/1.1 200 "));
    let oldest = silent.into_iter().next().expect("there are some");
    assert_eq!(answer(oldest), "", "it was closed long before its time");
}

#[test]
fn whoever_says_nothing_is_left_after_a_time() {
    let endpoint = endpoint(SHORT, well);
    let start = Instant::now();
    let mut half = connect(&endpoint);
    half.write_all(b"GET /metrics HTTP/1.1\r\n").expect("it is taken");
    let mut byte = [0];
    let end = half.read(&mut byte);
    assert!(matches!(end, Ok(0) | Err(_)), "no answer comes");
    assert!((SHORT.connection_time..SOON).contains(&start.elapsed()));
}

#[test]
fn garbage_is_refused_and_harms_nobody() {
    let endpoint = endpoint(Bounds::default(), well);
    let mut noise: u64 = 88_172_645_463_325_252;
    for length in (1..400).chain([5000, 100_000]) {
        let mut socket = connect(&endpoint);
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise as u8
            })
            .collect();
        // The endpoint may refuse it before everything is written.
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    }
    let mut socket = connect(&endpoint);
    socket.write_all(b"\x16\x03\x01\x02\x00").expect("it is taken");
    assert!(answer(socket).starts_with("HTTP/1.1 400 "));
    let mut socket = connect(&endpoint);
    let _ = write!(socket, "GET /metrics HTTP/1.1\r\nA: {}", "a".repeat(20_000));
    assert!(answer(socket).starts_with("HTTP/1.1 431 "));
    assert!(get(&endpoint, "/healthz").ends_with("healthy\n"));
}

#[test]
fn a_source_that_panics_breaks_its_page_only() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let registry = Registry::new();
    let broken = is_broken.clone();
    registry.add(&catalog::COMMITS, &[], move || {
        assert!(!broken.load(Relaxed), "this panic is part of the test");
        1_u64
    });
    let endpoint =
        metrics::serve("127.0.0.1:0", Access::Everybody, &registry, well).expect("a free port");
    assert!(get(&endpoint, "/metrics").starts_with("HTTP/1.1 500 "));
    assert!(get(&endpoint, "/healthz").starts_with("HTTP/1.1 200 "));
    is_broken.store(false, Relaxed);
    assert!(get(&endpoint, "/metrics").ends_with("namdb_commits_total 1\n"));
}

#[test]
fn an_endpoint_that_is_stopped_frees_its_port_at_once() {
    let endpoint = endpoint(LONG, well);
    let address = endpoint.address();
    let mut silent = connect(&endpoint);
    assert!(get(&endpoint, "/healthz").ends_with("healthy\n"));
    let taken = metrics::serve(&address.to_string(), Access::Everybody, &Registry::new(), well);
    let sentence = taken.err().expect("the port is taken").to_string();
    assert!(
        sentence.contains(&address.to_string()) && sentence.contains("`control`"),
        "{sentence}"
    );
    endpoint.stop();
    assert!(matches!(silent.read(&mut [0]), Ok(0) | Err(_)), "connections are closed");
    TcpListener::bind(address).expect("the port is free");
}
