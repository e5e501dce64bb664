//! Programs that are killed.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{
    APPEND, BANK, BENCH_BOUND, HISTORY, LEASE, STOP_BOUND, both_at_work, both_tell_of_loss, judge,
    saw,
};
use crate::clock;
use crate::hosts::cluster::{Cluster, JOINED, Lab, identity};
use crate::hosts::network::{COMPUTE_HOSTS, THIRD_PLACE};

/// The system of a host reports a dead program itself.
const TOLD_BOUND: Duration = Duration::from_secs(5);
/// Enough accounts in the middle of a transfer that some are locked at any time of death.
const BANK_IN_A_HURRY: &str = "bank --records 500 --threads 1 --lanes 16 --warm-up 0";
/// For a restarted server, which first waits for the lease of its predecessor to end.
const SUCCESSOR_BOUND: Duration = Duration::from_secs(10);

/// Kills a memory server, under two programs that run transactions on it.
pub fn memory_server(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let benches = both_at_work(&mut cluster)?;
    let killed = clock::now();
    let mut server = cluster.servers.remove(1);
    server.kill()?;
    both_tell_of_loss(benches, (killed, "death"), TOLD_BOUND)?;
    judge(&mut cluster)?;
    let mut successor = cluster.start_server(1)?;
    successor.wait_for(JOINED, SUCCESSOR_BOUND)?;
    let identities = [identity(&server)?, identity(&successor)?];
    ensure!(identities[0] != identities[1], "the successor has its predecessor's identity");
    saw(&format!(
        "its successor is a member {:.1} s after the death, {} after {}",
        killed.elapsed().as_secs_f64(),
        identities[1],
        identities[0]
    ));
    let late = cluster.bench(COMPUTE_HOSTS[0], &format!("{BANK} --seconds 1"))?;
    let ended = late.fail(BENCH_BOUND)?;
    ensure!(ended.said.contains("the database is lost with memory server 1"), "{}", ended.said);
    saw(&format!("a new client reports: {}", ended.said));
    Ok(())
}

/// Kills a compute server during a benchmark, beside a program that runs its own transactions.
pub fn compute_server(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let mut servers = cluster.start_compute_servers()?;
    let words = format!("{BANK_IN_A_HURRY} --seconds 6 --compute-servers 2");
    let mut bank = cluster.bench(THIRD_PLACE, &words)?;
    let history = cluster.path(HISTORY);
    let history = format!("--history {} --compute-servers 0", history.display());
    let mut append = cluster.bench(COMPUTE_HOSTS[1], &format!("{APPEND} --seconds 6 {history}"))?;
    bank.wait_until_running()?;
    append.wait_until_running()?;
    clock::sleep(Duration::from_secs(1));
    let process = servers[0].process();
    let killed = clock::now();
    servers[0].kill()?;
    let told = bank.running.wait_for("compute server 0 is lost", TOLD_BOUND);
    told.context("the benchmark that ordered the run")?;
    saw(&format!(
        "the benchmark that ordered the run notices {:.1} s after the death (bound {TOLD_BOUND:.1?})",
        killed.elapsed().as_secs_f64()
    ));
    let ended = bank.fail(BENCH_BOUND).context("the benchmark that ordered the run")?;
    ensure!(ended.said.contains("COMPUTE SERVER 0 WAS LOST"), "no report: {}", ended.said);
    let report = append.succeed(BENCH_BOUND).context("the program that survived")?;
    saw(&format!("the other program continued: {}", report.summary()?));
    judge(&mut cluster)?;
    let gone = clock::wait(LEASE + STOP_BOUND, || {
        let status = cluster.status().ok()?;
        let servers = status["servers"].as_array()?;
        servers.iter().all(|server| server["process"] != process).then_some(())
    });
    ensure!(gone.is_some(), "the dead server is still a member");
    go_on_around_its_locks(&mut cluster)?;
    let words = format!("{BANK} --seconds 1 --fresh --compute-servers 1");
    let report = cluster.bench(THIRD_PLACE, &words)?.succeed(BENCH_BOUND);
    let report = report.context("the benchmark that creates the tables again")?;
    saw(&format!("its tables were created again for the remaining server: {}", report.summary()?));
    Ok(())
}

/// Runs transfers between the same accounts: all are read, those locked by the dead server are not
/// written.
fn go_on_around_its_locks(cluster: &mut Cluster) -> Result<()> {
    let words = format!("{BANK} --seconds 2 --loaded --compute-servers 1");
    let report = cluster.bench(THIRD_PLACE, &words)?.report(BENCH_BOUND);
    let report = report.context("the program that continues with its tables")?;
    let failed = report.failed();
    let is_lock =
        |check: &&Value| check["name"].as_str().is_some_and(|name| name.contains("left locked"));
    ensure!(
        failed.iter().all(is_lock) && report.checks().len() > failed.len(),
        "something else is wrong: {failed:?}"
    );
    let [locked] = failed[..] else { bail!("it had locked nothing: {:?}", report.checks()) };
    let [committed, conflicts, given_up] =
        ["/committed", "/aborts/write_conflict", "/given_up"].map(|path| report.number(path));
    let (committed, conflicts, given_up) = (committed?, conflicts?, given_up?);
    ensure!(committed > 0.0 && given_up > 0.0, "{committed} committed, {given_up} given up");
    saw(&format!(
        "around its locks, such as {}: {committed:.0} transactions, {} checks hold; {conflicts:.0} times a write \
         was refused as write_conflict, {given_up:.0} transactions were given up for it",
        locked["detail"].as_str().unwrap_or_default(),
        report.checks().len() - 1
    ));
    Ok(())
}
