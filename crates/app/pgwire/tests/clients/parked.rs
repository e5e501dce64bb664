//! 2,000 connections, 500 of them in an open transaction, over a server with the usual lanes.

#![allow(clippy::disallowed_methods, reason = "tests run in real time")]

use crate::alone::is_alone;
use pgwire::client::{Client, Target};
use pgwire::message::backend::Backend;
use pgwire::{Limits, Server};
use std::error::Error;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const CLIENTS: usize = 2_000;
const OPEN: usize = 500;
const ROWS: usize = 1_000;

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// Raises the limit of open files; false if that is not permitted.
fn may_open(files: u64) -> bool {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: Some(files), ..limits };
    limits.maximum.is_none_or(|maximum| maximum >= files)
        && rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).is_ok()
}

/// Runs a statement; returns the first value, if there is one.
fn run(client: &mut Client, text: &str) -> Result<Option<i64>, Box<dyn Error>> {
    let mut value = None;
    let mut failed = None;
    let ran = client.query(text, |_, message| {
        match message {
            Backend::Row(row) => {
                let first = row.into_iter().next().flatten().unwrap_or_default();
                value = String::from_utf8_lossy(&first).parse().ok();
            }
            Backend::Error(error) if pgwire::client::is_error(&error) => failed = Some(error),
            _ => {}
        }
        Ok(())
    });
    ran.map_err(|failure| format!("{text}: {failure}"))?;
    match failed {
        Some(error) => Err(format!("{text}: {} {}", error.sqlstate, error.message).into()),
        None => Ok(value),
    }
}

/// The median and the 99th percentile of a statement's time, in microseconds.
fn times(client: &mut Client) -> Result<(u64, u64), Box<dyn Error>> {
    let mut times = Vec::new();
    for round in 0..2_000 {
        let began = Instant::now();
        run(client, &format!("select v from t where id = {}", round % ROWS))?;
        times.push(began.elapsed().as_micros() as u64);
    }
    times.sort_unstable();
    Ok((times[1_000], times[1_980]))
}

#[test]
fn five_hundred_of_two_thousand_clients_think_in_a_transaction() -> Result<(), Box<dyn Error>> {
    if !is_alone("parked::five_hundred_of_two_thousand_clients_think_in_a_transaction") {
        return Ok(());
    }
    if !may_open(2 * CLIENTS as u64 + 100) {
        eprintln!("skipped: this process may not open as many files");
        return Ok(());
    }
    let db = namdb::open(namdb::Config { server_bytes: 512 << 20, ..Default::default() })?;
    let limits = Limits { connections_max: CLIENTS + 10, ..Limits::default() };
    let server = Server::start(
        TcpListener::bind("127.0.0.1:0")?,
        db.sql().map_err(|error| error.to_string())?,
        limits,
    )?;
    let target = Target {
        host: "127.0.0.1".to_owned(),
        port: server.address().port(),
        user: "me".to_owned(),
        database: "postgres".to_owned(),
        password: None,
    };
    let connect = || {
        let client = Client::connect(&target, &[]).map_err(|failure| failure.to_string())?;
        client.socket().set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok::<_, Box<dyn Error>>(client)
    };
    let mut busy = connect()?;
    run(&mut busy, "create table t (id int primary key, v int)")?;
    run(&mut busy, &format!("insert into t select g, 0 from generate_series(-1, {ROWS}) g"))?;
    let alone = times(&mut busy)?;
    let before = resident_bytes();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = connect()?;
        run(&mut client, "select v from t where id = 1")?;
        clients.push(client);
    }
    let silent = resident_bytes();
    for (id, client) in clients.iter_mut().take(OPEN).enumerate() {
        // Each reads what was committed before it has begun.
        run(&mut busy, &format!("update t set v = {id} where id = -1"))?;
        run(client, "begin isolation level repeatable read")?;
        assert_eq!(run(client, "select v from t where id = -1")?, Some(id as i64));
        run(client, &format!("update t set v = {} where id = {id}", id + 7))?;
    }
    std::thread::sleep(Duration::from_millis(200));
    let open = resident_bytes();
    let beside = times(&mut busy)?;
    eprintln!("a statement alone: {alone:?} us, beside them: {beside:?} us (median, 99 %)");
    if let (Some(before), Some(silent), Some(open)) = (before, silent, open) {
        // Both ends are in this process.
        let each = silent.saturating_sub(before) / CLIENTS as u64;
        let parked = open.saturating_sub(silent) / OPEN as u64;
        eprintln!("a connection: {each} bytes; an open transaction: {parked} more");
        assert!(each < 64 << 10 && parked < 64 << 10, "{each} and {parked} bytes");
    }
    for (id, client) in clients.iter_mut().take(OPEN).enumerate() {
        assert_eq!(run(client, "select v from t where id = -1")?, Some(id as i64), "its snapshot");
        let own = run(client, &format!("select v from t where id = {id}"))?;
        assert_eq!(own, Some(id as i64 + 7), "its own change");
        run(client, "commit")?;
    }
    let sum = (OPEN * (OPEN - 1) / 2 + 7 * OPEN) as i64;
    assert_eq!(run(&mut busy, "select sum(v) from t where id >= 0")?, Some(sum));
    Ok(())
}
