//! Limits, silent clients, and the end.

use crate::toy::pgwire_sleep;
use crate::world::{World, bind, execute, parse, query, refused};
use pgwire::client::Client;
use pgwire::message::backend::Backend;
use pgwire::message::frontend::Frontend;
use pgwire::{ARRIVALS_MAX, Limits};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Waits until a condition holds, at most 20 s.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        pgwire_sleep(2);
    }
    panic!("{what} has not happened within 20 s");
}

#[test]
fn too_many_clients_are_refused_until_one_leaves() {
    let world = World::with(Limits { connections_max: 2, ..Limits::default() });
    let (first, _second) = (world.client(), world.client());
    assert_eq!(refused(&world.target(), &[]), "53300");
    drop(first);
    wait_until("the end of the first connection", || world.server.gauges().connections() == 1);
    world.client();
    assert_eq!(world.server.gauges().counts().refused, 1);
}

#[test]
fn a_client_that_does_not_start_is_disconnected() {
    let world = World::new();
    let mut silent = TcpStream::connect(world.server.address()).expect("it is accepted");
    silent.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    silent.write_all(b"\0\0").expect("it is open");
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).expect("the server closes it");
    assert!(String::from_utf8_lossy(&answer).contains("timeout"));
}

/// Lets this process open files; false, with the reason, if it may not.
fn may_open(needed: u64) -> bool {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limits.maximum.is_some_and(|maximum| maximum < needed) {
        eprintln!("skipped: this process may not open {needed} files");
        return false;
    }
    let raised = rustix::process::Rlimit {
        current: Some(needed.max(limits.current.unwrap_or(0))),
        ..limits
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("it may");
    true
}

/// The oldest socket makes room for a client that logs in.
#[test]
fn sockets_that_do_not_log_in_keep_nobody_out() {
    if !may_open(2 * ARRIVALS_MAX as u64 + 200) {
        return;
    }
    let world = World::with(Limits::default());
    let open = |_| TcpStream::connect(world.server.address()).expect("it is accepted");
    let mut silent: Vec<TcpStream> = (0..ARRIVALS_MAX + 8).map(open).collect();
    let mut client = world.client();
    assert_eq!(query(&mut client, "rows 1").len(), 4);
    let oldest = &mut silent[0];
    oldest.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    let mut answer = Vec::new();
    oldest.read_to_end(&mut answer).expect("the server closes it");
    assert!(String::from_utf8_lossy(&answer).contains("have not logged in"));
}

#[test]
fn two_thousand_silent_clients_need_no_threads_and_little_memory() {
    const CLIENTS: usize = 2_000;
    if !may_open(2 * CLIENTS as u64 + 100) {
        return;
    }
    let world = World::new();
    let before = resident_bytes();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| world.client()).collect();
    // Each has served something, so it has what a used connection has.
    for client in &mut clients {
        assert_eq!(query(client, "rows 1").len(), 4);
    }
    wait_until("the end of the threads", || world.server.gauges().threads() <= 16);
    assert_eq!(world.server.gauges().connections(), CLIENTS);
    // Both ends are in this process.
    let each = resident_bytes().saturating_sub(before) / CLIENTS as u64;
    assert!(each < 64 << 10, "{each} bytes per connection");
    for client in clients.iter_mut().step_by(97) {
        assert_eq!(query(client, "insert 1"), ["complete INSERT 0 1", "ready I"]);
    }
}

#[test]
fn a_client_that_is_silent_for_too_long_is_disconnected() {
    let world = World::new();
    let (mut silent, mut busy) = (world.client(), world.client());
    assert_eq!(query(&mut silent, "limit 150"), ["complete LIMIT", "ready I"]);
    assert_eq!(query(&mut busy, "limit 150"), ["complete LIMIT", "ready I"]);
    for _ in 0..20 {
        pgwire_sleep(20);
        assert_eq!(query(&mut busy, "insert 1"), ["complete INSERT 0 1", "ready I"]);
    }
    let Ok(Backend::Error(ended)) = silent.read() else { panic!("the server says why") };
    assert_eq!((&*ended.sqlstate, &*ended.message), ("25P03", "too silent"));
    assert!(silent.read().is_err(), "the connection is closed");
    wait_until("the end of the session", || world.server.gauges().connections() == 1);
    assert!(world.log().contains(&"close".to_owned()));
    // A limit that ends later does not hide one that ends first.
    let mut later = world.client();
    query(&mut later, "limit 20000");
    pgwire_sleep(20);
    wait_until("the end of the other one", || world.server.gauges().connections() == 1);
    assert_eq!(query(&mut later, "insert 1"), ["complete INSERT 0 1", "ready I"]);
}

#[test]
fn a_cancel_request_ends_the_running_statement_alone() {
    let world = World::new();
    let (mut client, mut other) = (world.client(), world.client());
    let canceller = client.canceller().expect("it is connected");
    for messages in [
        vec![Frontend::Query("sleep 60000; insert 1")],
        vec![parse("", "sleep 60000", &[]), bind("", "", &[], 0), execute("", 0), Frontend::Sync],
    ] {
        // A request for a statement that has ended does not end the next one.
        canceller.cancel().expect("the server reads");
        assert_eq!(query(&mut client, "sleep 20"), ["complete SLEEP", "ready I"]);
        messages.iter().for_each(|message| client.put(message));
        client.flush().expect("the server reads");
        pgwire_sleep(50);
        assert_eq!(query(&mut other, "sleep 20"), ["complete SLEEP", "ready I"]);
        canceller.cancel().expect("the server reads");
        let answers = crate::world::answers(&mut client);
        assert_eq!(answers[answers.len() - 2..], ["error 57014", "ready I"]);
    }
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has this line");
    let kibibytes: u64 = line.split_whitespace().next().expect("a number").parse().expect("one");
    kibibytes << 10
}

#[test]
fn a_client_that_waits_inside_of_a_message_costs_no_thread() {
    let world = World::new();
    let clients: Vec<_> = (0..50).map(|_| world.client()).collect();
    for client in &clients {
        (&mut client.socket()).write_all(b"Q\0\0\0\x11in").expect("it is open");
    }
    wait_until("the end of the threads", || world.server.gauges().threads() <= 8);
    for client in &clients {
        (&mut client.socket()).write_all(b"sert 1    ").expect("it is open");
    }
    for mut client in clients {
        (&mut client.socket()).write_all(b"\0").expect("it is open");
        assert_eq!(crate::world::answers(&mut client), ["complete INSERT 0 1", "ready I"]);
    }
}

#[test]
fn a_client_that_leaves_within_a_message_ends_its_session() {
    let world = World::new();
    let client = world.client();
    (&mut client.socket()).write_all(b"Q\0\0\0\x11in").expect("it is open");
    client.socket().shutdown(std::net::Shutdown::Both).expect("it is open");
    wait_until("the end of the session", || world.server.gauges().connections() == 0);
    assert_eq!(world.log(), ["close"]);
}

#[test]
fn large_results_reach_a_slow_reader() {
    let world = World::new();
    let mut client = world.client();
    client.put(&Frontend::Query("wide 1000"));
    client.flush().expect("the server reads");
    pgwire_sleep(100);
    let mut rows = 0;
    loop {
        match client.read().expect("the server goes on") {
            Backend::Row(values) => {
                assert_eq!(values[0].as_ref().map(Vec::len), Some(10_000));
                rows += 1;
            }
            Backend::Ready(_) => break,
            _ => {}
        }
    }
    assert_eq!(rows, 1000);
}

#[test]
fn the_end_waits_for_running_statements_and_tells_silent_clients() {
    let mut world = World::new();
    let (mut silent, mut busy) = (world.client(), world.client());
    busy.put(&Frontend::Query("sleep 200"));
    busy.flush().expect("the server reads");
    wait_until("the start of the statement", || {
        world.toy.log.lock().is_ok_and(|log| !log.is_empty())
    });
    assert_eq!(world.server.stop(), 0);
    let ended = |client: &mut Client| match client.read().expect("it says why") {
        Backend::Error(error) => error.sqlstate.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(ended(&mut silent), "57P01");
    assert_eq!(ended(&mut busy), "Complete(\"SLEEP\")");
    assert_eq!(ended(&mut busy), "Ready(73)");
    assert_eq!(ended(&mut busy), "57P01");
    assert!(Client::connect(&world.target(), &[]).is_err(), "it accepts no more");
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let mut world = World::new();
    let mut busy = world.client();
    busy.put(&Frontend::Query("sleep 3000"));
    busy.flush().expect("the server reads");
    wait_until("the start of the statement", || {
        world.toy.log.lock().is_ok_and(|log| !log.is_empty())
    });
    assert_eq!(world.server.stop(), 1, "one statement is still running");
}

#[test]
fn a_panic_ends_one_connection() {
    let world = World::new();
    let (mut victim, mut other) = (world.client(), world.client());
    victim.put(&Frontend::Query("panic"));
    victim.flush().expect("the server reads");
    assert!(victim.read().is_err(), "the connection is closed");
    assert_eq!(query(&mut other, "insert 1"), ["complete INSERT 0 1", "ready I"]);
    wait_until("the end of the connection", || world.server.gauges().connections() == 1);
}
