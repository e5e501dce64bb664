//! Witnesses as words, DOT and SVG.

use crate::helpers::{history, judged};
use history_judge::witness::{transaction_in_words, write_dot, write_svg};
use history_judge::{History, Relation, Witness};

fn long_fork() -> History {
    history(&[
        "0 ok [:append 1 1]",
        "1 ok [:append 2 1]",
        "2 ok [:r 1 [1]] [:r 2 nil] [:append 3 1]",
        "3 ok [:r 1 nil] [:r 2 [1]]",
    ])
}

#[test]
fn a_witness_says_why_each_comes_before_the_next() {
    let history = long_fork();
    let report = judged(&history);
    let Witness { transactions, links, summary, .. } = &report.findings[0].witness;
    assert_eq!(summary, "two snapshots contradict each other: neither includes the other");
    let ids: Vec<usize> = transactions.iter().map(|id| id.index()).collect();
    assert_eq!(ids, [0, 2, 1, 3]);
    assert_eq!(transaction_in_words(&history, transactions[1]), "session 2, line 3");
    let told: Vec<_> = links.iter().map(|link| (link.relation, &*link.why)).collect();
    assert_eq!(
        told,
        [
            (Relation::WriteRead, "T1 wrote 1 to key 1, which T2 read"),
            (
                Relation::ReadWrite,
                "T2 read key 2 before any write, and did not see that T3 wrote 1"
            ),
            (Relation::WriteRead, "T3 wrote 1 to key 2, which T4 read"),
            (
                Relation::ReadWrite,
                "T4 read key 1 before any write, and did not see that T1 wrote 1"
            ),
        ]
    );
}

#[test]
fn pictures_have_every_transaction_and_link() {
    let history = long_fork();
    let report = judged(&history);
    let witnesses: Vec<&Witness> = report.findings.iter().map(|found| &found.witness).collect();
    let (mut dot, mut svg) = (Vec::new(), Vec::new());
    write_dot(&history, &witnesses, &mut dot).expect("a vector takes all");
    write_svg(&history, &witnesses, &mut svg).expect("a vector takes all");
    let (dot, svg) = (String::from_utf8_lossy(&dot), String::from_utf8_lossy(&svg));
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for link in &witnesses[0].links {
        assert!(dot.contains(&link.why) && svg.contains(&link.why), "{}", link.why);
    }
    assert_eq!(dot.matches(" -> ").count(), 4);
    assert_eq!(svg.matches("<polygon").count(), 4);
    // The third operation of T2 is irrelevant.
    assert!(!svg.contains("append 1 to 3"));
}
