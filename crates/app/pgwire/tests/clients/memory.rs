//! A million rows reach the client while the query runs: the server does not hold them.

use crate::alone::is_alone;
use namdb::Db;
use namdb::sql::SqlDatabase;
use pgwire::{Limits, Server};
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, NoTls};
use std::error::Error;
use std::io::Read;
use std::net::TcpListener;

const ROWS: usize = 1_000_000;
/// Rows of a statement that fills the table.
const PART: usize = 50_000;
/// Memory for which the process may grow. The rows would take ten times as much.
const GROWTH_KB_MAX: u64 = 16 << 10;

/// The largest memory of this process since the last reset, in kB; `None` where the kernel does not
/// tell.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn reset_peak() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_kb()
}

fn server() -> Server<SqlDatabase<Db>> {
    let config = namdb::Config { server_bytes: 512 << 20, lanes: 8, ..Default::default() };
    let db = namdb::open(config).expect("there is memory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let database = db.sql().expect("a new database has an empty catalog");
    Server::start(listener, database, Limits::default()).expect("it starts")
}

/// Runs something that takes all rows, and returns the growth of this process in kB.
fn growth(
    take: impl FnOnce() -> Result<usize, Box<dyn Error>>,
) -> Result<Option<u64>, Box<dyn Error>> {
    let before = reset_peak();
    assert_eq!(take()?, ROWS);
    Ok(before.zip(peak_kb()).map(|(before, after)| after - before))
}

#[test]
fn a_million_rows_are_sent_and_not_held() -> Result<(), Box<dyn Error>> {
    if !is_alone("memory::a_million_rows_are_sent_and_not_held") {
        return Ok(());
    }
    let server = server();
    let port = server.address().port();
    let config = format!("host=127.0.0.1 port={port} user=me dbname=postgres");
    let mut client = Client::connect(&config, NoTls)?;
    client.batch_execute("create table big (id int primary key, kind int, name varchar(20))")?;
    for part in 0..ROWS / PART {
        let (from, to) = (part * PART, (part + 1) * PART - 1);
        client.batch_execute(&format!(
            "insert into big select g, g % 1000, 'name ' || g from generate_series({from}, {to}) g"
        ))?;
    }
    let select = "select * from big";
    let ordered = "select * from big order by id";
    let mut grown = Vec::new();
    for query in [select, ordered] {
        let rows = || Ok(client.query_raw(query, [] as [i32; 0])?.count()?);
        grown.push((query, growth(rows)?));
    }
    let copy = || {
        let (mut reader, mut lines) = (client.copy_out("copy big to stdout")?, 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(lines),
                count => lines += buffer[..count].iter().filter(|byte| **byte == b'\n').count(),
            }
        }
    };
    grown.push(("copy", growth(copy)?));
    let portal = || {
        let mut transaction = client.transaction()?;
        let portal = transaction.bind(ordered, &[])?;
        let mut count = 0;
        loop {
            match transaction.query_portal(&portal, 10_000)?.len() {
                0 => return Ok(count),
                rows => count += rows,
            }
        }
    };
    grown.push(("portal", growth(portal)?));
    for (what, grown) in grown {
        assert!(grown.is_none_or(|kb| kb <= GROWTH_KB_MAX), "{what}: {grown:?} kB");
    }
    Ok(())
}
