//! A scenario's cores and networks limit its world: with fewer of them the same work takes longer.

use scenario::{RunOptions, Scenario, run};

/// The clients' virtual time in nanoseconds, with these lines in the scenario's section `cluster`.
fn clients_ns(lines: &str) -> u64 {
    let text = format!(
        "name = \"hardware\"\nshows = \"Clients on one node.\"\n[clients]\ncount = 8\n\
         transactions = 5\n[workload.smallbank]\ncustomers = 200\nhot_percent = 0\n\
         [hostility]\nlevel = \"quiet\"\n\
         [cluster]\nmemory_servers = 1\ncompute_servers = 1\ncarrier = \"caller\"\n{lines}\n"
    );
    let scenario = Scenario::read("hardware.toml", &text).expect("it is right");
    let report = run(&scenario, 1, RunOptions::default());
    assert_eq!(report.failure, None);
    report.virtual_ns
}

#[test]
fn few_cores_take_longer_than_many() {
    let cores = |count: u16| clients_ns(&format!("cores = {count}\ncore_cost_ns = 20_000"));
    let [one, eight, all] = [1, 8, 0].map(cores);
    assert!(one > 2 * eight && all <= eight + eight / 2, "{one} {eight} {all}");
}

#[test]
fn a_slow_card_takes_longer_than_a_fast_one() {
    let reads_ns = |count: u32| clients_ns(&format!("[cluster.network]\nserve_read_ns = {count}"));
    assert!(reads_ns(20_000) > 2 * reads_ns(20));
    assert!(clients_ns("[cluster.network]") > clients_ns(""));
}
