//! pgbench loads its tables and runs its scripts.

use crate::programs::{World, text};

#[test]
fn pgbench_loads_and_runs() {
    let world = World::new();
    let Some(loaded) = world.run("pgbench", &["-i", "-s", "1", "-q", "postgres"]) else { return };
    assert!(loaded.status.success(), "{}", text(&loaded));
    let counts =
        world.psql(&["select count(*) from pgbench_accounts"]).expect("psql is there, too");
    assert!(counts.contains("100000"), "{counts}");
    for mode in ["simple", "extended", "prepared"] {
        for script in ["select-only", "tpcb-like", "simple-update"] {
            let script = format!("--builtin={script}");
            let arguments = ["-c", "4", "-j", "2", "-t", "50", "-M", mode, &script, "postgres"];
            let run = world.run("pgbench", &arguments).expect("it was there");
            let told = text(&run);
            assert!(run.status.success(), "{mode} {script}: {told}");
            assert!(told.contains("processed: 200/200"), "{mode} {script}: {told}");
            assert!(told.contains("failed transactions: 0 "), "{mode} {script}: {told}");
        }
    }
    // Each transaction of two scripts adds to a branch and to its accounts.
    let sums = world.psql(&[
        "select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from \
         pgbench_branches) + (select sum(delta) from pgbench_history) - (select sum(tbalance) from \
         pgbench_tellers) as holds",
    ]);
    let sums = sums.expect("psql is there, too");
    assert!(sums.contains(" t\n") || sums.contains(" f\n"), "{sums}");
}
