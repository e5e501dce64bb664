//! Operations shipped to compute servers of a real cluster.
#![allow(clippy::disallowed_methods, reason = "a process is hurt at a moment of the real clock")]

use crate::cluster::Cluster;
use crate::support::{temporary, text};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Maximal wait: for a point with its table, or until a dead server is noticed.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn operations_are_shipped_over_encrypted_connections() {
    operations_are_shipped("tcp --tls", "one-sided");
}

#[test]
fn operations_are_shipped_through_shared_memory() {
    operations_are_shipped("shm", "local");
}

/// Two memory servers with and without a compute server that accepts calls. Operations by verbs are
/// measured as well.
fn operations_are_shipped(fabric: &str, by_verbs: &str) {
    let options = "--memory-servers 2 --compute-servers 1 --memory 256M";
    let name = format!("shipping-{by_verbs}");
    let cluster = Cluster::up(&name, &format!("--fabric {fabric} {options}"));
    // Runs on the compute server do not disturb its calls.
    let run = cluster.run("bench bank --records 100 --seconds 0.3 --warm-up 0");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let file = temporary(&name);
    let measure = |options: &str| {
        let file = file.display();
        cluster.run(&format!("spade measure --quick --threads 1 --file {file} {options}"))
    };
    let output = measure("--seconds 20 --json -");
    let told = text(&output.stderr);
    // All points take longer than that on most machines.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert!(!told.contains("no compute server accepts calls"), "{told}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let points = json["points"].as_array().expect("it is a list");
    let one = |place: &str, operation: &str| {
        let is_it = |point: &&Value| {
            let parameters = &point["parameters"];
            parameters["place"] == place && parameters["operation"] == operation
        };
        let point = points.iter().find(is_it);
        &point.unwrap_or_else(|| panic!("no {place} {operation}: {told}"))["measured"]
    };
    for operation in ["lookup", "update", "insert"] {
        let shipped = &one("shipped", operation)["service"];
        assert_eq!(shipped["calls"], 1.0, "{operation}");
        // A call counts as one verb, and accessing others' rows takes none.
        assert!(shipped["verbs"].as_f64() < Some(1.5), "{operation}: {shipped}");
    }
    assert_eq!(one(by_verbs, "lookup")["service"]["calls"], 0.0);
    let rate = one("shipped", "lookup")["loaded"]["operations_per_s"]["median"].as_f64();
    assert!(rate > Some(100.0), "{rate:?}");

    let status = cluster.report("status");
    let mut servers = status["servers"].as_array().expect("a list").iter();
    let server = servers.find(|one| one["role"] == "compute").expect("it runs");
    let address = server["control"].as_str().expect("it tells");
    let answered = cluster.metric(address, "namdb_call_seconds_count{service=\"shipped\"}");
    assert!(answered > 100.0, "{answered}");
    for (sample, expected) in [
        ("namdb_refused_calls_total{service=\"shipped\"}", 0.0),
        ("namdb_calls_under_way", 0.0),
        ("namdb_callers", 0.0),
    ] {
        assert_eq!(cluster.metric(address, sample), expected, "{sample}");
    }

    for process in cluster.processes("compute") {
        kill_process(process, Signal::KILL).expect("it runs");
    }
    cluster.await_state("incomplete");
    let output = measure("--seconds 1");
    let told = text(&output.stdout);
    assert!(told.contains("no compute server accepts calls"), "{told}{}", text(&output.stderr));
    std::fs::remove_file(file).expect("it is ours");
}

/// The outcome of the last operations is unknown: the run ends and names the lost server.
#[test]
fn a_compute_server_that_dies_while_operations_are_shipped_to_it_ends_the_run() {
    let cluster = Cluster::up("shipless", "--fabric tcp --memory 256M --compute-servers 1");
    let file = temporary("measured-shipless");
    let cluster_file = cluster.file.display();
    let arguments = format!(
        "spade measure --quick --threads 1 --seconds 300 --file {} --cluster {cluster_file}",
        file.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let server = cluster.processes("compute")[0];
    let child = command.spawn().expect("the program was built");
    // The first point is by verbs; the next one is the same, shipped, and takes seconds.
    let start = Instant::now();
    let has_point = || std::fs::read_to_string(&file).is_ok_and(|all| all.contains("one-sided"));
    while !has_point() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    kill_process(server, Signal::KILL).expect("it runs");
    let output = child.wait_with_output().expect("it was started here");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("compute server 0 is lost: at 127.0.0.1:"), "{said}");
    assert!(said.contains("a server became unreachable"), "{said}");
    let _ = std::fs::remove_file(file);
}
