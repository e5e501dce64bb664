//! pgbench creates its tables and runs its scripts.

use crate::programs::{World, text};

fn succeeds(world: &World, arguments: &[&str]) -> Option<String> {
    let run = world.run("pgbench", arguments)?;
    let told = text(&run);
    assert!(run.status.success(), "pgbench {arguments:?}: {told}");
    Some(told)
}

#[test]
fn pgbench_creates_its_tables_and_runs_its_scripts() {
    let world = World::new();
    // First with rows that the server generates, then with those that pgbench sends.
    for steps in ["dtGvp", "dtgvp"] {
        let Some(told) = succeeds(&world, &["-i", "-I", steps, "postgres"]) else { return };
        assert!(told.contains("done in"), "{told}");
        let counted = world.psql(&[
            "select count(*) = 100000 and max(aid) = 100000 as whole from pgbench_accounts",
            "select count(*) = 10 as whole from pgbench_tellers",
        ]);
        let counted = counted.expect("psql is there, too");
        assert_eq!(counted.matches(" t\n").count(), 2, "{steps}: {counted}");
    }
    for mode in ["simple", "extended", "prepared"] {
        for script in ["select-only", "tpcb-like", "simple-update"] {
            let script = format!("--builtin={script}");
            // Four clients change one branch: they wait for each other, and none fails.
            let clients = ["-n", "-c", "4", "-j", "2", "-t", "50", "--max-tries", "1"];
            let arguments = [&clients[..], &["-M", mode, &script, "postgres"]].concat();
            let told = succeeds(&world, &arguments).expect("it was there");
            assert!(told.contains("processed: 200/200"), "{mode} {script}: {told}");
            assert!(told.contains("failed transactions: 0 "), "{mode} {script}: {told}");
        }
    }
    // Each transaction of `tpcb-like` adds the same number to an account, a teller and the branch;
    // `simple-update` to an account alone. The history has all of them.
    let sums = world.psql(&[
        "select sum(delta) = (select sum(abalance) from pgbench_accounts) as holds, count(*) \
         from pgbench_history",
        "select (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from \
         pgbench_branches) as holds",
    ]);
    let sums = sums.expect("psql is there, too");
    assert!(sums.contains(" t     |  1200\n") && sums.ends_with(" t\n(1 row)\n\n"), "{sums}");
}
