//! `namdb simulate`: tables, traces, failures with the command that repeats them, and replay.

use crate::support::{number, signalled, temporary, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository's scenarios, relative to the tests.
const FOLDER: &str = "../../../scenarios";

const PLANTED: &str = "name = \"planted\"
shows = \"Lists whose commits are published before they are installed.\"
mutants = [\"commit::publish_before_install\"]
[cluster]
memory_servers = 2
compute_servers = 3
[database]
isolation = \"snapshot\"
[clients]
count = 5
transactions = 40
[workload.append]
lists = 4
";

fn simulate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(["simulate", "--folder", FOLDER]).args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("the program was built");
    (status.code(), text(&stdout), text(&stderr))
}

/// This test's own folder.
fn folder(name: &str) -> PathBuf {
    let folder = temporary(&format!("simulate-{name}"));
    std::fs::create_dir_all(&folder).expect("there is room");
    folder
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the folder has a plain name")
}

/// Ctrl-C ends the command early, and the finished runs are reported.
#[test]
#[cfg(unix)]
fn an_interrupted_simulation_reports_what_has_run() {
    let folder = folder("interrupted");
    let json = folder.join("result.json");
    let scenarios = format!("bank churn --folder {FOLDER} --seeds 1000000000");
    let arguments = format!("simulate {scenarios} --json {}", json.display());
    let output = signalled(&arguments, " run", rustix::process::Signal::INT);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains(", ended early by the user"), "{told}");
    let result = std::fs::read_to_string(&json).expect("it was written");
    let result: Value = serde_json::from_str(&result).expect("it is JSON");
    assert_eq!(result["is_interrupted"], true);
    let seeds = [0, 1].map(|place| number(&result, &format!("/scenarios/{place}/seeds")));
    assert!(seeds.iter().sum::<f64>() > 0.0 && seeds[0] < 1e9, "{seeds:?}");
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn scenarios_that_hold_are_told_in_a_table() {
    let folder = folder("table");
    let json = folder.join("result.json");
    let arguments = ["bank", "churn", "--seeds", "4", "--json", path(&json)];
    let (code, told, errors) = simulate(&arguments);
    assert_eq!(code, Some(0), "{told}{errors}");
    assert!(told.lines().filter(|line| line.len() > 80).all(|line| line.starts_with("never hit")));
    let row = told.lines().find(|line| line.starts_with("bank ")).expect("it has a row");
    assert!(row.ends_with("holds") && row.contains(" 4 "), "{row}");
    assert!(told.contains("\ncommit::TimestampPublished ") && told.contains("\nnever hit: "));
    let result = std::fs::read_to_string(&json).expect("it was written");
    let result: Value = serde_json::from_str(&result).expect("it is JSON");
    assert_eq!(result["scenarios"][1]["seeds"], 4);
    assert!(result["scenarios"][0]["committed"].as_u64() > Some(50));
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn coverage_that_is_required_and_not_there_is_an_error() {
    let (code, told, _) = simulate(&["bank", "--seeds", "1", "--require-coverage"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("never hit: process-pause"), "{told}");
}

#[test]
fn a_trace_is_the_same_whenever_it_is_written() {
    let folder = folder("trace");
    let traces = ["one.txt", "two.txt"].map(|name| folder.join(name));
    for trace in &traces {
        let arguments = ["pauses", "--seeds", "1", "--first-seed", "9", "--trace", path(trace)];
        assert_eq!(simulate(&arguments).0, Some(0));
    }
    let [one, two] = traces.map(|trace| std::fs::read(trace).expect("it was written"));
    assert!(one == two && one.len() > 10_000);
    let (code, _, errors) = simulate(&["bank", "--trace", path(&folder.join("three.txt"))]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("--trace needs a single run"), "{errors}");
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn a_failing_run_is_told_shrunk_and_replayed() {
    let folder = folder("planted");
    let file = folder.join("planted.toml");
    std::fs::write(&file, PLANTED).expect("there is room");
    // In the first seed the judge proves the bug; in some others only the shadow history sees it.
    let seeds = ["--first-seed", "30", "--seeds", "150"];
    let (code, told, errors) =
        simulate(&[&[path(&file), "--scripts", path(&folder)], &seeds[..]].concat());
    assert_eq!(code, Some(1), "{told}{errors}");
    let commit = told.lines().find(|line| line.starts_with("commit ") && line.contains("seed"));
    assert!(commit.is_some_and(|line| line.ends_with("scenario planted")), "{told}");
    let script = told.split("--replay ").nth(1).and_then(|rest| rest.split('`').next());
    let script = PathBuf::from(script.expect("it names the script"));
    // It is printed below the shrunk run, which is the first one, with the judge's proof.
    let first = told.split("\ncommit ").nth(1).expect("a failing run is told");
    assert!(first.contains("--replay ") && told.matches("--replay ").count() == 1, "{told}");
    let timeline = script.with_extension("txt");
    let timeline = std::fs::read_to_string(timeline).expect("it stands beside it");
    let history = script.with_extension("edn");
    assert!(first.contains(&format!("`namdb check history {}`", path(&history))), "{told}");
    assert!([&timeline[..], first].iter().all(|text| text.contains("T1 -> T2  ")), "{told}");
    let judge = ["check", "history", path(&history), "--isolation", "strong-session-snapshot"];
    let output = Command::new(env!("CARGO_BIN_EXE_namdb-lab")).args(judge).output();
    let output = output.expect("the program was built");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let (code, told, _) = simulate(&["--replay", path(&script)]);
    assert_eq!(code, Some(1));
    assert!(told.contains("still fails at commit"), "{told}");
    // Without the planted bug the run holds.
    let planted = std::fs::read_to_string(&script).expect("it was written");
    let sound = planted.replace("mutants = [\"commit::publish_before_install\"]", "");
    std::fs::write(&script, sound).expect("there is room");
    let (code, told, _) = simulate(&["--replay", path(&script)]);
    assert_eq!(code, Some(0));
    assert!(told.contains("nothing is wrong"), "{told}");
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn nonsense_gets_a_sentence() {
    let (code, _, errors) = simulate(&["bnak"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("no scenario bnak") && errors.contains("bank, "), "{errors}");
    let (code, _, errors) = simulate(&["--tag", "slow"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("has the tag slow"), "{errors}");
    let (code, _, errors) = simulate(&["--replay", "../../../scenarios/bank.toml"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("no section [replay]"), "{errors}");
    let folder = folder("wrong");
    let file = folder.join("wrong.toml");
    std::fs::write(&file, PLANTED.replace("count = 5", "count = 0")).expect("there is room");
    let (code, _, errors) = simulate(&[path(&file)]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("wrong.toml:10: count is 0"), "{errors}");
    let (code, told, errors) = simulate(&["bank", "--seeds", "1", "--mutant", "nope"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(errors.contains("--mutant: there is no guard \"nope\" to remove"), "{errors}");
    let last = u64::MAX.to_string();
    let (code, told, errors) = simulate(&["bank", "--seeds", "3", "--first-seed", &last]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        errors.contains("with --seeds 3, --first-seed is at most 18446744073709551612"),
        "{errors}"
    );
    std::fs::remove_dir_all(folder).expect("it is ours");
}
