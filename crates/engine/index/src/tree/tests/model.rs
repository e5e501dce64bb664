//! Random operations on a tree and on a sorted map, with equal results.

use super::harness::{Client, small_layout, value_of};
use crate::tree::LeafCache;
use fabric::run_now;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Action {
    Insert(u64),
    InsertRun { start: u64, count: u64, step: u64 },
    Remove(u64),
    RemoveRun { start: u64, count: u64 },
    Absorb(u64),
    Get(u64),
    Up(u64),
    Down(u64),
    ForgetCache,
}

fn action() -> impl Strategy<Value = Action> {
    let number = 0_u64..400;
    prop_oneof![
        4 => number.clone().prop_map(Action::Insert),
        2 => (number.clone(), 1_u64..60, 1_u64..4)
            .prop_map(|(start, count, step)| Action::InsertRun { start, count, step }),
        2 => number.clone().prop_map(Action::Remove),
        2 => (number.clone(), 1_u64..80)
            .prop_map(|(start, count)| Action::RemoveRun { start, count }),
        4 => number.clone().prop_map(Action::Absorb),
        2 => number.clone().prop_map(Action::Get),
        1 => number.clone().prop_map(Action::Up),
        1 => number.prop_map(Action::Down),
        1 => Just(Action::ForgetCache),
    ]
}

/// Runs the actions with two clients in turn, so that each makes the other's cache outdated.
fn run(actions: &[Action]) {
    let mut first = Client::alone(small_layout(false));
    let world = first.env.world().clone();
    let mut second = Client::new(world.endpoint(), first.tree, super::harness::pool(2), 2);
    second.cache = LeafCache::new(8);
    let mut model: BTreeSet<u64> = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        let client = if index % 2 == 0 { &mut first } else { &mut second };
        match *action {
            Action::Insert(number) => {
                run_now(client.insert(number)).expect("nobody else is here");
                model.insert(number);
            }
            Action::InsertRun { start, count, step } => {
                let numbers: Vec<u64> = (0..count).map(|index| start + index * step).collect();
                let mut done = 0;
                while done < numbers.len() {
                    done += run_now(client.insert_some(&numbers[done..])).expect("nobody else");
                }
                model.extend(numbers);
            }
            Action::Remove(number) => {
                assert_eq!(run_now(client.remove(number)), Ok(model.remove(&number)));
            }
            Action::RemoveRun { start, count } => {
                for number in start..start + count {
                    assert_eq!(run_now(client.remove(number)), Ok(model.remove(&number)));
                }
            }
            Action::Absorb(number) => {
                run_now(client.absorb(number)).expect("nobody else is here");
            }
            Action::Get(number) => {
                let expected = model.contains(&number).then(|| value_of(number));
                assert_eq!(run_now(client.get(number)), Ok(expected));
            }
            Action::Up(low) => {
                let expected: Vec<u64> = model.range(low..).copied().collect();
                assert_eq!(run_now(client.scan_up(low)), Ok(expected));
            }
            Action::Down(high) => {
                let expected: Vec<u64> = model.range(..=high).rev().copied().collect();
                assert_eq!(run_now(client.scan_down(high)), Ok(expected));
            }
            Action::ForgetCache => client.cache.clear(),
        }
    }
    let report = run_now(first.sound(false));
    assert_eq!(report.entries, model.len() as u64);
    assert!(report.locked.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_tree_behaves_like_a_sorted_map(actions in prop::collection::vec(action(), 1..120)) {
        run(&actions);
    }
}
