//! Procedures shipped to the compute servers beside their rows, as designs say.
#![allow(clippy::disallowed_methods, reason = "servers are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::parts::{assert_sound, partitioned};
use super::support::{number, text};
use namdb::procedures::{CallFailure, Database, Options, Tables};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CALLS: &str = "namdb_call_seconds_count{service=\"call\"}";
const REFUSED: &str = "namdb_refused_calls_total{service=\"call\"}";
const PATIENCE: Duration = Duration::from_secs(30);

/// A small bank with partitioned tables whose procedures are all shipped.
pub fn shipped(test: &str) -> PathBuf {
    let by = [("accounts", "customer_id"), ("checking", "customer_id"), ("savings", "customer_id")];
    let folder = partitioned("smallbank", test, &by);
    let file = folder.join("design.json");
    let text = fs::read_to_string(&file).expect("it was written");
    let mut design: Value = serde_json::from_str(&text).expect("it is JSON");
    for procedure in design["procedures"].as_array_mut().expect("a list") {
        procedure["access"] = json!("shipped");
        procedure["by"] = json!("customer");
    }
    fs::write(file, design.to_string()).expect("there is room");
    folder
}

/// The control addresses of the compute servers.
fn tell(cluster: &Cluster) -> Vec<String> {
    let status = cluster.report("status");
    let servers = status["servers"].as_array().expect("a list").iter();
    let compute = servers.filter(|server| server["role"] == "compute");
    // Programs are members without a control address.
    compute.filter_map(|server| Some(server["control"].as_str()?.to_owned())).collect()
}

/// Both compute servers make calls and execute each other's; then this process makes all calls, and
/// both execute them.
fn are_carried_out_over(fabric: &str) {
    let test = format!("owners-{fabric}");
    let options = format!("--fabric {fabric} --memory-servers 2 --compute-servers 2 --memory 64M");
    let cluster = Cluster::up(&test, &options);
    let bench = format!("bench {} --threads 1 --seconds 2 --warm-up 0", shipped(&test).display());
    let report = cluster.report(&bench);
    assert_sound(&report);
    let percents = ["/remote_percent", "/shipped_percent"].map(|path| number(&report, path));
    // Most drawn customers are on the first memory server, and each compute server makes the calls
    // for its own rows.
    assert!(percents.iter().all(|percent| (7.0..13.0).contains(percent)), "{percents:?}");
    let most = cluster.report(&format!("{bench} --loaded --remote-calls 75"));
    assert_sound(&most);
    let percents = ["/remote_percent", "/shipped_percent"].map(|path| number(&most, path));
    assert!(percents.iter().all(|percent| (70.0..80.0).contains(percent)), "{percents:?}");
    let calls = number(&report, "/per_type/balance/calls");
    assert!((0.0..1.0).contains(&calls), "{calls}");
    let servers = tell(&cluster);
    let carried_out =
        || servers.iter().map(|server| cluster.metric(server, CALLS)).collect::<Vec<f64>>();
    let before = carried_out();
    assert!(before.iter().all(|&count| count > 0.0), "{before:?}");

    let from_anywhere = cluster.report(&format!("{bench} --loaded --remote-calls anywhere"));
    assert_eq!(from_anywhere["remote_percent"], Value::Null);
    let percent = number(&from_anywhere, "/shipped_percent");
    assert!((0.1..99.9).contains(&percent), "some have their rows elsewhere: {percent}");

    let before = carried_out();
    let by_this_process = format!("{bench} --loaded --compute-servers 0");
    let report = cluster.report(&by_this_process);
    assert_sound(&report);
    assert_eq!(report["remote_percent"], Value::Null, "it is nowhere at home");
    assert!(number(&report, "/shipped_percent") > 99.0, "{report:#}");
    let of_balance = |what: &str| number(&report, &format!("/per_type/balance/{what}"));
    let (calls, ended) = (of_balance("calls"), of_balance("count") + of_balance("given_up"));
    // Unfinished calls at the end are executed but not counted, and conflicts cause further calls:
    // on a busy host with few calls that may be more than one percent.
    let most = number(&report, "/lanes") + of_balance("retries") + 0.01 * ended;
    let further = (calls - 1.0) * ended;
    assert!(further.abs() < most + 0.5, "one message each: {calls} of {ended}");
    let after = carried_out();
    assert!(after.iter().zip(&before).all(|(after, before)| after > before), "{after:?}");
    for server in &servers {
        assert_eq!(cluster.metric(server, REFUSED), 0.0);
    }
    let output = cluster.run(&format!("{by_this_process} --remote-calls 20"));
    let (told, said) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("--remote-calls has no effect"), "{said}");
    assert!(told.contains("shipped to the compute servers that own their rows"), "{told}");
}

#[test]
fn procedures_are_carried_out_by_owners_over_shared_memory() {
    are_carried_out_over("shm");
}

#[test]
fn procedures_are_carried_out_by_owners_over_messages() {
    are_carried_out_over("tcp");
}

/// Calls in progress at the dead owner have an unknown outcome; later calls are executed by their
/// callers.
#[test]
fn calls_go_on_without_an_owner_that_died() {
    let options = "--fabric tcp --memory-servers 2 --compute-servers 2 --memory 64M";
    let cluster = Cluster::up("owners-die", options);
    let folder = shipped("owners-die");
    let arguments = format!(
        "bench {} --threads 1 --seconds 8 --warm-up 0 --compute-servers 0 --json - --cluster {}",
        folder.display(),
        cluster.file.display()
    );
    let (server, addresses) = (cluster.processes("compute")[1], tell(&cluster));
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program was built");
    let start = Instant::now();
    while cluster.metric(&addresses[1], CALLS) < 5.0 {
        assert!(start.elapsed() < PATIENCE, "nothing is shipped");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(server, Signal::KILL).expect("it runs");
    let output = child.wait_with_output().expect("it was started here");
    let said = text(&output.stderr);
    assert!(said.contains("compute server 1 is lost"), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    // It may have died holding locks, which last until its lease ends. That is no damage.
    let checks = report["checks"].as_array().expect("a list");
    let are_whole = checks.iter().all(|check| check["ok"] == true || check["is_lock"] == true);
    assert!(are_whole, "{report:#}");
    let has_locks = checks.iter().any(|check| check["is_lock"] == true);
    assert_eq!(output.status.code(), Some(if has_locks { 3 } else { 0 }), "{said}");
    assert_eq!(report["problems"], json!([]));
    assert!(number(&report, "/seconds") > 7.5, "{report:#}");
    // Each of eight lanes may have had a call there, and retries once per second.
    assert!(number(&report, "/unknown") <= 8.0 * 10.0, "{report:#}");
    let percent = number(&report, "/shipped_percent");
    // Few drawn customers belong to the dead server.
    assert!((0.5..99.9).contains(&percent), "the other one goes on: {percent}");
}

/// Programs that call procedures by name ship them, too; rows and errors come back as if executed
/// locally.
fn programs_ship_over(fabric: &str) {
    let test = format!("owners-program-{fabric}");
    let options = format!("--fabric {fabric} --memory-servers 2 --compute-servers 2 --memory 64M");
    let cluster = Cluster::up(&test, &options);
    let (folder, tables) = (shipped(&test), Tables::Loaded);
    let file = Some(cluster.file.clone());
    let options = Options { cluster: file, sessions: 1, tables, ..Options::default() };
    let database = Database::open(&folder, &options).unwrap_or_else(|error| panic!("{error}"));
    let session = database.session().expect("it connects");
    let balance = |customer: i64| {
        let mut call = session.call("balance").expect("the workload has it");
        let rows = call.bind(0, customer).expect("a number").execute().expect("it is there");
        rows.int(0, 0).expect("a number").expect("it is not null")
    };
    let customers = [1, 990];
    let before = customers.map(balance);
    for customer in customers {
        let mut call = session.call("deposit_checking").expect("the workload has it");
        call.bind(0, customer).and_then(|call| call.bind(1, 50)).expect("both are numbers");
        call.execute().expect("it is there");
    }
    assert_eq!(customers.map(balance), before.map(|before| before + 50));
    let mut call = session.call("transact_savings").expect("the workload has it");
    call.bind(0, 990).and_then(|call| call.bind(1, -1_000_000_000)).expect("both are numbers");
    let refused = call.execute().err();
    assert!(
        matches!(&refused, Some(CallFailure::Refused { sqlstate, .. }) if sqlstate == "P0001"),
        "{refused:?}"
    );
    let counts: Vec<f64> =
        tell(&cluster).iter().map(|server| cluster.metric(server, CALLS)).collect();
    assert_eq!(counts, [3.0, 4.0]);
}

#[test]
fn programs_ship_over_shared_memory() {
    programs_ship_over("shm");
}

#[test]
fn programs_ship_over_messages() {
    programs_ship_over("tcp");
}
