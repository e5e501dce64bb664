//! Programs that are suspended beyond their lease.

use anyhow::{Context, Result, ensure};

use super::{APPEND, BANK, BENCH_BOUND, HISTORY, LEASE, STOP_BOUND, judge, last_sentence, saw};
use crate::clock;
use crate::hosts::cluster::Lab;
use crate::hosts::network::COMPUTE_HOSTS;
use crate::hosts::running::Signal;

/// Suspends a program that runs transactions until the others consider it dead, and resumes it.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let mut zombie = cluster.bench(COMPUTE_HOSTS[0], &format!("{BANK} --seconds 60"))?;
    let history = cluster.path(HISTORY);
    let appends = format!("{APPEND} --seconds 12 --history {}", history.display());
    let mut other = cluster.bench(COMPUTE_HOSTS[1], &appends)?;
    zombie.wait_until_running()?;
    other.wait_until_running()?;
    zombie.running.signal(Signal::Stop)?;
    clock::sleep(LEASE + STOP_BOUND);
    let awake = clock::now();
    zombie.running.signal(Signal::Continue)?;
    let ended = zombie.fail(STOP_BOUND).context("the zombie")?;
    saw(&format!(
        "it ended {:.2} s after it resumed (bound {STOP_BOUND:.1?}): {}",
        (ended.at - awake).as_secs_f64(),
        last_sentence(&ended.said)
    ));
    let is_told = ["lost its lease", "was evicted"].iter().any(|why| ended.said.contains(why));
    ensure!(is_told, "the output does not say why: {}", ended.said);
    let report = other.succeed(BENCH_BOUND).context("the program that was not suspended")?;
    saw(&format!("the other program continued: {}", report.summary()?));
    judge(&mut cluster)
}
