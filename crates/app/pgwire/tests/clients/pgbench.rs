//! pgbench creates its tables and runs its scripts.

use crate::programs::{World, text};
use std::fmt::Write;

const ACCOUNTS: u32 = 100_000;

/// Rows of scale 1. psql reads the data of a copy from the file behind the statement.
fn rows() -> String {
    let mut text = "insert into pgbench_branches (bid, bbalance) values (1, 0);\n".to_owned();
    for teller in 1..=10 {
        let _ = writeln!(text, "insert into pgbench_tellers values ({teller}, 1, 0);");
    }
    text.push_str("copy pgbench_accounts from stdin;\n");
    for account in 1..=ACCOUNTS {
        let _ = writeln!(text, "{account}\t1\t0\t");
    }
    text.push_str("\\.\n");
    text
}

fn succeeds(world: &World, arguments: &[&str]) -> Option<String> {
    let run = world.run("pgbench", arguments)?;
    let told = text(&run);
    assert!(run.status.success(), "pgbench {arguments:?}: {told}");
    Some(told)
}

#[test]
fn pgbench_creates_its_tables_and_runs_its_scripts() {
    let world = World::new();
    if succeeds(&world, &["-i", "-I", "dt", "postgres"]).is_none() {
        return;
    }
    let file = std::env::temp_dir().join(format!("pgwire-{}-pgbench", std::process::id()));
    std::fs::write(&file, rows()).expect("there is room");
    let path = file.to_str().expect("it is UTF-8");
    let loaded = world.run("psql", &["-X", "-q", "-d", "postgres", "-f", path]);
    assert_eq!(text(&loaded.expect("psql is there, too")), "");
    std::fs::remove_file(&file).expect("it is ours");
    succeeds(&world, &["-i", "-I", "vp", "postgres"]);
    for mode in ["simple", "extended", "prepared"] {
        for script in ["select-only", "tpcb-like", "simple-update"] {
            let script = format!("--builtin={script}");
            // Four clients change one branch: conflicts are reported as 40001, which pgbench
            // repeats.
            let clients = ["-n", "-c", "4", "-j", "2", "-t", "50", "--max-tries", "1000"];
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
