//! The transactions that a restart brings back: all promises hold in every state, and each guard
//! is needed.

use model::group_commit::promises::{
    ACKNOWLEDGED_COMES_BACK, CLOSED, DROPPED_STAYS, NO_ABORTED, SHOWN_COMES_BACK, all, named,
};
use model::group_commit::{GroupCommit, Guards};
use stateright::{Checker, Expectation, Model, Property};

fn model(guards: Guards, properties: Vec<Property<GroupCommit>>) -> GroupCommit {
    GroupCommit {
        guards,
        transactions: 1,
        groups: 1,
        crashes: 1,
        reads: 0,
        rows: 2,
        has_late_aborts: true,
        properties,
    }
}

fn promises() -> Vec<Property<GroupCommit>> {
    let promises = all().into_iter();
    promises.filter(|promise| promise.expectation == Expectation::Always).collect()
}

fn holds(name: &str, model: GroupCommit) {
    let checker = model.checker().spawn_bfs().join();
    println!("{name}: {} states", checker.unique_state_count());
    assert!(checker.is_done());
    checker.assert_properties();
}

#[test]
fn the_promises_hold_with_a_reader() {
    let ours = model(Guards::OURS, promises());
    holds("a reader", GroupCommit { reads: 1, ..ours });
}

#[test]
fn the_promises_hold_for_transactions_behind_each_other() {
    let ours = model(Guards::OURS, promises());
    holds("two transactions", GroupCommit { transactions: 2, ..ours });
}

fn breaks(name: &str, property: &'static str, model: GroupCommit) {
    let model = GroupCommit { properties: vec![named(property)], ..model };
    let checker = model.checker().spawn_bfs().join();
    let states = checker.unique_state_count();
    let path = checker.discovery(property).expect("the guard is needed");
    let actions = path.into_actions();
    println!("{name}: not \"{property}\" after {} steps, {states} states", actions.len());
    for action in actions {
        println!("    {action:?}");
    }
}

fn without(guards: Guards) -> GroupCommit {
    model(guards, Vec::new())
}

#[test]
fn a_snapshot_behind_the_buffers_loses_acknowledged_commits() {
    let guards = Guards { buffers_behind_snapshot: false, ..Guards::OURS };
    breaks("buffers before snapshot", ACKNOWLEDGED_COMES_BACK, without(guards));
}

#[test]
fn a_record_without_all_entries_brings_back_half() {
    let guards = Guards { record_needs_entries: false, ..Guards::OURS };
    breaks("record without all entries", CLOSED, without(guards));
}

#[test]
fn an_entry_before_the_locks_brings_back_what_has_aborted() {
    let guards = Guards { append_behind_locks: false, ..Guards::OURS };
    // A later number of the lane covers it.
    let model = GroupCommit { transactions: 2, ..without(guards) };
    breaks("entry before locks", NO_ABORTED, model);
}

#[test]
fn an_entry_behind_the_publication_is_missed() {
    let guards = Guards { append_before_publish: false, ..Guards::OURS };
    breaks("entry after publication", ACKNOWLEDGED_COMES_BACK, without(guards));
}

#[test]
fn commits_that_do_not_wait_are_lost() {
    let guards = Guards { commits_wait: false, ..Guards::OURS };
    breaks("commits do not wait", ACKNOWLEDGED_COMES_BACK, without(guards));
}

#[test]
fn readers_that_do_not_wait_show_what_is_lost() {
    let guards = Guards { readers_wait: false, ..Guards::OURS };
    let model = GroupCommit { reads: 1, ..without(guards) };
    breaks("readers do not wait", SHOWN_COMES_BACK, model);
}

#[test]
fn entries_of_an_earlier_start_come_back_by_later_groups() {
    let guards = Guards { starts_are_judged_apart: false, ..Guards::OURS };
    let model = GroupCommit { crashes: 2, ..without(guards) };
    breaks("starts judged together", DROPPED_STAYS, model);
}
