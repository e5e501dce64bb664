//! Hosts with a cable that is pulled, and plugged in again.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{
    APPEND, BANK, BENCH_BOUND, HISTORY, LEASE, STOP_BOUND, both_at_work, both_tell_of_loss, judge,
    last_sentence, saw,
};
use crate::clock;
use crate::hosts::cluster::Lab;
use crate::hosts::network::{COMPUTE_HOSTS, MEMORY_HOSTS};

/// A server without an answer is given up after 5 s; then callers try to reconnect.
const GIVE_UP_BOUND: Duration = Duration::from_secs(20);

/// A compute host beyond its lease.
pub fn compute_host(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let [cut_off, other] = COMPUTE_HOSTS;
    let history = cluster.path(HISTORY);
    let appends = format!("{APPEND} --seconds 9 --history {}", history.display());
    let mut bank = cluster.bench(cut_off, &format!("{BANK} --seconds 60"))?;
    let mut append = cluster.bench(other, &appends)?;
    bank.wait_until_running()?;
    append.wait_until_running()?;
    clock::sleep(Duration::from_secs(1));
    let cut = clock::now();
    lab.network.cut(cut_off)?;
    let ended = bank.fail(LEASE + STOP_BOUND).context("the program that was cut off")?;
    saw(&format!(
        "{} ended {:.1} s after the cut (bound {:.1?}): {}",
        cut_off.name(),
        (ended.at - cut).as_secs_f64(),
        LEASE + STOP_BOUND,
        last_sentence(&ended.said)
    ));
    ensure!(
        ended.said.contains("lost its lease"),
        "the output does not say that its lease is lost: {}",
        ended.said
    );
    let report = append.succeed(BENCH_BOUND).context("the program that was not cut off")?;
    saw(&format!("{} continued meanwhile: {}", other.name(), report.summary()?));
    judge(&mut cluster)?;
    lab.network.mend(cut_off)?;
    let again = cluster.bench(cut_off, &format!("{BANK} --seconds 1 --fresh"))?;
    let report = again.succeed(BENCH_BOUND).context("the program that has rejoined")?;
    saw(&format!("{} is back: {}", cut_off.name(), report.summary()?));
    Ok(())
}

/// A memory host within its lease.
pub fn memory_host_within_lease(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let away = LEASE / 3;
    let history = cluster.path(HISTORY);
    let words = format!("{APPEND} --seconds 5 --history {}", history.display());
    let mut append = cluster.bench(COMPUTE_HOSTS[0], &words)?;
    append.wait_until_running()?;
    clock::sleep(Duration::from_millis(500));
    lab.network.cut(MEMORY_HOSTS[1])?;
    clock::sleep(away);
    lab.network.mend(MEMORY_HOSTS[1])?;
    let report = append.succeed(BENCH_BOUND)?;
    saw(&format!("away for {away:.1?}: {}", report.summary()?));
    judge(&mut cluster)?;
    ensure!(cluster.servers.iter_mut().all(|server| server.is_alive()), "a memory server ended");
    Ok(())
}

/// A memory host beyond its lease.
pub fn memory_host_beyond_lease(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let benches = both_at_work(&mut cluster)?;
    let cut = clock::now();
    lab.network.cut(MEMORY_HOSTS[1])?;
    let server = cluster.servers.remove(1);
    let ended = server.finish(LEASE + STOP_BOUND).context("the server that was cut off")?;
    saw(&format!(
        "the server ended {:.1} s after the cut (bound {:.1?}): {}",
        (ended.at - cut).as_secs_f64(),
        LEASE + STOP_BOUND,
        last_sentence(&ended.said)
    ));
    ensure!(ended.code != Some(0) && ended.said.contains("lost its lease"), "{}", ended.said);
    both_tell_of_loss(benches, (cut, "cut"), GIVE_UP_BOUND)?;
    judge(&mut cluster)?;
    lab.network.mend(MEMORY_HOSTS[1])?;
    let status = cluster.status()?;
    ensure!(status["missing"] == serde_json::json!([1]), "server 1 is missing: {status:#}");
    Ok(())
}
