//! `namdb status`: shows the members of a cluster and the memory of its tables.
//!
//! Decision: docs/decisions/0098-namdb-status-is-not-a-member.md

use super::memory_server::{CLUSTER_FILE, ClusterArguments};
use super::pages::{self, Heartbeats};
use crate::Verdict;
use crate::bench::json;
use crate::bench::site::{Site, SiteSession};
use crate::bench::text::{self, bytes, counted, rate};
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteQuery};
use crate::servers::development::{missing_compute_servers, missing_memory_servers};
use crate::servers::left_locks;
use anyhow::{Context, Result};
use clap::Args;
use fabric::Contents;
use layout::{NodeId, RegionId};
use membership::cluster_file::RegistryKind;
use membership::{ClusterFile, ClusterMap, Member, Registry, Role};
use namdb::host::sleep_ms;
use namdb::{TableMemory, WholeMemory};
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb status                          the cluster of namdb.toml
  namdb status --cluster prod.toml --json -

Rates are measured over 0.2 seconds. The command does not wait for missing servers. Exit codes: 0 all servers of \
the file run and the tables can be read; 1 otherwise.";

/// Arguments of `namdb status`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Also write it as JSON; `-` is standard output, and the text then goes to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Interval between the two readings of counters from which rates are computed.
const RATE_MS: u64 = 200;
/// Attempts to read the tables while members die: memory servers refuse a visitor that has not
/// heard of a death.
const VISITS_MAX: u32 = 3;

/// State of a cluster at one moment.
#[derive(Serialize)]
struct ClusterStatus {
    name: String,
    id: String,
    fabric: &'static str,
    epoch: u64,
    state: State,
    servers: Vec<ServerStatus>,
    /// Memory servers that have the contents of each, itself included; 1 without replicas.
    replicas: u16,
    /// With replicas, the regions of memory servers that have died, until a server in their place
    /// has all replicas.
    regions: Vec<MovedRegion>,
    /// Numbers of the memory servers in the file that do not run.
    missing: Vec<u16>,
    /// Numbers of the compute servers in the file that do not run.
    missing_compute: Vec<u16>,
    /// `None` if the database cannot be reached.
    tables: Option<Vec<TableStatus>>,
    /// Rows, buckets and leaves that a commit has kept locked; `None` if the tables are too large
    /// to count them.
    left_locks: Option<u64>,
    /// The last members that were evicted, as sentences, the latest at the end.
    evicted: Vec<String>,
    /// Why the tables cannot be read.
    problem: Option<String>,
}

/// Overall state of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// All servers of its file run.
    Running,
    /// Some of its servers run.
    Incomplete,
    /// No server runs, and none has died.
    Stopped,
    /// A memory server has died, and its part of the data is lost.
    Lost,
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
    /// Time since its last heartbeat, as the memory server that has not heard of it for longest
    /// says.
    heartbeat_age_s: Option<f64>,
}

/// The region of a memory server that has died.
#[derive(Serialize)]
struct MovedRegion {
    /// Number of the memory server.
    number: u16,
    /// `gone`, or the stage of the server in its place: `empty`, `awaited` or `filling`.
    server: &'static str,
    /// While it is being copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<FillStatus>,
    /// The memory server that serves it now; `None` until a replica is promoted.
    served_by: Option<u16>,
    /// Living memory servers that have its contents.
    replicas: usize,
}

/// How far the replicas of a memory server that has returned are copied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct FillStatus {
    /// Bytes that were compared, and copied where they differed.
    compared_bytes: u64,
    total_bytes: u64,
    /// At the pace of the last moment; `None` if nothing was compared in it.
    seconds_left: Option<u64>,
}

#[derive(Serialize)]
struct TableStatus {
    name: String,
    used_bytes: u64,
    /// Number of parts, each on its own memory server; 1 if it is not partitioned.
    parts: u32,
    /// Number of memory servers that have all of it; 1 if it is not replicated.
    copies: u32,
}

/// Prints the status of the cluster.
pub fn run(arguments: &StatusArguments) -> Result<Verdict> {
    let file = arguments.cluster.cluster.as_path();
    let cluster = ClusterFile::load(file, &arguments.cluster.set)?;
    let status = look(&cluster, file)?;
    json::deliver(&status, arguments.json.as_deref(), &draw(&status))?;
    Ok(if status.state == State::Running && status.tables.is_some() {
        Verdict::Sound
    } else {
        Verdict::Damaged
    })
}

fn look(cluster: &ClusterFile, file: &Path) -> Result<ClusterStatus> {
    let tables = tables(cluster);
    // Without the secret, servers tell nothing, and the tables' problem says why.
    let token = cluster.read_secret().map(|secret| secret.token()).unwrap_or_default();
    // Read after the tables, so that a server lost meanwhile is reported as missing.
    let map = match Registry::find(cluster)? {
        Some(registry) => registry.map()?,
        None => nobody(cluster),
    };
    let missing = missing_memory_servers(cluster, &map);
    let missing_compute = missing_compute_servers(cluster, &map);
    let (servers, fill) = servers(&map, &token);
    let regions = moved_regions(&map, fill);
    let is_whole = missing.is_empty() && missing_compute.is_empty() && regions.is_empty();
    let state = match map.loss() {
        Some(_) => State::Lost,
        _ if map.members.is_empty() => State::Stopped,
        _ if is_whole => State::Running,
        _ => State::Incomplete,
    };
    let (tables, left_locks) = match tables {
        Ok((tables, left_locks)) => (Ok(tables), left_locks),
        Err(error) => (Err(error), None),
    };
    let (tables, problem) = match tables {
        Ok(tables) => (Some(tables), None),
        Err(_) if state == State::Stopped => (None, Some(way_to_start(cluster, file))),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    Ok(ClusterStatus {
        name: cluster.name.clone(),
        id: cluster.id.to_string(),
        fabric: cluster.fabric.name(),
        epoch: map.epoch,
        state,
        servers,
        replicas: cluster.replicas,
        regions,
        missing,
        missing_compute,
        tables,
        left_locks,
        evicted: map.evicted.iter().map(ToString::to_string).collect(),
        problem,
    })
}

/// `fill` is that of the server that is being copied.
fn moved_regions(map: &ClusterMap, fill: Option<FillStatus>) -> Vec<MovedRegion> {
    let Some(root) = map.root.as_ref().filter(|root| root.replicas > 1) else { return Vec::new() };
    let addresses = map.address_map(root);
    let stage = |number| match addresses.contents_of(NodeId(number)) {
        None | Some(Contents::Whole) => None,
        Some(Contents::Gone) => Some("gone"),
        Some(Contents::Empty) => Some("empty"),
        Some(Contents::Awaited) => Some("awaited"),
        Some(Contents::Filling) => Some("filling"),
    };
    let moved = |number| {
        let server = stage(number)?;
        let served_by = addresses.place(RegionId(number)).map(|place| addresses.host(place).0);
        let others = addresses.replicas(RegionId(number)).count();
        let replicas = others + usize::from(served_by.is_some());
        let fill = fill.filter(|_| server != "gone");
        Some(MovedRegion { number, server, fill, served_by, replicas })
    };
    (0..addresses.server_count()).filter_map(moved).collect()
}

/// A cluster that no server has joined.
fn nobody(cluster: &ClusterFile) -> ClusterMap {
    let (members, left, (evicted, drained)) = (Vec::new(), Vec::new(), Default::default());
    ClusterMap { cluster: cluster.id, epoch: 0, members, left, evicted, root: None, drained }
}

/// The command that starts a stopped cluster.
fn way_to_start(cluster: &ClusterFile, file: &Path) -> String {
    let named = match file == Path::new(CLUSTER_FILE) {
        true => String::new(),
        false => format!(" --cluster {}", file.display()),
    };
    // A registry in files is for one host.
    match cluster.registry.kind == RegistryKind::File {
        true => format!("`namdb cluster up{named}` starts it with an empty database"),
        false => format!("`namdb memory-server{named} --number N` starts each memory server"),
    }
}

/// All servers, and the fill of one that has returned.
fn servers(map: &ClusterMap, token: &str) -> (Vec<ServerStatus>, Option<FillStatus>) {
    let before = Counters::of_all(&map.members, token);
    sleep_ms(RATE_MS);
    let after = pages::of_all(&map.members, token);
    let heartbeats = Heartbeats::of(after.iter().flatten());
    let after: Vec<_> = after.into_iter().map(|page| Counters::read(&page?)).collect();
    let fill = fill_status(before.iter().zip(&after));
    let all = map.members.iter().zip(before.iter().zip(&after));
    let servers = all.map(|(member, (before, after))| {
        let rates = before.as_ref().zip(after.as_ref());
        let rates = rates.and_then(|(before, after)| Some((before, after, after.span_s(before)?)));
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
            requests_per_s: rates
                .map(|(before, after, span_s)| (after.requests - before.requests) / span_s),
            processors: rates
                .map(|(before, after, span_s)| (after.processor_s - before.processor_s) / span_s),
            heartbeat_age_s: heartbeats.age_s(member),
        }
    });
    (servers.collect(), fill)
}

/// The fill, as the server that fills says before and after.
fn fill_status<'a>(
    servers: impl Iterator<Item = (&'a Option<Counters>, &'a Option<Counters>)>,
) -> Option<FillStatus> {
    servers.into_iter().find_map(|(before, after)| {
        let after = after.as_ref()?;
        let (compared, total) = after.fill?;
        let rate = before.as_ref().and_then(|before| {
            let (compared_before, _) = before.fill?;
            Some((compared - compared_before) / after.span_s(before)?)
        });
        let left = rate.filter(|rate| *rate > 0.0).map(|rate| ((total - compared) / rate) as u64);
        let (compared_bytes, total_bytes) = (compared as u64, total as u64);
        Some(FillStatus { compared_bytes, total_bytes, seconds_left: left })
    })
}

/// A server's metrics at one moment.
struct Counters {
    /// Time of the reading, in seconds since the server started.
    uptime_s: f64,
    requests: f64,
    processor_s: f64,
    used_bytes: f64,
    /// Compared bytes and all bytes of a fill by this server.
    fill: Option<(f64, f64)>,
}

impl Counters {
    /// Reads all servers' metrics.
    fn of_all(members: &[Member], token: &str) -> Vec<Option<Self>> {
        let pages = pages::of_all(members, token);
        pages.into_iter().map(|page| Self::read(&page?)).collect()
    }

    /// Parses a page of metrics; `None` if it is not a server's.
    fn read(page: &str) -> Option<Self> {
        let values = |name: &str| pages::values(page, name);
        let sum = |name: &str| -> f64 { values(name).iter().sum() };
        Some(Self {
            uptime_s: values(metrics::catalog::UPTIME.name).first().copied()?,
            requests: sum(metrics::catalog::SERVED_REQUESTS.name),
            processor_s: sum(metrics::catalog::PROCESSOR_SECONDS.name),
            used_bytes: sum(metrics::catalog::REGION_USED_BYTES.name),
            fill: values(metrics::catalog::FILL_COMPARED.name)
                .first()
                .copied()
                .zip(values(metrics::catalog::FILL_TOTAL.name).first().copied()),
        })
    }

    /// Seconds since an earlier reading of the same server, by its own clock.
    fn span_s(&self, earlier: &Self) -> Option<f64> {
        let span_s = self.uptime_s - earlier.uptime_s;
        (span_s > 0.0).then_some(span_s)
    }
}

fn tables(cluster: &ClusterFile) -> Result<(Vec<TableStatus>, Option<u64>)> {
    let mut visits = 1;
    loop {
        let client = ClusterClient::visit(cluster.clone())?;
        match cluster_site::query(&client, Tables) {
            Err(_) if visits < VISITS_MAX && client.is_outdated()? => visits += 1,
            tables => return tables,
        }
    }
}

/// Reads the memory of all tables and of the system, and counts the locks that were left.
struct Tables;

impl SiteQuery for Tables {
    type Output = (Vec<TableStatus>, Option<u64>);

    fn look<S: Site>(self, site: &S) -> Result<Self::Output> {
        let session = site.session()?;
        let database = session.handle();
        session.wait(database.refresh())?;
        let tables =
            session.wait(database.memory_usage()).context("cannot read the memory usage")?;
        let left_locks = session.wait(left_locks::count(&database, &tables))?;
        let names: Vec<String> = tables.iter().map(|table| table.of.clone()).collect();
        let mut used = TableMemory::of_whole_tables(tables);
        // A partitioned table is listed at its first part and skipped at the others.
        let status = |name: String| {
            let WholeMemory { used_bytes, parts, copies } = used.remove(&name)?;
            Some(TableStatus { name, used_bytes, parts, copies })
        };
        Ok((names.into_iter().filter_map(status).collect(), left_locks))
    }
}

fn draw(status: &ClusterStatus) -> String {
    let ClusterStatus { name, id, fabric, epoch, state, .. } = status;
    let mut text = format!("cluster {name} ({id}), fabric {fabric}, epoch {epoch}");
    if *state == State::Stopped {
        let problem = status.problem.as_deref().unwrap_or_default();
        return format!("{text}: stopped\n\n  {problem}\n");
    }
    text += "\n\n";
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
        if let Some(age_s) = server.heartbeat_age_s {
            text += &format!("               last heartbeat {:.0} ms ago\n", age_s * 1e3);
        }
        if let Some(control) = &server.control {
            text += &format!("               metrics at http://{control}/metrics\n");
        }
    }
    for (role, missing) in [("memory", &status.missing), ("compute", &status.missing_compute)] {
        for number in missing {
            text += &format!("  {role:<7} {number:>3}  IS MISSING\n");
        }
    }
    for MovedRegion { number, server, fill, served_by, replicas } in &status.regions {
        let now = match served_by {
            Some(by) => format!("served by memory server {by}"),
            None => "closed until a replica is promoted".to_owned(),
        };
        let left = counted(*replicas as u64, "replica");
        text += &format!("  the data of memory server {number} is {now}; {left} left\n");
        if *server != "gone" {
            text +=
                &format!("  memory server {number} has returned ({server}){}\n", progress(*fill));
        }
    }
    for eviction in &status.evicted {
        text += &format!("  {eviction}\n");
    }
    match (&status.tables, &status.problem) {
        (Some(tables), _) => {
            text += &format!("\n  {}\n", counted(tables.len() as u64 - 1, "table"));
            for table in tables {
                let TableStatus { name, used_bytes, parts, copies } = table;
                let parts = text::parts(*parts, *copies);
                let parts = parts.map_or(String::new(), |said| format!("  {said}"));
                text += &format!("  {name:<24} {:>12}{parts}\n", bytes(*used_bytes));
            }
            text += &left_locks::told(status.left_locks);
        }
        (None, problem) => {
            text +=
                &format!("\n  the tables cannot be read: {}\n", problem.as_deref().unwrap_or("?"));
        }
    }
    text
}

/// How far a fill is, for a line.
fn progress(fill: Option<FillStatus>) -> String {
    let Some(FillStatus { compared_bytes, total_bytes, seconds_left }) = fill else {
        return String::new();
    };
    let left = seconds_left.map_or(String::new(), |seconds| format!(", {seconds} s left"));
    format!(": {} of {} compared{left}", bytes(compared_bytes), bytes(total_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_says_how_long_it_takes() {
        let counters = |uptime_s, fill| {
            let (requests, processor_s, used_bytes) = Default::default();
            Some(Counters { uptime_s, requests, processor_s, used_bytes, fill })
        };
        let (before, after) = (counters(10.0, Some((1e6, 9e6))), counters(12.0, Some((3e6, 9e6))));
        let other = counters(10.0, None);
        let found = fill_status([(&other, &other), (&before, &after)].into_iter());
        let wanted =
            FillStatus { compared_bytes: 3_000_000, total_bytes: 9_000_000, seconds_left: Some(6) };
        assert_eq!(found, Some(wanted));
        assert!(progress(found).ends_with(" compared, 6 s left"), "{}", progress(found));
        assert_eq!(fill_status([(&other, &other)].into_iter()), None);
    }

    fn page(uptime_s: f64, requests: u64) -> String {
        format!(
            "# HELP namdb_uptime_seconds Words.\nnamdb_uptime_seconds {uptime_s}\n\
             namdb_served_requests_total{{kind=\"batch\"}} {requests}\n\
             namdb_served_requests_total{{kind=\"call\"}} 5\n"
        )
    }

    #[test]
    fn rates_are_over_the_time_between_a_servers_own_two_looks() {
        let read = |uptime_s, requests| Counters::read(&page(uptime_s, requests)).expect("a page");
        let (before, after) = (read(10.0, 100), read(10.5, 150));
        let span_s = after.span_s(&before).expect("time has passed");
        assert_eq!(((after.requests - before.requests) / span_s, after.requests), (100.0, 155.0));
        assert_eq!(before.span_s(&after), None, "it was started again");
        assert!(Counters::read("<html>").is_none());
    }
}
