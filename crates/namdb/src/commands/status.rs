//! `namdb status`: who is in a cluster, and what its memory servers hold.

use super::memory_server::ClusterArguments;
use crate::Verdict;
use crate::bench::json;
use crate::bench::site::{Seat, Site};
use crate::bench::text::{bytes, counted, rate};
use crate::servers::place::Place;
use crate::servers::shm::ShmSite;
use crate::servers::{tcp, verbs};
use anyhow::{Context, Result};
use clap::Args;
use membership::{ClusterFile, ClusterMap, FabricKind, Member, Registry, Role};
use namdb::host::{Moment, sleep_ms};
use serde::Serialize;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  namdb status --cluster namdb.toml
  namdb status --cluster namdb.toml --json -

Rates are those of a fifth of a second. The exit code is 1 if a memory server is missing.";

/// Options of `status`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Also write it as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Between two looks at counters.
const RATE_MS: u64 = 200;
/// How long a server may take to tell its counters.
const TELL_TIME: Duration = Duration::from_secs(2);

/// A cluster at a moment.
#[derive(Serialize)]
struct ClusterStatus {
    name: String,
    id: String,
    fabric: &'static str,
    epoch: u64,
    servers: Vec<ServerStatus>,
    /// Numbers of memory servers that the file has and the cluster has not.
    missing: Vec<usize>,
    /// None where the database cannot be reached.
    tables: Option<Vec<TableStatus>>,
    /// Why not.
    problem: Option<String>,
}

#[derive(Serialize)]
struct ServerStatus {
    role: &'static str,
    number: u16,
    host: String,
    process: u32,
    address: String,
    control: Option<String>,
    region_bytes: Option<u64>,
    used_bytes: Option<u64>,
    requests_per_s: Option<f64>,
    processors: Option<f64>,
}

#[derive(Serialize)]
struct TableStatus {
    name: String,
    used_bytes: u64,
}

/// Shows the cluster.
pub fn run(arguments: &StatusArguments) -> Result<Verdict> {
    let cluster = ClusterFile::load(&arguments.cluster.cluster, &arguments.cluster.set)?;
    let map = Registry::open(&cluster)?.map()?;
    let count = cluster.memory.len() as u16;
    let is_there = |number: u16| map.memory_server(layout::NodeId(number)).is_some();
    let missing = (0..count).filter(|&number| !is_there(number)).map(usize::from).collect();
    let (tables, problem) = match tables(&cluster) {
        Ok(tables) => (Some(tables), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let status = ClusterStatus {
        name: cluster.name.clone(),
        id: cluster.id.to_string(),
        fabric: cluster.fabric.name(),
        epoch: map.epoch,
        servers: servers(&map),
        missing,
        tables,
        problem,
    };
    json::deliver(&status, arguments.json.as_deref(), &draw(&status))?;
    Ok(if status.missing.is_empty() { Verdict::Sound } else { Verdict::Damaged })
}

fn servers(map: &ClusterMap) -> Vec<ServerStatus> {
    let start = Moment::now();
    let before: Vec<Option<Counters>> = map.members.iter().map(Counters::of).collect();
    sleep_ms(RATE_MS);
    let after: Vec<Option<Counters>> = map.members.iter().map(Counters::of).collect();
    let seconds = start.elapsed_s();
    let all = map.members.iter().zip(before.iter().zip(&after));
    all.map(|(member, (before, after))| {
        let both = before.as_ref().zip(after.as_ref());
        let addresses = &member.addresses;
        ServerStatus {
            role: if member.is_memory_server() { "memory" } else { "compute" },
            number: member.number,
            host: member.host.clone(),
            process: member.pid,
            address: match (addresses.reached(), &addresses.shm) {
                (Some(address), _) => address.clone(),
                (None, Some(_)) => "shared memory".to_owned(),
                (None, None) => "takes no connections".to_owned(),
            },
            control: addresses.control.clone(),
            region_bytes: match member.role {
                Role::Memory { region_bytes, .. } => Some(region_bytes),
                Role::Compute => None,
            },
            used_bytes: after.as_ref().map(|counters| counters.used_bytes as u64),
            requests_per_s: both
                .map(|(before, after)| (after.requests - before.requests) / seconds),
            processors: both
                .map(|(before, after)| (after.processor_s - before.processor_s) / seconds),
        }
    })
    .collect()
}

/// What a server's metrics say at a moment.
struct Counters {
    requests: f64,
    processor_s: f64,
    used_bytes: f64,
}

impl Counters {
    /// None of a server that does not answer in time.
    fn of(member: &Member) -> Option<Self> {
        let page = fetch(member.addresses.control.as_deref()?)?;
        let sum = |name: &str| -> f64 {
            let lines = page.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Some(Self {
            requests: sum(metrics::catalog::SERVED_REQUESTS.name),
            processor_s: sum(metrics::catalog::PROCESSOR_SECONDS.name),
            used_bytes: sum(metrics::catalog::REGION_USED_BYTES.name),
        })
    }
}

fn fetch(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address.parse().ok()?, TELL_TIME).ok()?;
    stream.set_read_timeout(Some(TELL_TIME)).ok()?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    Some(page)
}

fn tables(cluster: &ClusterFile) -> Result<Vec<TableStatus>> {
    let place = Place::visit(cluster.clone())?;
    match cluster.fabric {
        FabricKind::Shm => tables_at(&ShmSite::open(&place)?),
        FabricKind::Tcp => tables_at(&tcp::site(&place, 1)?),
        FabricKind::Verbs => tables_at(&verbs::site(&place, 1)?),
    }
}

fn tables_at<S: Site>(site: &S) -> Result<Vec<TableStatus>> {
    let seat = site.seat()?;
    let database = seat.handle();
    seat.wait(database.refresh())?;
    let tables = seat.wait(database.memory_usage()).context("memory cannot be asked for")?;
    let status =
        |table: namdb::TableMemory| TableStatus { name: table.name, used_bytes: table.used_bytes };
    Ok(tables.into_iter().map(status).collect())
}

fn draw(status: &ClusterStatus) -> String {
    let ClusterStatus { name, id, fabric, epoch, .. } = status;
    let mut text = format!("cluster {name} ({id}), fabric {fabric}, epoch {epoch}\n\n");
    for server in &status.servers {
        let ServerStatus { role, number, process, address, host, .. } = server;
        text += &format!("  {role:<7} {number:>3}  {address:<22} process {process} on {host}\n");
        if let (Some(region), Some(used)) = (server.region_bytes, server.used_bytes) {
            text += &format!(
                "               {} of {} handed out, {} requests/s, {:.2} processors\n",
                bytes(used),
                bytes(region),
                rate(server.requests_per_s.unwrap_or_default()),
                server.processors.unwrap_or_default()
            );
        }
    }
    for number in &status.missing {
        text += &format!("  memory  {number:>3}  IS MISSING\n");
    }
    match (&status.tables, &status.problem) {
        (Some(tables), _) => {
            text += &format!("\n  {}\n", counted(tables.len() as u64 - 1, "table"));
            for table in tables {
                text += &format!("  {:<24} {:>12}\n", table.name, bytes(table.used_bytes));
            }
        }
        (None, problem) => {
            text +=
                &format!("\n  the tables cannot be seen: {}\n", problem.as_deref().unwrap_or("?"));
        }
    }
    text
}
