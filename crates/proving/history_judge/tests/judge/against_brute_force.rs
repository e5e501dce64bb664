//! The judge agrees with the definitions, applied literally to tiny histories, correct and wrong
//! ones.

use crate::brute;
use crate::engine::{self, Fault, Isolation, Plan};
use crate::helpers::{judged, verdicts};
use history_judge::history::{Ended, HistoryBuilder, Step};
use history_judge::{History, Level, Outcome, Verdict};
use proptest::prelude::*;

/// The judge may answer `Unknown`, but must not be wrong; if the order of versions is known it must
/// answer.
fn compare(history: &History) {
    let report = judged(history);
    for level in Level::ALL {
        let is_of = brute::is_of(history, level);
        let verdict = report.verdict(level);
        let is_right = match verdict {
            Verdict::Holds => is_of,
            Verdict::Violated => !is_of,
            Verdict::Unknown(_) => true,
        };
        let mut text = Vec::new();
        history_judge::write_edn(history, &mut text).expect("a vector takes all");
        let text = String::from_utf8(text).expect("EDN is UTF-8");
        assert!(is_right, "{level}: {verdict}, but {is_of}\n{:?}\n{text}", report.findings);
        let is_known = report.counts.unordered_keys == 0;
        let is_vague = matches!(verdict, Verdict::Unknown(_)) && is_of && history.has_real_time();
        assert!(!(is_known && is_vague), "{level} is {}\n{text}", verdicts(&report));
    }
}

fn tiny(isolation: Isolation, fault: Fault, seed: u64, is_lists: bool) -> History {
    let plan = Plan {
        transactions: 5,
        keys: 2,
        operations: 3,
        sessions: 3,
        unknown_percent: 15,
        is_lists,
        ..Plan::new(isolation, fault, seed)
    };
    engine::run(&plan)
}

#[test]
fn histories_of_engines_right_and_wrong() {
    for seed in 0..1500 {
        for fault in [
            Fault::None,
            Fault::NoFirstCommitter,
            Fault::ReadsTheNewest,
            Fault::OldSnapshots,
            Fault::KeepsAborted,
        ] {
            compare(&tiny(Isolation::Snapshot, fault, seed, seed % 2 == 0));
        }
        compare(&tiny(Isolation::Validated, Fault::None, seed, seed % 2 == 0));
    }
}

/// An operation of a generated transaction: a key, and the length of the list read, or a write.
type Made = (usize, Option<usize>);

fn made_up() -> impl Strategy<Value = Vec<(usize, u8, Vec<Made>)>> {
    let operation = (0..2_usize, proptest::option::weighted(0.6, 0..4_usize));
    let transaction = (0..3_usize, 0..10_u8, proptest::collection::vec(operation, 1..4));
    proptest::collection::vec(transaction, 1..5)
}

/// A history in which every transaction reads some prefix of all writes, in the order of the text.
fn build(transactions: &[(usize, u8, Vec<Made>)], is_lists: bool) -> History {
    let mut lists: [Vec<i64>; 2] = Default::default();
    let mut value = 0;
    let mut writes = Vec::new();
    for (_, _, operations) in transactions {
        for (key, read) in operations {
            if read.is_none() {
                value += 1;
                lists[*key].push(value);
                writes.push(value);
            }
        }
    }
    let mut builder = HistoryBuilder::new();
    let keys = [builder.integer_key(0), builder.integer_key(1)];
    let mut writes = writes.into_iter();
    // Pairs overlap in time.
    let mut begun = Vec::new();
    for (place, (session, outcome, operations)) in transactions.iter().enumerate() {
        if place % 2 == 0 {
            begun = (0..2).map(|_| builder.event(None)).collect();
        }
        let outcome = match outcome {
            0 => Outcome::Aborted,
            1 => Outcome::Unknown,
            _ => Outcome::Committed,
        };
        builder.begin(outcome);
        for (key, read) in operations {
            let list = read.map(|length| &lists[*key][..length.min(lists[*key].len())]);
            let step = match list {
                None if is_lists => Step::Append(writes.next().expect("counted above")),
                None => Step::Write(writes.next().expect("counted above")),
                Some(list) if is_lists => Step::ReadList(list),
                Some([]) => Step::ReadInitial,
                Some([.., last]) => Step::ReadValue(*last),
            };
            builder.step(keys[*key], step, None).expect("one kind");
        }
        // Two overlapping transactions do not belong to one session.
        let process = Some((session * 2 + place % 2) as i64);
        let (invoked, completed) = (Some(begun[place % 2]), Some(builder.event(None)));
        builder.end(Ended { process, invoked, completed, line: 0 });
    }
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn made_up_lists(transactions in made_up()) {
        compare(&build(&transactions, true));
    }

    #[test]
    fn made_up_registers(transactions in made_up()) {
        compare(&build(&transactions, false));
    }
}
