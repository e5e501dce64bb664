//! TPC-C with transactions on several memory servers.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::saw;
use crate::hosts::cluster::Lab;
use crate::hosts::network::THIRD_PLACE;

/// Loading, running and checking together.
const BOUND: Duration = Duration::from_secs(60);

/// Two warehouses with rows on all three memory servers, and two compute servers. A third host
/// gives them the work, loads the tables and checks them.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut cluster = lab.cluster()?;
    let _compute_servers = cluster.start_compute_servers()?;
    for percent in [10, 100] {
        let words = format!(
            "tpcc --population small --warehouses 2 --distribution {percent} --compute-servers 2 --warm-up 0.2 \
             --seconds 3 --fresh"
        );
        let report = cluster.bench(THIRD_PLACE, &words)?.succeed(BOUND)?;
        let rate = report.number("/txn_per_s")?;
        ensure!(rate > 0.0, "nothing was committed");
        saw(&format!(
            "{percent} %: {rate:.0} transactions per second from two hosts, {} checks hold",
            report.checks().len()
        ));
    }
    Ok(())
}
