//! Files: what is written can be read back, errors name their position, and no input makes the
//! readers panic.

use crate::engine::{self, Fault, Isolation, Plan};
use crate::helpers::{history, judged, verdicts};
use history_judge::{History, read_edn, read_text, write_edn, write_text};
use proptest::prelude::*;

fn edn(history: &History) -> String {
    let mut text = Vec::new();
    write_edn(history, &mut text).expect("a vector takes all");
    String::from_utf8(text).expect("EDN is UTF-8")
}

fn plain(history: &History) -> String {
    let mut text = Vec::new();
    write_text(history, &mut text).expect("a vector takes all");
    String::from_utf8(text).expect("digits are UTF-8")
}

#[test]
fn edn_that_was_written_is_read_again() {
    for seed in 0..60 {
        let plan = Plan {
            is_lists: seed % 2 == 0,
            exports_versions: seed % 4 == 1,
            ..Plan::new(Isolation::Snapshot, Fault::ReadsTheNewest, seed)
        };
        let history = engine::run(&plan);
        let text = edn(&history);
        let again = read_edn(text.as_bytes()).expect("it was just written");
        assert_eq!(edn(&again), text);
        let told = |history| {
            let findings = judged(history).findings.into_iter();
            findings.map(|found| (found.witness.summary, found.witness.links)).collect::<Vec<_>>()
        };
        assert_eq!(told(&again), told(&history));
    }
}

#[test]
fn wrong_reads_survive_the_text_format() {
    let wrong: [&[&str]; 5] = [
        &["0 fail [:append 1 1]", "1 ok [:r 1 [1]]"],
        &["0 fail [:w 1 1]", "1 ok [:r 1 1]"],
        &["0 ok [:append 1 2]", "1 ok [:r 1 [7]]"],
        &["0 ok [:w 1 2]", "1 ok [:r 1 7]"],
        &["0 ok [:append 1 1] [:append 1 2]", "1 ok [:r 1 [1]]"],
    ];
    for lines in wrong {
        let history = history(lines);
        assert!(!judged(&history).findings.is_empty(), "{lines:?}");
        let again = read_text(plain(&history).as_bytes()).expect("it was just written");
        assert!(!judged(&again).findings.is_empty(), "{lines:?}");
    }
    // Read before its own writes, which a list shows at its end.
    let own = history(&["0 ok [:append 1 1]", "1 ok [:append 1 2] [:r 1 [1 2]] [:r 1 [1 2]]"]);
    assert_eq!(plain(&own), "w(1,1,0,0)\nr(1,1,1,1)\nw(1,2,1,1)\n");
}

#[test]
fn edn_as_others_write_it_is_read() {
    let text = "[#jepsen.history.Op{:index 0, :time 5, :type :invoke, :process 0, :f :txn, \
        :value [[:append 8 1] [:r \"a b\" nil]]}\n ; a comment\n\
        {:type :info :process :nemesis :f :kill :value {:nodes #{\"n1\"}}}\n\
        #_{:type :nonsense}\n\
        {:index 1, :type :ok, :process 0, :f :txn, :value [[:append 8 1] [:r \"a b\" [4 5]]], \
        :error [:definite \"] }\" \\[]}\n\
        {:type :ok, :process 1, :f :txn, :value [[:append \"a b\" 4] [:append \"a b\" 5]]}]";
    let history = read_edn(text.as_bytes()).expect("it is EDN");
    assert_eq!(history.transactions().len(), 2);
    assert_eq!(verdicts(&judged(&history)), "++?++?");
    let first = &history.transactions()[0];
    assert_eq!((first.line, first.invoked_ns, first.completed_ns), (5, Some(5), None));
}

#[test]
fn errors_in_edn_name_place_and_remedy() {
    let error = |text: &str| read_edn(text.as_bytes()).expect_err("it is wrong").to_string();
    for (text, expected) in [
        ("{:type :ok\n :value [[:append 1 x]]}", "line 2, column 21: a value is an integer"),
        (
            "{:type :ok :value [[:drop 1 2]]}",
            "line 1, column 21: an operation is :append, :r or :w",
        ),
        ("\n\n{:process 1}", "line 3, column 1: this map has no :type"),
        ("{:type :done}", "line 1, column 8: a :type is :invoke"),
        ("{:type :ok", "line 1, column 1: this map has no end"),
        ("[{:type :ok}", "line 1, column 13: the history has no end"),
        ("{:type :ok} ]", "line 1, column 13: a map such as"),
        ("{:type :ok :value [[:r 1 [1 2}", "line 1, column 30: `}` closes nothing"),
        ("{:type :ok :value 5}", "line 1, column 19: a :value is a vector of operations"),
        ("{:type :ok :value [[:r 1 [1] 2]]}", "line 1, column 30: an operation has three parts"),
        (
            "{:type :ok :value [[:w 1 1]]}\n{:type :ok :value [[:append 1 2]]}",
            "line 2, column 21: lists (`:append`) and registers (`:w`) are mixed",
        ),
        (
            "{:type :invoke :process 4}\n{:type :invoke :process 4}",
            "line 2, column 1: this process begins a transaction before the one of line 1 has ended",
        ),
        (
            "{:type :ok :value [[:w 1 1]] :versions [1 2]}",
            "line 1, column 40: there are 2 versions for 1 operations",
        ),
    ] {
        let told = error(text);
        assert!(told.starts_with(expected), "{text}\n{told}");
    }
}

#[test]
fn plain_text_is_read_as_registers() {
    let text = "w(1,5,0,0)\nw(2,6,0,0)\nr(1,5,1,7)\nr(2,0,1,7)\n";
    let history = read_text(text.as_bytes()).expect("it is right");
    let report = judged(&history);
    assert_eq!((report.counts.committed, report.counts.sessions), (2, 2));
    assert_eq!(verdicts(&report), "------");
    assert_eq!(plain(&history), "w(1,5,0,0)\nw(2,6,0,0)\nr(1,5,1,1)\nr(2,0,1,1)\n");
}

#[test]
fn lists_become_registers_with_one_read_and_one_write_of_a_key() {
    let history = history(&[
        "0 ok [:r 1 nil] [:append 1 7] [:append 1 8] [:r 1 [7 8]]",
        "1 fail [:append 1 9]",
        "2 ok [:append 1 10] [:r 1 [7 8 10]] [:r 1 [7 8 10]]",
        "0 info [:append 1 11]",
    ]);
    assert_eq!(plain(&history), "r(1,0,0,0)\nw(1,8,0,0)\nr(1,8,2,2)\nw(1,10,2,2)\n");
}

/// Both formats give the same verdict on a history: an anomaly in one is an anomaly in the other.
/// Where a register shows less than a list, the judge may answer `Unknown`.
#[test]
fn the_registers_of_lists_are_judged_alike() {
    for seed in 0..60 {
        for fault in [Fault::None, Fault::NoFirstCommitter] {
            let plan = Plan { blind_percent: 0, ..Plan::new(Isolation::Snapshot, fault, seed) };
            let lists = engine::run(&plan);
            let registers = read_text(plain(&lists).as_bytes()).expect("it was just written");
            let (of_lists, of_registers) =
                (verdicts(&judged(&lists)), verdicts(&judged(&registers)));
            for (list, register) in of_lists.chars().zip(of_registers.chars()) {
                assert!(list == register || register == '?', "{seed}: {of_lists} {of_registers}");
            }
        }
    }
}

#[test]
fn errors_in_plain_text_name_place_and_remedy() {
    let error = |text: &str| read_text(text.as_bytes()).expect_err("it is wrong").to_string();
    for (text, expected) in [
        ("w(1,5,0,0)\nx(1,5,0,0)", "line 2, column 1: a line is r(key,value,session,transaction)"),
        ("w(1,5,0)", "line 1, column 7: four numbers belong here"),
        ("w(1,a,0,0)", "line 1, column 5: an integer of 64 bits belongs here"),
        ("w(1,5,0,0)x", "line 1, column 11: there is text after the operation"),
        ("w(1,0,0,0)", "line 1, column 3: no transaction can write 0"),
        ("w(1,5,0,3)\nr(1,5,1,3)", "line 2, column 1: transaction 3 is of session 1 here"),
    ] {
        let told = error(text);
        assert!(told.starts_with(expected), "{text}\n{told}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Random bytes, and random sequences of EDN pieces.
    #[test]
    fn no_text_makes_the_readers_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        pieces in proptest::collection::vec(0..24_usize, 0..40),
    ) {
        let _ = read_edn(&bytes);
        let _ = read_text(&bytes);
        const PIECES: [&str; 24] = [
            "{", "}", "[", "]", ":type", ":ok ", ":invoke ", ":info ", ":value ", ":process ", "1 ",
            "[:r 1 [1]]", "[:append 1 1]", "[:w 1 1]", "nil ", "#_", "#a", "\"", "\\", ";", "\n",
            ":versions ", "(", "{:type :ok :value [[:r 1 [1 2]]]}",
        ];
        let text: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        if let Ok(history) = read_edn(text.as_bytes()) {
            let _ = history_judge::judge(&history);
        }
        let line: String = text.replace(['{', '['], "r(").replace(' ', ",");
        let _ = read_text(line.as_bytes());
    }

    /// A history with a few changed bytes is read or refused, and judged if possible.
    #[test]
    fn no_damage_makes_the_judge_panic(
        seed in 0..50_u64,
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let plan = Plan { transactions: 12, ..Plan::new(Isolation::Snapshot, Fault::None, seed) };
        let mut text = edn(&engine::run(&plan)).into_bytes();
        for (place, byte) in damage {
            let place = place.index(text.len());
            // Digits mostly, so that most of them are still histories.
            text[place] = if text[place].is_ascii_digit() { b'0' + byte % 10 } else { byte };
        }
        if let Ok(history) = read_edn(&text) {
            let _ = history_judge::judge(&history);
        }
    }
}
