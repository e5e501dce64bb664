//! The requirements of liveness mode after faults have stopped.

use scenario::{RunOptions, Scenario, run};

/// The first compute server is paused from the beginning until faults stop. By then the clients of
/// the second one have run their transactions.
const TEXT: &str = r#"
name = "one-sleeps"
shows = "A client that has run all transactions waits for faults to stop, and commits again."
mode = { liveness = { faults_ns = 4_000_000, bound_ns = 100_000_000 } }

[cluster]
memory_servers = 1
compute_servers = 2

[clients]
count = 4
transactions = 2

[workload.bank]

[[plan]]
fault = "process-pause"
at_ns = 0
node = 1

[expect]
every_client_commits = true
"#;

#[test]
fn a_client_that_was_done_before_faults_stopped_commits_again() {
    let scenario = Scenario::read("one-sleeps.toml", TEXT).expect("it is right");
    for seed in 0..20 {
        let report = run(&scenario, seed, RunOptions::default());
        assert_eq!(report.failure, None, "seed {seed}");
        // Two transactions per client before faults stopped, if it was running, and two after.
        assert!(report.transactions.all() >= 2 * 2 + 4 * 2, "seed {seed}: {report:?}");
        assert!(report.virtual_ns >= 4_000_000, "seed {seed} ended before faults stopped");
    }
}
