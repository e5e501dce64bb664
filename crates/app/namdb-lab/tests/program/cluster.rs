//! Clusters of processes on this host: start, use, status, failures, and stop.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::support::{get, namdb, number, temporary, text, token, write_secret};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The development cluster of one test; dropping it stops the cluster.
pub struct Cluster {
    pub file: PathBuf,
    pub directory: PathBuf,
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

    /// As [`Cluster::up`]; members that are suspended for a minute stay members.
    pub fn up_patiently(name: &str, options: &str) -> Self {
        let cluster = Self::up(name, options);
        let file = format!("--file {}", cluster.file.display());
        namdb(&format!("cluster down {file}"));
        let settings = std::fs::read_to_string(&cluster.file).expect("it was written");
        let patient = settings.replacen("[detector]\n", "[detector]\nlease_ms = 60000\n", 1);
        assert_ne!(patient, settings);
        std::fs::write(&cluster.file, patient).expect("it is ours");
        let up = namdb(&format!("cluster up {file}"));
        assert_eq!(up.status.code(), Some(0), "{}", text(&up.stderr));
        cluster
    }

    /// The value of a sample in the metrics at this address.
    pub fn metric(&self, address: &str, sample: &str) -> f64 {
        let page = get(address, "/metrics", &token(&self.file));
        let mut lines =
            page.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        lines
            .next()
            .and_then(|count| count.parse().ok())
            .unwrap_or_else(|| panic!("{sample} in {page}"))
    }

    pub fn run(&self, command: &str) -> std::process::Output {
        namdb(&format!("{command} --cluster {}", self.file.display()))
    }

    /// Waits until `status` reports this state of the cluster.
    pub fn await_state(&self, state: &str) {
        let start = Instant::now();
        loop {
            let output = self.run("status --json -");
            let status: Value = serde_json::from_str(&text(&output.stdout)).expect("it is JSON");
            if status["state"] == state {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "not {state}: {status:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn report(&self, command: &str) -> Value {
        let output = self.run(&format!("{command} --json -"));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {errors}");
        serde_json::from_str(&text(&output.stdout)).expect("the report is JSON")
    }

    /// The log of a memory server.
    pub fn log(&self, number: usize) -> String {
        let log = self.directory.join(format!("log/memory-{number}.log"));
        std::fs::read_to_string(log).expect("it was written")
    }

    /// The process of a memory server.
    pub fn memory_server(&self, number: usize) -> Pid {
        let status = self.report("status");
        let servers = status["servers"].as_array().expect("a list");
        let is_it = |server: &&Value| server["role"] == "memory" && server["number"] == number;
        let server = servers.iter().find(is_it).expect("it runs");
        Pid::from_raw(server["process"].as_i64().expect("a number") as i32).expect("not 0")
    }

    /// Stops all servers.
    pub fn down(&self) {
        namdb(&format!("cluster down --file {}", self.file.display()));
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
        if std::thread::panicking() {
            eprintln!("{}", self.log(0));
        }
        namdb(&format!("cluster down --file {}", self.file.display()));
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(self.file.with_extension("secret"));
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Runs a bank on two memory servers twice; the second run drops the first one's tables.
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

/// Procedures work on tables created by `spade apply` on two memory servers.
#[test]
fn a_design_is_applied_and_used() {
    let cluster = Cluster::up("applied", "--fabric shm --memory-servers 2 --memory 128M");
    let folder = format!("{}/../../../workloads/smallbank", env!("CARGO_MANIFEST_DIR"));
    let made = cluster.report(&format!("spade apply {folder} --units 1 --threads 1"));
    let tables = made["tables"].as_array().expect("a list");
    assert_eq!((tables.len(), number(&made, "/servers")), (3, 2.0), "{made:#}");
    assert!(tables.iter().all(|table| table["used_bytes"].as_u64() > Some(0)), "{made:#}");
    let stored = tables[0]["stored"].as_str().expect("the status has it");
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

/// Far more runs than the vector has slots: each run returns its slots.
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

/// A cluster has 64 slots for all lanes: a run that needs more is rejected before anything is done.
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

/// Two compute servers share a workload: their measurements and their data for the checks arrive,
/// and their metrics agree with them.
#[test]
fn compute_servers_share_a_run() {
    let options = "--fabric tcp --memory-servers 2 --compute-servers 2 --memory 128M";
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
        assert!(cluster.metric(address, COMMITS) > 0.0, "{server:#}");
    }
    let third = cluster.run("bench bank --compute-servers 3");
    assert!(text(&third.stderr).contains("has 2 compute servers, not 3"), "{third:?}");
    let unknown = cluster.run("compute-server --number 2");
    assert!(text(&unknown.stderr).contains("numbered from 0; there is no 2"), "{unknown:?}");
}

/// Processes with other working directories run a folder given by a relative path.
#[test]
fn compute_servers_run_a_folder() {
    let options = "--fabric shm --memory-servers 2 --memory 256M --compute-servers 2";
    let cluster = Cluster::up("folder-crew", options);
    let report = cluster
        .report("bench ../../sql/interpreter/tests/ledger --threads 1 --seconds 0.5 --warm-up 0.1");
    assert_eq!(report["compute_servers"].as_array().map(Vec::len), Some(2), "{report:#}");
    assert!(number(&report, "/per_type/pay/count") > 0.0, "{report:#}");
}

/// The metric with the transactions that a compute server has committed.
const COMMITS: &str = "namdb_commits_total";

/// A compute server that dies does not invalidate the others' results: the report names it, and
/// `status` and `doctor` list it as missing.
#[test]
fn a_dead_compute_server_is_missed_and_the_others_are_reported() {
    let cluster = Cluster::up("maimed", "--memory 64M --compute-servers 2");
    let server = cluster.processes("compute")[1];
    let status = cluster.report("status");
    let servers = status["servers"].as_array().expect("a list");
    let is_it = |one: &&Value| one["role"] == "compute" && one["number"] == 1;
    let address = servers.iter().find(is_it).and_then(|one| one["control"].as_str());
    let address = address.expect("it tells").to_owned();
    let output = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let begun = Instant::now();
            while cluster.metric(&address, COMMITS) == 0.0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "it runs no transactions");
                std::thread::sleep(Duration::from_millis(50));
            }
            kill_process(server, Signal::KILL).expect("it runs");
        });
        let output = cluster.run("bench bank --records 2000 --seconds 3 --json -");
        killer.join().expect("it was killed");
        output
    });
    let (told, report) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(3), "{told}");
    for words in ["compute server 1 is lost", "COMPUTE SERVER 1 WAS LOST", "NOT DONE"] {
        assert!(told.contains(words), "no `{words}` in {told}");
    }
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["lost_compute_servers"][0]["number"], 1, "{report:#}");
    assert_eq!(report["compute_servers"][0]["number"], 0, "{report:#}");
    assert_eq!(report["compute_servers"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert!(number(&report, "/committed") > 0.0, "{report:#}");
    let status = cluster.run("status");
    assert_eq!(status.status.code(), Some(1), "{status:?}");
    assert!(text(&status.stdout).contains("compute   1  IS MISSING"), "{status:?}");
    let doctor = cluster.run("doctor");
    let found = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{found}");
    assert!(found.contains("problem  D09-members"), "{found}");
    assert!(found.contains("have not joined: compute server 1"), "{found}");
}

/// A run that loses all its compute servers prints no report.
#[test]
fn a_run_without_compute_servers_left_ends_with_a_sentence() {
    let cluster = Cluster::up("orphaned", "--memory 64M --compute-servers 1");
    let server = cluster.processes("compute")[0];
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        kill_process(server, Signal::KILL).expect("it runs");
        Instant::now()
    });
    let output = cluster.run("bench bank --records 200 --seconds 60");
    let killed = killer.join().expect("it was killed");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("no compute server is left: compute server 0 is lost"), "{told}");
    assert!(killed.elapsed() < Duration::from_secs(10), "{told}");
}

/// After the only memory server was killed, every command reports that the data is lost and how to
/// start again.
#[test]
fn a_lost_database_is_told_with_a_way_out() {
    let cluster = Cluster::up("gone", "--memory 64M --compute-servers 1");
    let logs = cluster.directory.join("log");
    kill_process(cluster.processes("memory")[0], Signal::KILL).expect("it runs");
    cluster.await_state("lost");
    let sentence = "the database is lost with memory server 0";
    let doctor = cluster.run("doctor");
    let found = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{found}");
    assert!(found.contains("problem  D09-members") && found.contains(sentence), "{found}");
    assert!(found.contains(&format!("the logs in {}", logs.display())), "{found}");
    let status = cluster.run("status");
    let shown = text(&status.stdout);
    assert_eq!(status.status.code(), Some(1), "{shown}");
    assert!(shown.contains("memory    0  IS MISSING") && shown.contains(sentence), "{shown}");
    let bench = cluster.run("bench bank --fresh --records 100");
    let refused = text(&bench.stderr);
    assert_eq!(bench.status.code(), Some(2), "{refused}");
    assert!(refused.contains(sentence) && refused.contains("`namdb cluster down`"), "{refused}");
    assert!(!refused.contains("--fresh"), "{refused}");
    let down = cluster.run("cluster down");
    let kept = format!("the logs stay in {}", logs.display());
    assert!(text(&down.stderr).contains(&kept) && logs.is_dir(), "{down:?}");
    assert_eq!(cluster.run("cluster up").status.code(), Some(0));
    let again = cluster.run("bench bank --fresh --records 100 --seconds 0.1 --warm-up 0");
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
}

/// After `down` only the cluster's file is left, whatever command ran in between, and `status` says
/// how to start it.
#[test]
fn a_cluster_that_was_ended_leaves_nothing_and_says_how_to_start_it() {
    for options in ["--memory 64M", "--fabric tcp --memory 64M --compute-servers 1"] {
        let cluster = Cluster::up("ended", options);
        assert!(cluster.directory.join("registry").is_dir());
        assert_eq!(cluster.run("cluster down").status.code(), Some(0));
        for command in ["status", "cluster down", "doctor", "status"] {
            let output = cluster.run(command);
            assert!(!cluster.directory.exists(), "{command}: {output:?}");
        }
        let status = cluster.run("status");
        let shown = text(&status.stdout);
        assert_eq!(status.status.code(), Some(1), "{shown}");
        let way = format!("`namdb cluster up --cluster {}` starts it", cluster.file.display());
        assert!(shown.contains(": stopped\n") && shown.contains(&way), "{shown}");
        assert!(!shown.contains("start what is missing"), "{shown}");
        let bench = cluster.run("bench bank");
        let refused = text(&bench.stderr);
        assert!(refused.contains("cluster dev is not running"), "{refused}");
        assert!(!cluster.directory.exists(), "{refused}");
        assert_eq!(cluster.run("cluster up").status.code(), Some(0));
    }
}

/// Servers get memory as they fill up, so more memory than the host has is rejected at the start.
#[test]
fn more_memory_than_the_host_has_is_refused() {
    let file = temporary("vast.toml");
    for options in
        ["--memory 1T", "--memory 64G --memory-servers 64", "--fabric tcp --memory 1T --tls"]
    {
        let up = namdb(&format!("cluster up --file {} {options}", file.display()));
        let refused = text(&up.stderr);
        assert_eq!(up.status.code(), Some(2), "{refused}");
        assert!(refused.contains("available") && refused.contains(".00 TiB"), "{refused}");
        assert!(!file.exists() && !file.with_extension("tls").exists(), "{refused}");
        assert!(!file.with_extension("secret").exists(), "{refused}");
    }
    std::fs::write(
        &file,
        "name = \"vast\"\nid = \"00000000000000a1\"\n[[memory]]\nbytes = \"1 TiB\"\n",
    )
    .expect("a temporary file");
    let server = namdb(&format!("memory-server --number 0 --cluster {}", file.display()));
    let refused = text(&server.stderr);
    assert_eq!(server.status.code(), Some(2), "{refused}");
    assert!(refused.contains("1.00 TiB") && refused.contains("D13-memory"), "{refused}");
    std::fs::remove_file(&file).expect("it is ours");
}

/// On each memory server, metrics use the table names of `status`, even if another server has the
/// definition.
fn names_tables_in_metrics(fabric: &str) {
    let options = format!("--fabric {fabric} --memory-servers 2 --memory 128M");
    let cluster = Cluster::up(&format!("named-{fabric}"), &options);
    let bench = "bench tpcc --warehouses 1 --population tiny --threads 1 --seconds 0.1 --warm-up 0";
    cluster.report(bench);
    let status = cluster.report("status");
    let servers = status["servers"].as_array().expect("a list").iter();
    let addresses: Vec<&str> = servers.filter_map(|server| server["control"].as_str()).collect();
    assert_eq!(addresses.len(), 2, "{status:#}");
    let token = token(&cluster.file);
    let start = Instant::now();
    loop {
        let pages =
            addresses.iter().map(|address| get(address, "/metrics", &token)).collect::<String>();
        let used = pages.lines().filter(|line| line.starts_with("namdb_region_used_bytes{"));
        let mut named = used.filter(|line| !line.contains("label=\"system\""));
        if named.all(|line| !line.contains("table=\"\"")) {
            for words in
                ["table=\"stock\",index=\"\"", "table=\"customer\",index=\"customer_name\""]
            {
                assert!(pages.contains(words), "no {words} in {pages}");
            }
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "names are missing in {pages}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn metrics_of_shared_memory_name_tables_and_indexes() {
    names_tables_in_metrics("shm");
}

#[test]
fn metrics_of_messages_name_tables_and_indexes() {
    names_tables_in_metrics("tcp");
}

/// The JSON of a server says whether it is healthy, and has a problem only if not.
#[test]
fn the_state_of_a_server_says_whether_it_is_healthy() {
    let cluster = Cluster::up("healthy", "--memory 64M");
    let status = cluster.report("status");
    let control = status["servers"][0]["control"].as_str().expect("it has one");
    let token = token(&cluster.file);
    let state = get(control, "/status", &token);
    assert!(state.contains("\"healthy\":true") && !state.contains("problem"), "{state}");
    let health = get(control, "/healthz", &token);
    assert!(health.ends_with("healthy\n"), "{health}");
}

/// All commands for clusters use the same default file.
#[test]
fn commands_of_clusters_have_the_same_default_file() {
    let folder = temporary("default-file");
    std::fs::create_dir_all(&folder).expect("room for a folder");
    let run = |arguments: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
        let command = command.args(arguments.split_whitespace()).current_dir(&folder);
        let output = command.output().expect("the program was built");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, told) = run("cluster up --memory 64M");
    assert_eq!(code, Some(0), "{told}");
    for hint in ["namdb bench tpcc --cluster ", "namdb status ", "namdb cluster down "] {
        assert!(told.contains(hint) && !told.contains("namdb.toml"), "{told}");
    }
    for command in [
        "status",
        "bench bank --records 100 --seconds 0.1 --warm-up 0 --cluster",
        "bench bank --cluster --fresh --records 100 --seconds 0.1 --warm-up 0",
        "cluster down",
    ] {
        let (code, told) = run(command);
        assert_eq!(code, Some(0), "{command}: {told}");
    }
    let (code, told) = run("doctor --cluster");
    assert!(code.is_some_and(|code| code < 2) && told.contains("D09-members"), "{told}");
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// The command does not wait for missing servers.
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
    let lost = "the database is lost with memory server 1";
    assert_eq!(status["state"], "lost", "{status:#}");
    assert!(status["problem"].as_str().is_some_and(|why| why.contains(lost)), "{status:#}");
    assert_eq!(status["servers"][0]["role"], "memory", "{status:#}");
}

/// If a memory server dies, the run ends soon with an error.
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

/// `cargo xtask soft-roce` runs this on a host with a device.
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
    write_secret(&file);
    for command in [
        format!("memory-server --number 0 --cluster {}", file.display()),
        format!("cluster up --file {}", file.display()),
    ] {
        let output = namdb(&command);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("fabric `verbs`") && errors.contains("D01-rdma"), "{errors}");
    }
    std::fs::remove_file(&file).expect("it is ours");
    std::fs::remove_file(file.with_extension("secret")).expect("it is ours");
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
    assert!(text(&other.stderr).contains("exists already"), "{other:?}");
    let lacking = temporary("lacking.toml");
    // A killed run with the same process number may have left one.
    let _ = std::fs::remove_file(&lacking);
    let small = namdb(&format!("cluster up --memory 1 --file {}", lacking.display()));
    assert_eq!(small.status.code(), Some(2), "{small:?}");
    assert!(!lacking.exists(), "the file of a cluster that never ran remains: {small:?}");
}

/// The error for a cluster that runs in part names the missing part and the remedy.
#[test]
fn a_cluster_that_runs_in_part_says_so() {
    let cluster = Cluster::up("part", "--fabric tcp --memory 64M --compute-servers 1");
    for process in cluster.processes("compute") {
        kill_process(process, Signal::KILL).expect("it is ours");
    }
    cluster.await_state("incomplete");
    let again = namdb(&format!("cluster up --file {}", cluster.file.display()));
    let errors = text(&again.stderr);
    assert!(errors.contains("1 of 1 memory server and 0 of 1 compute server"), "{errors}");
    assert!(errors.contains("cluster down --file"), "{errors}");
}
