//! The state machine, with time that the tests make.

use super::machine::{Evidence, Machine, Rule, Step, Timing};
use std::collections::BTreeSet;

const LEASE: u64 = 1_000;
const TIMING: Timing = Timing { lease_ns: LEASE };
/// Between two ticks.
const TICK: u64 = 10;
const MEMBER: u64 = 7;

/// An observer and its clock.
struct Observer {
    machine: Machine,
    now: u64,
}

impl Observer {
    /// Has heard of the member once.
    fn of(rule: Rule) -> Self {
        let mut machine = Machine::new(TIMING, 0);
        machine.watch(MEMBER, rule);
        machine.heard(MEMBER);
        Self { machine, now: 0 }
    }

    fn tick(&mut self, now: u64) {
        self.machine.advance(now);
        self.machine.judge();
    }

    /// Lets time pass in ticks, and returns the steps with their times.
    fn pass(&mut self, time: u64) -> Vec<(u64, Step)> {
        let end = self.now + time;
        let mut steps = Vec::new();
        while self.now < end {
            self.now += TICK;
            self.tick(self.now);
            steps.extend(self.machine.steps().into_iter().map(|step| (self.now, step)));
        }
        steps
    }

    fn heard(&mut self) -> Vec<Step> {
        self.machine.heard(MEMBER);
        self.machine.steps()
    }
}

fn probes(steps: &[(u64, Step)]) -> usize {
    steps.iter().filter(|(_, step)| matches!(step, Step::Probe { .. })).count()
}

fn evictions(steps: &[(u64, Step)]) -> Vec<(u64, Evidence)> {
    let evict = |&(time, step): &(u64, Step)| match step {
        Step::Evict { evidence, .. } => Some((time, evidence)),
        _ => None,
    };
    steps.iter().filter_map(evict).collect()
}

#[test]
fn a_member_that_beats_is_trusted_though_three_heartbeats_in_a_row_are_lost() {
    let mut observer = Observer::of(Rule::Lease);
    for beat in 1..=200 {
        let steps = observer.pass(TIMING.heartbeat_ns());
        assert_eq!(steps, [], "beat {beat}");
        if beat % 4 == 0 {
            observer.heard();
        }
    }
}

#[test]
fn silence_is_suspected_after_a_lease_probed_and_evicted_once() {
    let mut observer = Observer::of(Rule::Lease);
    assert_eq!(observer.pass(LEASE - TICK), []);
    let steps = observer.pass(TICK);
    let suspect = Step::Suspect { member: MEMBER, silent_ns: LEASE };
    assert_eq!(steps, [(LEASE, suspect), (LEASE, Step::Probe { member: MEMBER })]);
    let steps = observer.pass(10 * LEASE);
    assert_eq!(probes(&steps), 1, "{steps:?}");
    assert_eq!(evictions(&steps), [(LEASE + TIMING.probe_ns(), Evidence::Silence)]);
    assert_eq!(observer.heard(), [], "the decision stands");
    assert_eq!(evictions(&observer.pass(10 * LEASE)), []);
}

#[test]
fn a_late_heartbeat_or_an_answered_probe_ends_the_suspicion() {
    let mut observer = Observer::of(Rule::Lease);
    for _ in 0..10 {
        let steps = observer.pass(LEASE + TIMING.probe_ns() - TICK);
        assert_eq!((probes(&steps), evictions(&steps)), (2, vec![]), "{steps:?}");
        assert_eq!(observer.heard(), [Step::Trust { member: MEMBER }]);
    }
    assert_eq!(evictions(&observer.pass(2 * LEASE)).len(), 1);
}

#[test]
fn what_was_received_late_counts_from_when_it_was_read() {
    let mut observer = Observer::of(Rule::Lease);
    observer.pass(LEASE - TICK);
    observer.now += LEASE / 4;
    observer.machine.advance(observer.now);
    observer.machine.heard(MEMBER);
    observer.machine.judge();
    assert_eq!(observer.machine.steps(), [], "it is judged by what waited in the queue");
    assert_eq!(observer.pass(LEASE - TICK), []);
}

#[test]
fn a_member_has_time_for_its_first_heartbeat() {
    let mut machine = Machine::new(TIMING, 0);
    machine.watch(MEMBER, Rule::Lease);
    let mut observer = Observer { machine, now: 0 };
    let silent = |observer: &mut Observer, ticks: u64| {
        let steps = (0..ticks).flat_map(|_| {
            observer.now += LEASE / 4;
            observer.tick(observer.now);
            observer.machine.steps()
        });
        steps.collect::<Vec<Step>>()
    };
    let greeting_ticks = (5_000_000_000 + LEASE) / (LEASE / 4);
    assert_eq!(silent(&mut observer, greeting_ticks - 1), []);
    assert_eq!(silent(&mut observer, 1).len(), 2, "a member that never sends is suspected, too");
}

#[test]
fn a_process_that_has_ended_is_evicted_at_once_under_each_rule() {
    for rule in [Rule::Lease, Rule::Proof] {
        let mut observer = Observer::of(rule);
        observer.pass(100);
        observer.machine.process_ended(MEMBER);
        observer.machine.process_ended(MEMBER);
        let evict =
            Step::Evict { member: MEMBER, evidence: Evidence::ProcessEnded, silent_ns: 100 };
        assert_eq!(observer.machine.steps(), [evict]);
    }
}

#[test]
fn a_refused_port_is_proof_where_survivors_can_finish_the_work() {
    let mut observer = Observer::of(Rule::Lease);
    observer.machine.doubt(MEMBER);
    assert_eq!(observer.machine.steps(), [Step::Probe { member: MEMBER }], "no suspicion");
    observer.machine.port_refused(MEMBER);
    let evict = Step::Evict { member: MEMBER, evidence: Evidence::PortRefused, silent_ns: 0 };
    assert_eq!(observer.machine.steps(), [evict]);
}

#[test]
fn a_member_without_a_substitute_is_evicted_by_proof_only() {
    let mut observer = Observer::of(Rule::Proof);
    let steps = observer.pass(100 * LEASE);
    assert_eq!(evictions(&steps), []);
    assert!(probes(&steps) > 100, "it is probed all the time");
    assert!(observer.machine.opinions().all(|one| one.is_suspected && one.age_ns == 100 * LEASE));
    assert_eq!(observer.heard(), [Step::Trust { member: MEMBER }]);
    // Refusals count while it is silent, and only in a row.
    for _ in 0..10 {
        observer.machine.port_refused(MEMBER);
    }
    assert_eq!(observer.machine.steps(), [], "it has just spoken");
    observer.pass(LEASE);
    observer.machine.port_refused(MEMBER);
    observer.machine.port_refused(MEMBER);
    observer.heard();
    observer.pass(LEASE);
    observer.machine.port_refused(MEMBER);
    observer.machine.port_refused(MEMBER);
    assert_eq!(evictions(&observer.pass(TICK)), []);
    observer.machine.port_refused(MEMBER);
    assert_eq!(evictions(&observer.pass(TICK)), [(observer.now, Evidence::PortRefused)]);
}

#[test]
fn a_member_that_nobody_can_replace_any_more_is_not_evicted_by_silence() {
    let mut observer = Observer::of(Rule::Lease);
    observer.pass(LEASE);
    observer.machine.watch(MEMBER, Rule::Proof);
    assert_eq!(evictions(&observer.pass(100 * LEASE)), []);
    observer.machine.watch(MEMBER, Rule::Lease);
    assert_eq!(evictions(&observer.pass(TICK)).len(), 1, "it is still silent");
}

#[test]
fn an_observer_that_was_suspended_blames_nobody_else() {
    for gap in [LEASE, 100 * LEASE, 1_000_000 * LEASE] {
        let mut observer = Observer::of(Rule::Lease);
        observer.now += gap;
        observer.tick(observer.now);
        assert_eq!(observer.machine.steps(), [], "gap {gap}");
        // Silence in the gap does not count, but later silence does.
        let end = observer.now;
        let steps = observer.pass(2 * LEASE);
        let lease_end = end + LEASE - LEASE / 4;
        assert_eq!(evictions(&steps), [(lease_end + TIMING.probe_ns(), Evidence::Silence)]);
    }
}

#[test]
fn an_observer_that_is_always_late_decides_later_but_decides() {
    let mut observer = Observer::of(Rule::Lease);
    let mut ticks = 0;
    while evictions(&observer.machine.steps().into_iter().map(|step| (0, step)).collect::<Vec<_>>())
        .is_empty()
    {
        observer.now += 3 * LEASE;
        observer.tick(observer.now);
        ticks += 1;
        assert!(ticks < 10);
    }
    assert_eq!(ticks, 5, "a lease has four quarters, and the probe has one");
}

#[test]
fn a_clock_that_steps_back_stands_still_and_one_that_steps_forward_blames_nobody() {
    let mut observer = Observer::of(Rule::Lease);
    observer.pass(LEASE / 2);
    for clock_ns in [0, 3, 1] {
        observer.tick(clock_ns);
        assert_eq!(observer.machine.steps(), []);
    }
    observer.tick(LEASE / 2);
    assert!(observer.machine.opinions().all(|one| one.age_ns == LEASE / 2));
    assert_eq!(evictions(&observer.pass(LEASE)), [(LEASE + LEASE / 4, Evidence::Silence)]);
    let mut observer = Observer::of(Rule::Lease);
    observer.now = u64::MAX / 2;
    observer.tick(observer.now);
    assert_eq!(observer.machine.steps(), []);
}

/// The record of the test: a swap succeeds if the record is as it was seen.
struct Members {
    members: BTreeSet<u64>,
    epoch: u64,
}

impl Members {
    fn swap(&mut self, seen_epoch: u64, without: u64) -> bool {
        let is_unchanged = seen_epoch == self.epoch;
        if is_unchanged {
            self.members.remove(&without);
            self.epoch += 1;
        }
        is_unchanged
    }
}

#[test]
fn of_two_observers_that_decide_at_once_one_swap_wins_and_both_go_on() {
    let mut observers = [Observer::of(Rule::Lease), Observer::of(Rule::Lease)];
    let mut record = Members { members: BTreeSet::from([MEMBER]), epoch: 3 };
    let decided = observers.each_mut().map(|observer| evictions(&observer.pass(2 * LEASE)));
    assert!(decided.iter().all(|decided| decided.len() == 1));
    // Both have read the record before either swaps it.
    let swapped = [record.swap(3, MEMBER), record.swap(3, MEMBER)];
    assert_eq!((swapped, record.epoch), ([true, false], 4));
    for observer in &mut observers {
        observer.machine.retain(|member| record.members.contains(&member));
        assert!(!observer.machine.is_watched(MEMBER));
        assert_eq!(observer.pass(10 * LEASE), []);
    }
}

#[test]
fn a_record_that_is_not_reached_is_tried_again_after_further_probes() {
    let mut observer = Observer::of(Rule::Lease);
    assert_eq!(evictions(&observer.pass(2 * LEASE)).len(), 1);
    observer.machine.undecided(MEMBER);
    let steps = observer.pass(TIMING.probe_ns());
    assert_eq!((probes(&steps), evictions(&steps).len()), (2, 1), "{steps:?}");
    // A member that answers meanwhile is trusted again.
    observer.machine.undecided(MEMBER);
    assert_eq!(observer.heard(), [Step::Trust { member: MEMBER }]);
    // One whose process has ended is not, whatever arrives.
    observer.machine.process_ended(MEMBER);
    observer.machine.steps();
    observer.machine.undecided(MEMBER);
    assert_eq!(observer.heard(), []);
    let steps = observer.pass(LEASE);
    assert_eq!(evictions(&steps).len(), 1, "{steps:?}");
    assert_eq!(evictions(&steps)[0].1, Evidence::ProcessEnded);
}

#[test]
fn an_observer_that_sleeps_until_the_next_round_is_in_time() {
    let mut observer = Observer::of(Rule::Lease);
    let mut steps = Vec::new();
    for _ in 0..20 {
        observer.now += observer.machine.due_ns();
        observer.tick(observer.now);
        steps.extend(observer.machine.steps().into_iter().map(|step| (observer.now, step)));
    }
    assert_eq!(evictions(&steps), [(LEASE + TIMING.probe_ns(), Evidence::Silence)]);
    assert_eq!(probes(&steps), 2);
}
