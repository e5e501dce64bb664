//! The test cases on the hosts. Each case has its own clusters.

mod cut;
mod distributed;
mod killed;
mod zombie;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::cluster::{Bench, Cluster, LEASE_S, Lab};
use super::network::{COMPUTE_HOSTS, THIRD_PLACE};
use crate::clock;

/// Something that happens to a cluster, and its required outcome.
pub struct Case {
    pub name: &'static str,
    /// A sentence.
    pub shows: &'static str,
    pub run: fn(&mut Lab) -> Result<()>,
}

/// All cases.
pub const CASES: [Case; 7] = [
    Case {
        name: "distributed",
        shows: "TPC-C with 10 % and with 100 % distributed orders keeps TPC-C's consistency conditions",
        run: distributed::run,
    },
    Case {
        name: "compute-host-cut-off",
        shows: "a host that is cut off from registry and memory servers stops, the others continue, and it can rejoin",
        run: cut::compute_host,
    },
    Case {
        name: "memory-host-blinks",
        shows: "a memory host that is away for less than its lease costs time and nothing else",
        run: cut::memory_host_within_lease,
    },
    Case {
        name: "memory-host-cut-off",
        shows: "a memory host that is away for longer ends the runs with an error, and is no longer a member when it returns",
        run: cut::memory_host_beyond_lease,
    },
    Case {
        name: "memory-server-killed",
        shows: "all members notice a memory server's death, and a restarted one has a new identity",
        run: killed::memory_server,
    },
    Case {
        name: "compute-server-killed",
        shows: "locks of a dead compute server block no reader, and writes to the locked rows are refused",
        run: killed::compute_server,
    },
    Case {
        name: "zombie",
        shows: "a compute server suspended beyond its lease changes nothing when it resumes",
        run: zombie::run,
    },
];

/// The history that clients record.
const HISTORY: &str = "history.edn";
/// Lease of a server.
const LEASE: Duration = Duration::from_secs(LEASE_S);

/// Time to end after the lease.
const STOP_BOUND: Duration = Duration::from_secs(3);
/// For a whole benchmark of some seconds, on a host with other load.
const BENCH_BOUND: Duration = Duration::from_secs(60);
/// Lists on all memory servers, with many conflicts, at a rate that is quick to judge.
const APPEND: &str = "append --lists 12 --threads 1 --lanes 6 --warm-up 0 --rate 250";
/// Accounts on all memory servers.
const BANK: &str = "bank --records 500 --threads 1 --lanes 6 --warm-up 0 --rate 500";

/// Judges the clients' history, on the third host.
fn judge(cluster: &mut Cluster) -> Result<()> {
    let words = format!("check history {HISTORY} --isolation snapshot");
    let ended = cluster.run(THIRD_PLACE, &words, BENCH_BOUND)?;
    ensure!(ended.code == Some(0), "the judge says: {}", ended.said);
    saw("the judge finds no anomaly in the clients' history");
    Ok(())
}

/// The error message in a program's output.
fn last_sentence(said: &str) -> &str {
    ["namdb: ", "ERROR "].iter().find_map(|begin| said.rfind(begin)).map_or(said, |at| &said[at..])
}

/// A benchmark's message about a lost memory server.
fn loss(said: &str) -> Result<&str> {
    ensure!(said.contains("A MEMORY SERVER WAS LOST"), "the output does not say so: {said}");
    let start = said
        .find("memory server 1 is lost")
        .with_context(|| format!("the output does not name the server: {said}"))?;
    let end = said[start..].find(" running ").map_or(said.len(), |end| start + end);
    Ok(&said[start..end])
}

/// Programs on both compute hosts run transactions on all memory servers: lists, with a recorded
/// history, and accounts.
fn both_at_work(cluster: &mut Cluster) -> Result<[(&'static str, Bench); 2]> {
    let history = cluster.path(HISTORY);
    let appends = format!("{APPEND} --seconds 60 --history {}", history.display());
    let mut append = cluster.bench(COMPUTE_HOSTS[0], &appends)?;
    let mut bank = cluster.bench(COMPUTE_HOSTS[1], &format!("{BANK} --seconds 60"))?;
    append.wait_until_running()?;
    bank.wait_until_running()?;
    clock::sleep(Duration::from_secs(1));
    Ok([("append", append), ("bank", bank)])
}

/// Waits until both have reported the loss of memory server 1, and prints the time since it
/// happened.
fn both_tell_of_loss(
    benches: [(&'static str, Bench); 2],
    (since, what): (Instant, &str),
    bound: Duration,
) -> Result<()> {
    for (name, bench) in benches {
        let ended = bench.fail(bound).context(name)?;
        let seconds = (ended.at - since).as_secs_f64();
        let loss = loss(&ended.said)?;
        saw(&format!("{name} ended {seconds:.1} s after the {what} (bound {bound:.1?}): {loss}"));
    }
    Ok(())
}

/// Prints an observation.
fn saw(sentence: &str) {
    eprintln!("hosts:   {sentence}");
}
