//! Helpers of several tests: short texts for histories, and names of anomalies.
use history_judge::{History, Level, Report, Verdict, judge, read_edn};

/// A history from one line per transaction, in the order of their ends: process, `ok`, `fail` or
/// `info`, operations. `-` stands for no process. The beginnings are not recorded.
pub fn history(lines: &[&str]) -> History {
    let mut text = String::new();
    for line in lines {
        let (process, rest) = line.split_once(' ').expect("a process and the rest");
        let (outcome, value) = rest.split_once(' ').expect("an outcome and the operations");
        let process = if process == "-" { "nil" } else { process };
        text += &format!("{{:type :{outcome} :process {process} :value [{value}]}}\n");
    }
    read_edn(text.as_bytes()).expect("the test wrote EDN")
}

/// As [`history`], for transactions that ran one after another: each begins when the previous one
/// has ended.
pub fn serial_history(lines: &[&str]) -> History {
    let mut text = String::new();
    for line in lines {
        let (process, rest) = line.split_once(' ').expect("a process and the rest");
        let (outcome, value) = rest.split_once(' ').expect("an outcome and the operations");
        text += &format!("{{:type :invoke :process {process} :value []}}\n");
        text += &format!("{{:type :{outcome} :process {process} :value [{value}]}}\n");
    }
    read_edn(text.as_bytes()).expect("the test wrote EDN")
}

pub fn judged(history: &History) -> Report {
    judge(history).expect("its values are unique")
}

/// The names of the anomalies found.
pub fn names(report: &Report) -> Vec<String> {
    report.anomalies().map(|anomaly| anomaly.to_string()).collect()
}

/// One letter per level: `+` holds, `-` violated, `?` unknown.
pub fn verdicts(report: &Report) -> String {
    let letter = |level: &Level| match report.verdict(*level) {
        Verdict::Holds => '+',
        Verdict::Violated => '-',
        Verdict::Unknown(_) => '?',
    };
    Level::ALL.iter().map(letter).collect()
}
