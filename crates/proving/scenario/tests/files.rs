//! Errors in scenario files are reported with file, line, and what to write instead.

use scenario::Scenario;

const RIGHT: &str = "name = \"a\"
shows = \"Something.\"

[cluster]
memory_servers = 1
compute_servers = 2

[clients]
count = 2
transactions = 3

[workload.bank]
";

fn said(text: &str) -> String {
    match Scenario::read("a.toml", text) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is accepted:\n{text}"),
    }
}

#[track_caller]
fn check(text: &str, line: usize, parts: &[&str]) {
    let said = said(text);
    assert!(said.starts_with(&format!("a.toml:{line}: ")), "line {line}: {said}");
    assert!(!said.contains('\n'), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_right_file_is_read() {
    let scenario = Scenario::read("a.toml", RIGHT).expect("it is right");
    assert!(scenario.is_calm() && scenario.workload.name() == "bank");
}

#[test]
fn unknown_keys_are_refused_with_the_known_ones() {
    check(&RIGHT.replace("count = 2", "cuont = 2"), 9, &["cuont", "count"]);
    check(&RIGHT.replace("[clients]", "[clients]\npatience = 3"), 9, &["patience", "patience_ns"]);
    check(&RIGHT.replace("[workload.bank]", "[workload.bnak]"), 12, &["bnak", "bank", "append"]);
    check(
        &RIGHT.replace("[workload.bank]", "[workload.bank]\nrows = 3"),
        13,
        &["rows", "accounts"],
    );
    check(&format!("{RIGHT}[hostility]\nspeed = 1\n"), 14, &["speed", "word_ns"]);
}

#[test]
fn broken_promises_are_read_by_the_names_that_they_have_in_the_world() {
    let broken = format!("{RIGHT}[broken]\nfence = true\nuntorn_rows = false\n");
    let scenario = Scenario::read("a.toml", &broken).expect("it is right");
    assert!(scenario.broken.fence && !scenario.broken.untorn_rows);
    let written = scenario.write();
    assert!(written.contains("[broken]\nfence = true\n") && !written.contains("untorn_rows"));
    check(&format!("{RIGHT}[broken]\nfences = true\n"), 14, &["fences", "fence", "whole_words"]);
    check(&format!("{RIGHT}[broken]\nfence = 1\n"), 14, &["boolean"]);
}

#[test]
fn wrong_types_are_refused() {
    check(
        &RIGHT.replace("count = 2", "count = \"two\""),
        9,
        &["two", "write a whole number from 0 to 4294967295"],
    );
    check(&RIGHT.replace("count = 2", "count = [2, -1]"), 9, &["-1", "from 0 to"]);
    check(&RIGHT.replace("servers = 1", "servers = 100_000"), 5, &["100000", "from 0 to 65535"]);
    check(&RIGHT.replace("count = 2", "count = []"), 9, &["name one value at least"]);
    check(&RIGHT.replace("transactions = 3", "transactions = "), 10, &[]);
    let oracle = format!("{RIGHT}[database]\noracle = \"delphi\"\n");
    check(&oracle, 14, &["delphi", "double-collect", "frozen"]);
}

#[test]
fn missing_keys_are_named() {
    check(&RIGHT.replace("count = 2\n", ""), 8, &["count"]);
    assert!(said(&RIGHT.replace("[workload.bank]", "")).contains("workload"));
}

#[test]
fn impossible_values_are_refused_with_the_possible_ones() {
    check(&RIGHT.replace("\"a\"", "\"A b\""), 1, &["small letters"]);
    check(&RIGHT.replace("\"Something.\"", "\"\""), 2, &["sentence"]);
    check(&RIGHT.replace("memory_servers = 1", "memory_servers = [1, 99]"), 5, &["99", "1 to 64"]);
    check(&RIGHT.replace("count = 2", "count = 0"), 9, &["count is 0", "1 to 1000"]);
    check(
        &RIGHT.replace("[workload.bank]", "[workload.bank]\naccounts = 1"),
        12,
        &["at least two"],
    );
    check(&format!("{RIGHT}[design]\nstorage = \"tree\"\n"), 13, &["bank", "remove"]);
    let commits = format!("{RIGHT}[expect]\nevery_client_commits = true\n");
    check(&commits, 14, &["liveness = { faults_ns"]);
}

#[test]
fn impossible_hostility_is_refused() {
    let with = |line: &str| format!("{RIGHT}[hostility]\n{line}\n");
    check(&with("tearing = \"badly\""), 14, &["badly", "none", "in-order", "any-order"]);
    check(&with("in_posting_order = 1"), 14, &["integer `1`", "boolean"]);
    check(&with("atomic_window_ns = [0, 2_000_000]"), 14, &["2000000", "0 to 1000000"]);
    check(&with("late_completion_one_in = -1"), 14, &["-1", "from 0 to 4294967295"]);
    check(&with("late_completion_ns = 1_000_001"), 14, &["late_completion_ns is 1000001"]);
    check(&with("word_ns = 1_000_001"), 14, &["word_ns is 1000001"]);
    check(&with("slow_verb_factor = 0"), 14, &["slow_verb_factor is 0", "1 to"]);
}

#[test]
fn impossible_hardware_is_refused() {
    let with = |lines: &str| {
        RIGHT.replace("compute_servers = 2", &format!("compute_servers = 2\n{lines}"))
    };
    check(&with("cores = 2"), 7, &["core_cost_ns = 500"]);
    check(&with("cores = 2000\ncore_cost_ns = 9"), 7, &["cores is 2000", "0 to 1024"]);
    check(&with("core_cost_ns = 9_000_000"), 7, &["core_cost_ns is 9000000"]);
    check(&with("network = \"fast\""), 7, &["fast", "NetworkPlan"]);
    check(&with("[cluster.network]\nspeed = 1"), 8, &["speed", "gigabits_per_second"]);
    let slow = "[cluster.network]\nlatency_ns = 5\ngigabits_per_second = 0";
    check(&with(slow), 9, &["gigabits_per_second is 0", "1 to"]);
    check(&with("[cluster.network]\nissue_ns = 1_000_001"), 8, &["issue_ns is 1000001"]);
}

#[test]
fn impossible_faults_are_refused() {
    let with = |lines: &str| format!("{RIGHT}{lines}");
    check(&with("[faults]\nrain = { every = 3 }\n"), 14, &["rain", "lost-completion"]);
    check(&with("[faults]\nstale-key = { every = 3 }\n"), 14, &["stale-key", "link-delay"]);
    check(&with("[faults]\nlink-delay = { every = 0 }\n"), 14, &["every is 0"]);
    check(&with("[faults]\nlink-delay = { evry = 1 }\n"), 14, &["evry", "every"]);
    check(&with("[[plan]]\nfault = \"rain\"\nat_ns = 1\n"), 14, &["rain", "node-crash"]);
    check(&with("[[plan]]\nfault = \"process-pause\"\nat_ns = 1\n"), 14, &["needs node"]);
    check(&with("[[plan]]\nfault = \"process-pause\"\nnode = 1\n"), 14, &["at_ns", "point"]);
    let far = "[[plan]]\nfault = \"process-pause\"\nat_ns = 1\nnode = 7\n";
    check(&with(far), 16, &["no node 7", "0 to 3"]);
    // The node after the last server is the observer's, which random faults affect, too.
    let observer = with(&far.replace("node = 7", "node = 3"));
    assert!(Scenario::read("a.toml", &observer).is_ok());
    check(&with("[[plan]]\nfault = \"lost-completion\"\nat_ns = 1\n"), 13, &["batch"]);
}

#[test]
fn faults_that_would_never_happen_are_refused() {
    let with = |lines: &str| format!("{RIGHT}{lines}\n");
    let point = "[[plan]]\nfault = \"process-kill\"\npoint = \"commit::Nowhere\"";
    check(&with(point), 15, &["commit::Nowhere", "commit::LocksHeld"]);
    let point = "[[plan]]\nfault = \"process-kill\"\npoint = \"LocksHeld\"";
    check(&with(point), 15, &["\"LocksHeld\"", "commit::LocksHeld", "tree::"]);
    let nobody = "[[plan]]\nfault = \"full-partition\"\nat_ns = 1\nnodes = []";
    check(&with(nobody), 16, &["cuts no node off"]);
    let full = "[faults]\nmemory-full = { every = 9, victims = \"clients\" }";
    check(&with(full), 14, &["only memory servers", "\"servers\""]);
    let drift = |parts: &str| {
        let fault = "fault = \"clock-drift\"\nat_ns = 1\nnode = 1";
        with(&format!("[[plan]]\n{fault}\nparts_per_million = {parts}"))
    };
    check(&drift("2_000_000_000"), 17, &["is 2000000000", "-999999 to 1000000"]);
    check(&drift("-1_000_000"), 17, &["is -1000000", "-999999 to 1000000"]);
    for possible in ["1_000_000", "-999_999"] {
        assert!(Scenario::read("a.toml", &drift(possible)).is_ok(), "{possible}");
    }
}

#[test]
fn unknown_guards_are_refused() {
    let with = |names: &str| RIGHT.replacen('\n', &format!("\nmutants = {names}\n"), 1);
    assert!(Scenario::read("a.toml", &with("[\"commit::skip_entry\"]")).is_ok());
    check(&with("[\n\"commit::skip_entry\",\n\"no::such\"]"), 4, &["no::such", "read::"]);
}
