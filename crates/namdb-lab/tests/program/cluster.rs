//! Clusters of processes on this host: started, used, looked at, hurt, and ended.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::support::{get, namdb, number, temporary, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A development cluster of one test, which ends with it.
pub struct Cluster {
    pub file: PathBuf,
    directory: PathBuf,
}

impl Cluster {
    pub fn up(name: &str, options: &str) -> Self {
        let file = temporary(&format!("{name}.toml"));
        let up = namdb(&format!("cluster up --file {} {options}", file.display()));
        let errors = text(&up.stderr);
        assert_eq!(up.status.code(), Some(0), "{errors}");
        let told = text(&up.stdout);
        let directory = told.lines().next().and_then(|line| line.split("registry in ").nth(1));
        let directory = PathBuf::from(directory.expect("it says where"));
        Self { file, directory }
    }

    pub fn run(&self, command: &str) -> std::process::Output {
        namdb(&format!("{command} --cluster {}", self.file.display()))
    }

    pub fn report(&self, command: &str) -> Value {
        let output = self.run(&format!("{command} --json -"));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {errors}");
        serde_json::from_str(&text(&output.stdout)).expect("the report is JSON")
    }

    pub fn processes(&self, role: &str) -> Vec<Pid> {
        let status = self.report("status");
        let servers = status["servers"].as_array().expect("a list");
        let wanted = servers.iter().filter(|server| server["role"] == role);
        wanted.filter_map(|server| Pid::from_raw(server["process"].as_i64()? as i32)).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        namdb(&format!("cluster down --file {}", self.file.display()));
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A bank on two memory servers, twice: what the first run leaves is dropped for the second.
fn serves_a_bank(fabric: &str) {
    let options = format!("--fabric {fabric} --memory-servers 2 --memory 64M");
    let cluster = Cluster::up(&format!("bank-{fabric}"), &options);
    for isolation in ["snapshot", "serializable"] {
        let bench = format!(
            "bench bank --records 200 --threads 2 --lanes 4 --seconds 0.5 --warm-up 0.1 --fresh --isolation {isolation}"
        );
        let report = cluster.report(&bench);
        assert_eq!((&report["fabric"], number(&report, "/servers")), (&fabric.into(), 2.0));
        assert!(number(&report, "/txn_per_s") > 0.0, "{report:#}");
        let checks = report["checks"].as_array().expect("a list");
        assert!(checks.len() == 4 && checks.iter().all(|check| check["ok"] == true), "{report:#}");
    }
    let status = cluster.report("status");
    assert_eq!(status["tables"][0]["name"], "account", "{status:#}");
    assert!(number(&status, "/servers/0/used_bytes") > 0.0, "{status:#}");
    let again = cluster.run("bench bank --records 200 --threads 1 --seconds 0.1");
    let errors = text(&again.stderr);
    assert_eq!(again.status.code(), Some(2), "{errors}");
    assert!(errors.contains("table account") && errors.contains("--fresh"), "{errors}");
}

/// Tables that a design has made, on two memory servers, are those that procedures then work with.
#[test]
fn a_design_is_applied_and_used() {
    let cluster = Cluster::up("applied", "--fabric shm --memory-servers 2 --memory 128M");
    let folder = format!("{}/../../workloads/smallbank", env!("CARGO_MANIFEST_DIR"));
    let made = cluster.report(&format!("spade apply {folder} --units 1 --threads 1"));
    let tables = made["tables"].as_array().expect("a list");
    assert_eq!((tables.len(), number(&made, "/servers")), (3, 2.0), "{made:#}");
    assert!(tables.iter().all(|table| table["used_bytes"].as_u64() > Some(0)), "{made:#}");
    let stored = tables[0]["stored"].as_str().expect("it is told");
    assert_eq!(stored, "hash table, rows inlined, 1 slot, counted", "{made:#}");
    let bench = format!("bench {folder} --units 1 --threads 1 --seconds 0.3 --warm-up 0 --loaded");
    assert!(number(&cluster.report(&bench), "/txn_per_s") > 0.0);
    let again = cluster.run(&format!("spade apply {folder} --units 1 --threads 1"));
    assert_eq!(again.status.code(), Some(2), "the tables are there");
    assert!(text(&again.stderr).contains("--fresh"), "{}", text(&again.stderr));
}

#[test]
fn shared_memory_serves_a_bank() {
    serves_a_bank("shm");
}

#[test]
fn messages_serve_a_bank() {
    serves_a_bank("tcp");
}

/// Far more runs than a vector has slots: each gives back those that it took.
#[test]
fn slots_are_given_back_by_runs_that_end() {
    let cluster = Cluster::up("slots", "--fabric tcp --memory 64M");
    for _ in 0..4 {
        let report = cluster.report(
            "bench bank --records 100 --threads 1 --lanes 30 --seconds 0.1 --warm-up 0 --fresh",
        );
        assert!(number(&report, "/txn_per_s") > 0.0);
    }
}

/// There are 64 slots for all lanes of a cluster: more are refused before anything is done.
#[test]
fn more_lanes_than_a_cluster_has_slots_are_refused_beforehand() {
    let cluster = Cluster::up("lanes", "--fabric tcp --memory 64M --compute-servers 2");
    for (options, slots) in [
        ("--threads 2 --lanes 33 --compute-servers 0", "takes 66 slots"),
        ("--threads 1 --lanes 33", "takes 66 slots"),
        ("--threads 63 --lanes 2 --compute-servers 0", "takes 126 slots"),
    ] {
        let output = cluster.run(&format!("bench bank --records 100 {options}"));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(slots) && errors.contains("64 of the cluster's 64"), "{errors}");
    }
    let status = cluster.report("status");
    assert_eq!(status["tables"].as_array().map(Vec::len), Some(1), "only the system's: {status:#}");
    let report = cluster.report("bench bank --records 100 --threads 1 --lanes 32 --seconds 0.1");
    assert!(number(&report, "/txn_per_s") > 0.0);
}

/// Two compute servers run one workload: each has its share, their measurements and what their transactions leave
/// to the checks arrive here, and what they tell is what they did.
#[test]
fn compute_servers_share_a_run() {
    let options = "--fabric tcp --memory-servers 2 --compute-servers 2 --memory 64M";
    let cluster = Cluster::up("crew", options);
    for workload in [
        "bank --records 500",
        "smallbank --records 500",
        "tatp --subscribers 500",
        "ycsb --workload D",
        "append",
    ] {
        let bench = format!("bench {workload} --seconds 0.5 --warm-up 0.1 --lanes 4 --fresh");
        let report = cluster.report(&bench);
        let servers = report["compute_servers"].as_array().expect("a list");
        let sum: f64 = servers.iter().map(|server| number(server, "/committed")).sum();
        assert_eq!((servers.len(), sum), (2, number(&report, "/committed")), "{report:#}");
        assert!(servers.iter().all(|server| number(server, "/committed") > 0.0), "{report:#}");
        let checks = report["checks"].as_array().expect("a list");
        assert!(!checks.is_empty() && checks.iter().all(|check| check["ok"] == true), "{report:#}");
    }
    let status = cluster.report("status");
    let servers = status["servers"].as_array().expect("a list");
    let compute: Vec<&Value> =
        servers.iter().filter(|server| server["role"] == "compute").collect();
    assert_eq!(compute.len(), 2, "{status:#}");
    for server in compute {
        let address = server["control"].as_str().expect("it tells");
        assert!(commits(address) > 0.0, "{server:#}");
    }
    let third = cluster.run("bench bank --compute-servers 3");
    assert!(text(&third.stderr).contains("has 2 compute servers, not 3"), "{third:?}");
    let unknown = cluster.run("compute-server --number 2");
    assert!(text(&unknown.stderr).contains("numbered from 0; there is no 2"), "{unknown:?}");
}

/// A folder of procedures, named as it is seen from here, is run by processes that may be elsewhere.
#[test]
fn compute_servers_run_a_folder() {
    let options = "--fabric shm --memory-servers 2 --memory 256M --compute-servers 2";
    let cluster = Cluster::up("folder-crew", options);
    let report =
        cluster.report("bench ../execute/tests/ledger --threads 1 --seconds 0.5 --warm-up 0.1");
    assert_eq!(report["compute_servers"].as_array().map(Vec::len), Some(2), "{report:#}");
    assert!(number(&report, "/per_type/pay/count") > 0.0, "{report:#}");
}

/// What a compute server has committed, by its metrics.
fn commits(address: &str) -> f64 {
    metric(address, "namdb_commits_total")
}

/// A number that a server tells at this address.
pub fn metric(address: &str, sample: &str) -> f64 {
    let page = get(address, "/metrics");
    let mut lines = page.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    lines
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("{sample} in {page}"))
}

/// A compute server that dies ends the run with a sentence, soon, and the next run goes without it.
#[test]
fn a_dead_compute_server_is_told_of() {
    let cluster = Cluster::up("maimed", "--memory 64M --compute-servers 2");
    let server = cluster.processes("compute")[1];
    let status = cluster.report("status");
    let servers = status["servers"].as_array().expect("a list");
    let is_it = |one: &&Value| one["role"] == "compute" && one["number"] == 1;
    let address = servers.iter().find(is_it).and_then(|one| one["control"].as_str());
    let address = address.expect("it tells").to_owned();
    let killer = std::thread::spawn(move || {
        let begun = Instant::now();
        while commits(&address) == 0.0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it runs no transactions");
            std::thread::sleep(Duration::from_millis(50));
        }
        kill_process(server, Signal::KILL).expect("it runs");
        Instant::now()
    });
    let output = cluster.run("bench bank --records 200 --seconds 60");
    let killed = killer.join().expect("it was killed");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("compute server 1 is lost"), "{told}");
    assert!(killed.elapsed() < Duration::from_secs(10), "{told}");
}

/// What is not there is not waited for.
#[test]
fn the_state_of_a_cluster_that_lacks_a_server_is_told_at_once() {
    let options = "--fabric tcp --memory-servers 2 --compute-servers 1 --memory 64M";
    let cluster = Cluster::up("lacking", options);
    let status = cluster.report("status");
    let processors = number(&status, "/servers/0/processors");
    assert!((0.0..=1.5).contains(&processors), "{status:#}");
    let server = cluster.processes("memory")[1];
    kill_process(server, Signal::KILL).expect("it runs");
    let start = Instant::now();
    let output = cluster.run("status --json -");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let status: Value = serde_json::from_str(&text(&output.stdout)).expect("it is JSON");
    assert_eq!(status["missing"], serde_json::json!([1]), "{status:#}");
    assert!(status["problem"].as_str().is_some_and(|why| why.contains("1 of 2 memory servers")));
    assert_eq!(status["servers"][0]["role"], "memory", "{status:#}");
}

/// A memory server that dies ends the run with a sentence, soon, and nothing hangs.
fn tells_of_a_dead_server(fabric: &str) {
    let cluster =
        Cluster::up(&format!("dead-{fabric}"), &format!("--fabric {fabric} --memory 64M"));
    let server = cluster.processes("memory")[0];
    let start = Instant::now();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        kill_process(server, Signal::KILL).expect("it runs");
    });
    let output = cluster.run("bench bank --records 200 --threads 1 --lanes 4 --seconds 30");
    killer.join().expect("it was killed");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("LOST") || told.contains("cannot be reached"), "{told}");
    assert!(start.elapsed() < Duration::from_secs(25), "{told}");
}

#[test]
fn a_dead_server_of_shared_memory_is_told_of() {
    tells_of_a_dead_server("shm");
}

#[test]
fn a_dead_server_of_messages_is_told_of() {
    tells_of_a_dead_server("tcp");
}

/// Where there is a device, `cargo xtask soft-roce` runs the program over it.
#[test]
fn a_host_without_rdma_is_told_which_check_looks_into_that() {
    let devices = std::fs::read_dir("/sys/class/infiniband");
    if devices.is_ok_and(|mut devices| devices.next().is_some()) {
        println!("skipped: this host has an RDMA device");
        return;
    }
    let (file, directory) = (temporary("verbs.toml"), temporary("verbs"));
    let cluster = format!(
        "name = \"dev\"\nid = \"4f1c0a9be2d37788\"\nfabric = \"verbs\"\ndirectory = \"{}\"\n\
         [[memory]]\nbytes = \"64 MiB\"\n",
        directory.display()
    );
    std::fs::write(&file, cluster).expect("a temporary file");
    for command in [
        format!("memory-server --number 0 --cluster {}", file.display()),
        format!("cluster up --file {}", file.display()),
    ] {
        let output = namdb(&command);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("fabric is `verbs`") && errors.contains("D01-rdma"), "{errors}");
    }
    std::fs::remove_file(&file).expect("it is ours");
    std::fs::remove_dir_all(&directory).expect("it is ours");
}

#[test]
fn what_cannot_be_is_told_in_a_sentence() {
    let nowhere = namdb("bench bank --cluster /nowhere/namdb.toml");
    let errors = text(&nowhere.stderr);
    assert_eq!(nowhere.status.code(), Some(2), "{errors}");
    assert!(errors.contains("/nowhere/namdb.toml") && errors.contains("cluster up"), "{errors}");
    let cluster = Cluster::up("told", "--memory 64M");
    let third = namdb(&format!("memory-server --number 3 --cluster {}", cluster.file.display()));
    assert!(text(&third.stderr).contains("numbered from 0; there is no 3"), "{third:?}");
    let twice = namdb(&format!("cluster up --file {}", cluster.file.display()));
    assert!(text(&twice.stderr).contains("runs already"), "{twice:?}");
    let other = namdb(&format!("cluster up --memory 1G --file {}", cluster.file.display()));
    assert!(text(&other.stderr).contains("is there already"), "{other:?}");
    let lacking = temporary("lacking.toml");
    let small = namdb(&format!("cluster up --memory 1 --file {}", lacking.display()));
    assert_eq!(small.status.code(), Some(2), "{small:?}");
    assert!(!lacking.exists(), "what never ran is not described");
}

/// Who starts a cluster of which a part is dead learns which, and the way out.
#[test]
fn a_cluster_that_runs_in_part_says_so() {
    let cluster = Cluster::up("part", "--fabric tcp --memory 64M --compute-servers 1");
    for process in cluster.processes("compute") {
        kill_process(process, Signal::KILL).expect("it is ours");
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while !cluster.processes("compute").is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let again = namdb(&format!("cluster up --file {}", cluster.file.display()));
    let errors = text(&again.stderr);
    assert!(errors.contains("1 of 1 memory servers and 0 of 1 compute servers"), "{errors}");
    assert!(errors.contains("cluster down --file"), "{errors}");
}
