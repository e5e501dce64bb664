//! Each anomaly, made by hand, is found, and violates exactly the levels that forbid it.

use crate::helpers::{history, judged, names, serial_history, verdicts};
use history_judge::{HistoryError, judge, read_edn};

/// The anomalies found, and the verdict on each level in the order of `Level::ALL`.
fn check(lines: &[&str], expected_names: &str, expected_verdicts: &str) {
    let report = judged(&history(lines));
    assert_eq!(
        (&*names(&report).join(" "), &*verdicts(&report)),
        (expected_names, expected_verdicts)
    );
}

/// The same for transactions that ran one after another.
fn check_serial(lines: &[&str], expected_names: &str, expected_verdicts: &str) {
    let report = judged(&serial_history(lines));
    assert_eq!(
        (&*names(&report).join(" "), &*verdicts(&report)),
        (expected_names, expected_verdicts)
    );
}

#[test]
fn a_serial_history_is_of_every_level() {
    let lines = [
        "0 ok [:r 1 nil] [:append 1 1] [:append 2 1]",
        "1 ok [:r 1 [1]] [:append 1 2] [:r 1 [1 2]]",
        "0 fail [:append 1 3]",
        "1 ok [:r 1 [1 2]] [:r 2 [1]]",
    ];
    check_serial(&lines, "", "++++++");
    let lines =
        ["0 ok [:w 1 1] [:w 2 1] [:r 1 1]", "1 ok [:r 1 1] [:w 1 2]", "0 ok [:r 1 2] [:r 2 1]"];
    check_serial(&lines, "", "++++++");
    check(&[], "", "+??+??");
}

#[test]
fn internal() {
    let lines = ["0 ok [:append 1 1] [:r 1 [2]]", "1 ok [:append 1 2]"];
    check(&lines, "internal", "------");
    let lines = ["0 ok [:r 1 [1]] [:append 1 2] [:r 1 [1]]", "1 ok [:append 1 1]"];
    check(&lines, "internal", "------");
    let lines = ["0 ok [:r 1 [1]] [:r 1 [1 2]]", "1 ok [:append 1 1] [:append 1 2]"];
    check(&lines, "internal G1b G-single", "------");
    check(&["0 ok [:w 1 1] [:r 1 2]", "1 ok [:w 1 2]"], "internal", "------");
    check(&["0 ok [:r 1 nil] [:r 1 2]", "1 ok [:w 1 2]"], "internal", "------");
    // Its own write, before it makes it.
    check(&["0 ok [:r 1 [1]] [:append 1 1]"], "internal", "------");
    check(&["0 ok [:r 1 1] [:w 1 1]"], "internal", "------");
}

#[test]
fn garbage_duplicates_and_incompatible_orders() {
    check(&["0 ok [:append 1 1]", "1 ok [:r 1 [1 7]]"], "garbage-read", "------");
    check(&["0 ok [:w 1 1]", "1 ok [:r 1 7]"], "garbage-read", "------");
    check(&["0 ok [:append 1 1]", "1 ok [:r 1 [1 1]]"], "duplicate-element", "------");
    let writes = ["0 ok [:append 1 1]", "1 ok [:append 1 2]"];
    let [first, second] = writes;
    check(&[first, second, "2 ok [:r 1 [1 2]]", "3 ok [:r 1 [2]]"], "incompatible-order", "------");
}

#[test]
fn g1a_aborted_read() {
    check(&["0 fail [:append 1 1]", "1 ok [:r 1 [1]]"], "G1a", "------");
    check(&["0 fail [:w 1 1]", "1 ok [:r 1 1]"], "G1a", "------");
    // Below an append of a committed transaction.
    let lines = ["0 fail [:append 1 1]", "1 ok [:append 1 2]", "2 ok [:r 1 [1 2]]"];
    check(&lines, "G1a", "------");
    // The reads of an aborted transaction do not matter.
    check(&["0 ok [:append 1 1]", "1 fail [:r 1 [7]]"], "", "++?++?");
}

#[test]
fn g1b_intermediate_read() {
    let lines = ["0 ok [:append 1 1] [:append 1 2]", "1 ok [:r 1 [1]]", "2 ok [:r 1 [1 2]]"];
    check(&lines, "G1b G-single", "------");
    check(&["0 ok [:w 1 1] [:w 1 2]", "1 ok [:r 1 1]"], "G1b G-single", "------");
}

#[test]
fn lost_update() {
    let lines = ["0 ok [:r 1 nil] [:append 1 1]", "1 ok [:r 1 nil] [:append 1 2]"];
    check(&[lines[0], lines[1], "2 ok [:r 1 [1 2]]"], "lost-update G-single", "------");
    // No transaction has read the results.
    check(&lines, "lost-update G-single", "------");
    let lines = ["0 ok [:w 1 5]", "0 ok [:r 1 5] [:w 1 1]", "1 ok [:r 1 5] [:w 1 2]"];
    check(&lines, "lost-update", "------");
}

#[test]
fn g0_write_cycle() {
    let writes = ["0 ok [:append 1 1] [:append 2 1]", "1 ok [:append 1 2] [:append 2 2]"];
    check(&[writes[0], writes[1], "2 ok [:r 1 [1 2]]", "3 ok [:r 2 [2 1]]"], "G0", "------");
}

#[test]
fn g1c_circular_information_flow() {
    check(&["0 ok [:append 1 1] [:r 2 [1]]", "1 ok [:append 2 1] [:r 1 [1]]"], "G1c", "------");
    check(&["0 ok [:w 1 1] [:r 2 1]", "1 ok [:w 2 1] [:r 1 1]"], "G1c", "------");
}

#[test]
fn g_single_read_skew() {
    let lines = ["0 ok [:append 1 1] [:append 2 1]", "1 ok [:r 1 [1]] [:r 2 nil]"];
    check(&lines, "G-single", "------");
    check(&["0 ok [:w 1 1] [:w 2 1]", "1 ok [:r 1 1] [:r 2 nil]"], "G-single", "------");
}

#[test]
fn a_reader_before_unread_appends_precedes_all_of_them() {
    let appends = ["0 ok [:append 1 1] [:append 2 1]", "1 ok [:append 1 2]"];
    check(&[appends[0], appends[1], "2 ok [:r 1 nil] [:r 2 [1]]"], "G-single", "------");
    check(&[appends[0], appends[1], "2 ok [:r 1 nil] [:r 2 nil]"], "", "++?++?");
}

#[test]
fn g_nonadjacent_long_fork() {
    let writes = ["0 ok [:append 1 1]", "1 ok [:append 2 1]"];
    let reads = ["2 ok [:r 1 [1]] [:r 2 nil]", "3 ok [:r 1 nil] [:r 2 [1]]"];
    check(&[writes[0], writes[1], reads[0], reads[1]], "G-nonadjacent", "------");
    let writes = ["0 ok [:w 1 1]", "1 ok [:w 2 1]"];
    let reads = ["2 ok [:r 1 1] [:r 2 nil]", "3 ok [:r 1 nil] [:r 2 1]"];
    check(&[writes[0], writes[1], reads[0], reads[1]], "G-nonadjacent", "------");
}

#[test]
fn g2_write_skew_is_a_matter_of_serial_orders_alone() {
    let lines = ["0 ok [:r 1 nil] [:append 2 1]", "1 ok [:r 2 nil] [:append 1 1]"];
    check(&lines, "G2", "++?---");
    check(&["0 ok [:r 1 nil] [:w 2 1]", "1 ok [:r 2 nil] [:w 1 1]"], "G2", "++?---");
}

#[test]
fn the_order_of_sessions_shows_further_anomalies() {
    check(&["0 ok [:append 1 1]", "0 ok [:r 1 nil]"], "G-single-session", "+--+--");
    let lines = ["0 ok [:append 1 1]", "0 ok [:append 1 2]", "1 ok [:r 1 [2 1]]"];
    check(&lines, "G0-session", "+--+--");
    check(&["0 ok [:r 1 [1]]", "0 ok [:append 1 1]"], "G1c-session", "+--+--");
    let lines = [
        "0 ok [:append 1 1]",
        "1 ok [:append 2 1]",
        "2 ok [:r 1 [1]]",
        "2 ok [:r 2 nil]",
        "3 ok [:r 2 [1]] [:r 1 nil]",
    ];
    check(&lines, "G-nonadjacent-session", "+--+--");
    let lines = ["0 ok [:append 3 1]", "0 ok [:r 1 nil]", "1 ok [:append 1 1] [:r 3 nil]"];
    check(&lines, "G2-session", "++?+--");
    // The history does not show that the two belong to one session.
    check(&["- ok [:append 1 1]", "- ok [:r 1 nil]"], "", "+??+??");
}

#[test]
fn real_time_shows_further_anomalies() {
    check_serial(&["0 ok [:append 1 1]", "1 ok [:r 1 nil]"], "G-single-realtime", "++-++-");
    let lines = ["0 ok [:append 1 1]", "1 ok [:append 1 2]", "2 ok [:r 1 [2 1]]"];
    check_serial(&lines, "G0-realtime", "++-++-");
    check_serial(&["0 ok [:r 1 [1]]", "1 ok [:append 1 1]"], "G1c-realtime", "++-++-");
    let text = "{:type :invoke :process 2}\n\
        {:type :invoke :process 0} {:type :ok :process 0 :value [[:append 3 1]]}\n\
        {:type :invoke :process 1} {:type :ok :process 1 :value [[:r 1 nil]]}\n\
        {:type :ok :process 2 :value [[:append 1 1] [:r 3 nil]]}";
    let report = judged(&read_edn(text.as_bytes()).expect("it is EDN"));
    assert_eq!((&*names(&report).join(" "), &*verdicts(&report)), ("G2-realtime", "+++++-"));
}

#[test]
fn unknown_outcomes_count_as_what_they_must_have_been() {
    let unknown = "0 info [:append 1 1] [:append 2 1]";
    // One write was seen, so the other one took effect, too.
    check(&[unknown, "1 ok [:r 1 [1]] [:r 2 nil]"], "G-single", "------");
    check(&[unknown, "1 ok [:r 1 [1]] [:r 2 [1]]"], "", "++?++?");
    check(&[unknown, "1 ok [:r 1 nil] [:r 2 nil]"], "", "++?++?");
    let unknown = "0 info [:w 1 1] [:w 2 1]";
    check(&[unknown, "1 ok [:r 1 1] [:r 2 nil]"], "G-single", "------");
    check(&[unknown, "1 ok [:r 1 nil] [:r 2 nil]"], "", "++?++?");
    // It may take effect long after its client has given up.
    let lines = ["0 info [:append 1 1]", "1 ok [:r 1 nil]", "2 ok [:r 1 [1]]", "3 ok [:r 1 [1]]"];
    check_serial(&lines, "", "++++++");
    // But not before it began.
    let lines = ["1 ok [:r 1 [1]]", "2 ok [:r 1 [1]]", "0 info [:append 1 1]"];
    check_serial(&lines, "G1c-realtime", "++-++-");
}

#[test]
fn a_transaction_that_never_ended_may_have_taken_effect() {
    let text = "{:type :invoke :process 0 :value [[:append 1 1] [:append 2 1]]}\n\
        {:type :ok :process 1 :value [[:r 1 [1]] [:r 2 nil]]}";
    let report = judged(&read_edn(text.as_bytes()).expect("it is EDN"));
    assert_eq!(names(&report), ["G-single"]);
}

#[test]
fn registers_without_an_order_of_versions_are_judged_as_far_as_possible() {
    let writes = ["0 ok [:w 1 1] [:w 2 1]", "1 ok [:w 1 2] [:w 2 2]"];
    // Some order explains it.
    check(&[writes[0], writes[1], "2 ok [:r 1 1] [:r 2 1]", "3 ok [:r 1 2]"], "", "++?++?");
    // No order explains it, but each single dependency may be right: the judge answers `Unknown`.
    check(&[writes[0], writes[1], "2 ok [:r 1 1] [:r 2 2]"], "", "??????");
    let report = judged(&history(&writes));
    assert_eq!((report.counts.unordered_keys, report.unordered_key.as_deref()), (2, Some("1")));
}

#[test]
fn version_numbers_order_registers() {
    let judge_with = |versions: &str| {
        let text = format!(
            "{{:type :ok :process 0 :value [[:w 1 1] [:w 2 1]] :versions [10 11]}}\n\
             {{:type :ok :process 1 :value [[:w 1 2] [:w 2 2]] :versions {versions}}}\n\
             {{:type :ok :process 2 :value [[:r 1 1] [:r 2 2]] :versions [nil 21]}}"
        );
        let report = judged(&read_edn(text.as_bytes()).expect("it is EDN"));
        assert_eq!(report.counts.unordered_keys, 0);
        (names(&report).join(" "), verdicts(&report))
    };
    assert_eq!(judge_with("[20 21]"), ("G-single".to_owned(), "------".to_owned()));
    assert_eq!(judge_with("[5 21]"), ("G0".to_owned(), "------".to_owned()));
}

#[test]
fn updates_order_registers() {
    // Versions 1 and 2 are ordered, because each writer has read the version that it overwrote.
    let lines = ["0 ok [:r 1 nil] [:w 1 1]", "1 ok [:r 1 1] [:w 1 2] [:w 2 1]"];
    check(&[lines[0], lines[1], "2 ok [:r 1 1] [:r 2 1]"], "G-single", "------");
}

/// The engine's version numbers decide only where nothing else does.
#[test]
fn numbers_of_versions_order_registers_and_not_what_they_contradict() {
    let judge_edn = |text: &str| judged(&read_edn(text.as_bytes()).expect("the test wrote EDN"));
    // Both writes of a transaction have its number; the last is the one that others see.
    let twice = "{:type :ok :process 0 :value [[:w 1 12] [:w 1 11]] :versions [5 5]}
                 {:type :ok :process 1 :value [[:r 1 11]]}";
    assert_eq!(names(&judge_edn(twice)), Vec::<&str>::new());
    // Two transactions with one number: neither order follows from it.
    let same = "{:type :ok :process 0 :value [[:w 1 12]] :versions [5]}
                {:type :ok :process 1 :value [[:w 1 11]] :versions [5]}
                {:type :ok :process 0 :value [[:r 1 11]]}
                {:type :ok :process 1 :value [[:r 1 12]]}";
    assert_eq!(names(&judge_edn(same)), Vec::<&str>::new());
    let apart = same.replacen("[5]", "[4]", 1);
    assert_eq!(names(&judge_edn(&apart)), ["G-single-session"]);
    // A list shows the order of its appends, whatever the numbers say.
    let list = "{:type :ok :process 0 :value [[:append 1 1]] :versions [7]}
                {:type :ok :process 1 :value [[:append 1 2]] :versions [3]}
                {:type :ok :process 2 :value [[:r 1 [1 2]]]}";
    assert_eq!(names(&judge_edn(list)), Vec::<&str>::new());
}

/// A history with all beginnings also shows that everything overlaps.
#[test]
fn real_time_is_known_where_all_beginnings_are() {
    let overlapping = "{:type :invoke :process 0 :value []}
                       {:type :invoke :process 1 :value []}
                       {:type :ok :process 0 :value [[:append 1 1]]}
                       {:type :ok :process 1 :value [[:r 1 [1]]]}";
    let judge_edn = |text: &str| judged(&read_edn(text.as_bytes()).expect("the test wrote EDN"));
    assert_eq!(&*verdicts(&judge_edn(overlapping)), "++++++");
    let without = overlapping.replacen("{:type :invoke :process 1 :value []}", "", 1);
    assert!(verdicts(&judge_edn(&without)).contains('?'));
}

#[test]
fn a_value_written_twice_to_a_key_cannot_be_judged() {
    let twice = history(&["0 ok [:append :x 1]", "1 fail [:append :x 1]"]);
    let error = judge(&twice).expect_err("the two are indistinguishable");
    let lines = (1, 2);
    assert_eq!(error, HistoryError::ValueTwice { key: ":x".to_owned(), value: 1, lines });
    assert!(error.to_string().contains("lines 1 and 2 both write 1 to key :x"));
    // To two keys it can.
    judged(&history(&["0 ok [:append 1 1] [:append 2 1]"]));
}

/// From the sources of Elle, as an example that satisfies SI without being serializable: all
/// anti-dependencies of its cycles are adjacent.
#[test]
fn snapshot_isolation_with_cycles() {
    let lines = [
        "2 ok [:append 9 2]",
        "4 ok [:append 8 1] [:r 9 nil]",
        "7 ok [:r 6 nil] [:r 8 nil] [:append 9 5]",
        "9 ok [:append 6 2] [:r 9 [2]]",
    ];
    check(&lines, "G2", "++?---");
}

#[test]
fn the_shortest_of_several_cycles_is_reported() {
    // A cycle of three by reads, and one of two.
    let lines = [
        "0 ok [:append 1 1] [:r 3 [1]]",
        "1 ok [:append 2 1] [:r 1 [1]]",
        "2 ok [:append 3 1] [:r 2 [1]]",
        "3 ok [:append 4 1] [:r 5 [1]] [:r 1 [1]]",
        "4 ok [:append 5 1] [:r 4 [1]] [:r 1 [1]]",
    ];
    let report = judged(&history(&lines));
    assert_eq!(names(&report), ["G1c"]);
    let transactions = &report.findings[0].witness.transactions;
    assert_eq!(transactions.iter().map(|id| id.index()).collect::<Vec<_>>(), [3, 4]);
}

/// That one transaction ended before another began is one reason, whatever happened in between.
#[test]
fn a_long_time_is_a_short_way() {
    let mut lines = vec!["0 ok [:append 1 1] [:append 2 1]".to_owned()];
    lines.extend((1..10).map(|value| format!("1 ok [:append 9 {value}]")));
    let end = ["2 ok [:append 2 2]", "3 ok [:r 1 nil]", "4 ok [:r 2 [1 2]]"];
    lines.extend(end.map(str::to_owned));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let report = judged(&serial_history(&lines));
    assert_eq!(names(&report), ["G-single-realtime"]);
    assert_eq!(report.findings[0].witness.transactions.len(), 2);
}

/// Overlapping writers, a slow reader, and perhaps write skew: the order is found although the
/// history does not contain it.
#[test]
fn an_order_of_registers_is_found_by_the_times() {
    let text = "
        {:type :invoke :process 0} {:type :ok :process 0 :value [[:w :x 1]]}
        {:type :invoke :process 9}
        {:type :invoke :process 0} {:type :ok :process 0 :value [[:w :x 2]]}
        {:type :invoke :process 1} {:type :invoke :process 2}
        {:type :ok :process 1 :value [[:w :y 1]]} {:type :ok :process 2 :value [[:w :y 2]]}
        {:type :ok :process 9 :value [[:r :x 1]]}";
    let write_skew = "
        {:type :invoke :process 3} {:type :invoke :process 4}
        {:type :ok :process 3 :value [[:r :a nil] [:w :b 1]]}
        {:type :ok :process 4 :value [[:r :b nil] [:w :a 1]]}";
    for (text, expected) in [(text, "++++++"), (&format!("{text}{write_skew}"), "+++---")] {
        let report = judged(&read_edn(text.as_bytes()).expect("it is EDN"));
        assert_eq!((report.counts.unordered_keys, &*verdicts(&report)), (2, expected));
    }
}
