//! `namdb check history`: verdicts on our own and on other systems' histories.

use crate::support::{bench, namdb, temporary, text};
use serde_json::Value;

/// Two transactions that do not see each other's appends.
const WRITE_SKEW: &str = "\
{:type :ok, :process 0, :value [[:r 1 nil] [:append 2 5]]}
{:type :ok, :process 1, :value [[:r 2 nil] [:append 1 6]]}
";

#[test]
fn a_history_is_judged_and_drawn() {
    let paths = ["skew.edn", "skew.svg", "skew.dot", "skew.txt"].map(temporary);
    let [history, svg, dot, registers] = paths.each_ref().map(|path| path.display().to_string());
    std::fs::write(&history, WRITE_SKEW).expect("the folder is there");
    let judged = namdb(&format!("check history {history} --svg {svg} --dot {dot}"));
    let told = text(&judged.stdout);
    // Snapshot isolation allows it, and no stricter level is requested.
    assert_eq!(judged.status.code(), Some(0), "{told}");
    assert!(told.contains("2 transactions in 2 sessions on 2 keys"), "{told}");
    assert!(told.contains("T1 read key 1 before any write, and did not see that T2 wrote 6"));
    let serializable = |form: &str, options: &str| {
        namdb(&format!("check history {form} --isolation serializable {options}"))
    };
    let options = format!("--json - --registers {registers}");
    let judged = serializable(&history, &options);
    assert_eq!(judged.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&judged.stdout).expect("the output is JSON");
    assert_eq!(report["levels"][0]["verdict"], "violated");
    assert_eq!(report["levels"][0]["forbidden"][0], "G2");
    assert_eq!(report["findings"][0]["transactions"][1]["line"], 2);
    // The same history as registers.
    let written = std::fs::read_to_string(&registers).expect("it was asked for");
    assert_eq!(written, "r(1,0,0,0)\nw(2,5,0,0)\nr(2,0,1,1)\nw(1,6,1,1)\n");
    assert_eq!(serializable(&registers, "").status.code(), Some(1));
    let drawn = [&svg, &dot].map(|path| std::fs::read_to_string(path).expect("it was asked for"));
    assert!(drawn[0].starts_with("<svg") && drawn[1].starts_with("digraph"));
    // Without start times, the history does not say which transaction came first.
    let strong = namdb(&format!("check history {history} --isolation strong-snapshot"));
    assert_eq!(strong.status.code(), Some(3), "{}", text(&strong.stdout));
    paths.iter().for_each(|path| std::fs::remove_file(path).expect("the file is ours"));
}

#[test]
fn what_registers_cannot_show_is_said() {
    let [history, registers] = ["internal.edn", "internal.txt"].map(temporary);
    let lines = "{:type :ok, :process 0, :value [[:w 1 5] [:r 1 6]]}
                 {:type :ok, :process 1, :value [[:w 1 6]]}";
    std::fs::write(&history, lines).expect("the folder is there");
    let (from, to) = (history.display().to_string(), registers.display().to_string());
    let judged = namdb(&format!("check history {from} --registers {to}"));
    assert_eq!(judged.status.code(), Some(1), "{}", text(&judged.stdout));
    let told = text(&judged.stderr);
    assert!(
        told.contains(&format!("{to} does not show what was found of kind internal")),
        "{told}"
    );
    [history, registers].iter().for_each(|path| std::fs::remove_file(path).expect("is ours"));
}

#[test]
fn a_run_records_a_history_that_is_judged_again() {
    let path = temporary("run.edn");
    let options = "--recorded 3000 --lists 3 --threads 2 --isolation serializable";
    let report = bench(&format!("append {options} --history {}", path.display()));
    let checks = report["checks"].as_array().expect("a run has checks");
    let names: Vec<_> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    assert!(names.contains(&"the history is serializable"), "{names:?}");
    let judged = namdb(&format!("check history {} --isolation serializable", path.display()));
    let told = text(&judged.stdout);
    assert_eq!(judged.status.code(), Some(0), "{told}");
    // Two threads, and the session that reads all lists at the end.
    assert!(told.contains("3,001 transactions in 3 sessions"), "{told}");
    std::fs::remove_file(&path).expect("the file is ours");
}

#[test]
fn a_file_that_is_no_history_is_answered_in_a_sentence() {
    let path = temporary("no-history.edn");
    for (content, sentence) in [
        ("{:type :ok\n :value [[:append 1 x]]}", "line 2, column 21: a value is an integer"),
        ("", "has no transactions, so there is nothing to check"),
        (
            "{:type :ok :value [[:w 1 1]]}\n{:type :ok :value [[:w 1 1]]}",
            "lines 1 and 2 both write 1 to key 1",
        ),
        ("w(1,2,3)", "line 1, column 7: four numbers belong here"),
    ] {
        std::fs::write(&path, content).expect("the folder is there");
        let output = namdb(&format!("check history {}", path.display()));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(sentence) && told.lines().count() == 1, "{told}");
    }
    std::fs::remove_file(&path).expect("the file is ours");
    let output = namdb("check history no-such-file.edn");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot read no-such-file.edn"));
}
