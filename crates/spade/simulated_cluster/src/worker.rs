//! A lane of a simulated compute server: its rows, and its work during a measurement.
//!
//! Decision: docs/decisions/0194-lanes-have-rows-of-their-own-in-simulated-measurements.md

use crate::metered::Metered;
use fabric::{Counts, DynEnv, Env, Fabric};
use layout::NodeId;
use microbench::hand::Hand;
use microbench::micro::{MEASURED, carry_out, perform};
use microbench::operation::Task;
use microbench::subject::{Subject, Table};
use sim::Endpoint;
use spade_format::measurement::{Operation, Parameters, Place};
use std::cell::RefCell;
use txn::Lane;
use workload::{Random, TransactionResult, WorkloadError};

/// Distance between the rows that a lane looks up during the warm-up: about one per leaf of the
/// smallest size.
const STEP: u64 = 8;
/// Ranges after its own in which a lane's longest scan may end.
const SCANNED_BEHIND: u64 = 2;
/// Rows that each lane inserts during the warm-up, so that it has memory from each server.
const PRACTISED: i64 = 2;
/// Distance from a range's first free key to the keys that only the warm-up inserts.
const PRACTICE_KEYS: i64 = Subject::RANGE / 2;

/// A lane's rows on one machine.
pub(super) struct Target {
    machine: u16,
    node: NodeId,
    table: Table,
    hand: Hand,
}

impl Target {
    /// Creates the target for a range of the table on a machine, whose compute server is `node`.
    pub(super) fn new(
        subject: &Subject,
        (machine, node): (u16, NodeId),
        table: Table,
        (range, mut random): (u64, Random),
    ) -> Self {
        let hand = Hand::new(subject, range, range..range + 1, &mut random);
        Self { machine, node, table, hand }
    }
}

/// A lane with its rows: on its own machine first, then on others.
pub(super) struct Worker {
    number: usize,
    lane: Lane<DynEnv>,
    targets: Vec<Target>,
    answer: Vec<u8>,
}

/// Shared by all workers during a measurement.
#[derive(Default)]
pub(super) struct Watch {
    pub prepared: u64,
    /// Set when no worker shall begin another operation.
    pub is_over: bool,
    window: Window,
}

/// The operations of a window.
#[derive(Clone, Default)]
pub(super) struct Window {
    /// Latencies of committed operations, in nanoseconds.
    pub latencies_ns: Vec<u64>,
    /// Number of retries.
    pub aborts: u64,
    /// Verbs and calls that the requester has sent.
    pub counts: Counts,
}

impl Watch {
    pub(super) fn begin(&mut self) {
        self.window = Window::default();
    }

    /// Number of operations committed in the window.
    pub(super) fn committed(&self) -> u64 {
        self.window.latencies_ns.len() as u64
    }

    /// Ends the window.
    pub(super) fn take(&mut self) -> Window {
        std::mem::take(&mut self.window)
    }
}

impl Worker {
    pub(super) fn new(number: usize, lane: Lane<DynEnv>, targets: Vec<Target>) -> Self {
        Self { number, lane, targets, answer: Vec::new() }
    }

    /// Its position among all workers.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        Metered::of(self.lane.env()).endpoint()
    }

    /// Returns the machines, except its own, that its operations use at this place.
    pub(super) fn owners(&self, place: Place) -> Vec<u16> {
        self.chosen(place).iter().map(|target| target.machine).collect()
    }

    fn chosen(&self, place: Place) -> &[Target] {
        if place == Place::Local { &[] } else { &self.targets[1..] }
    }

    /// Warms up: caches the leaves of its rows, and takes memory from the servers.
    pub(super) async fn practise(&mut self, subject: &Subject) -> Result<(), WorkloadError> {
        for Target { table, hand, .. } in &self.targets {
            let range = hand.range();
            let scanned = range..subject.ranges.min(range + 1 + SCANNED_BEHIND);
            let known = if subject.has_tree() { scanned } else { range..range + 1 };
            look(&mut self.lane, *table, subject, known).await?;
            insert_and_update(&mut self.lane, *table, subject, range, 0).await?;
        }
        Ok(())
    }

    /// Collects the garbage of the warm-up.
    pub(super) async fn collect(&mut self) -> Result<(), WorkloadError> {
        Ok(self.lane.collect_garbage().await?)
    }

    /// Executes operations one after the other, round-robin on its machines.
    pub(super) async fn serve(
        &mut self,
        subject: &Subject,
        parameters: &Parameters,
        (stock, pause_ns): (usize, u64),
        watch: &RefCell<Watch>,
    ) {
        let is_local = parameters.place == Place::Local;
        let (first, last) = if is_local { (0, 0) } else { (1, self.targets.len() - 1) };
        if parameters.operation == Operation::Delete {
            for at in first..=last {
                self.restock(at, stock).await;
            }
        }
        watch.borrow_mut().prepared += 1;
        for at in (first..=last).cycle() {
            if watch.borrow().is_over {
                // Otherwise old versions would be kept for this lane.
                self.lane.rest().await.expect("the oracle answers");
                return;
            }
            if pause_ns > 0 {
                self.lane.env().sleep_ns(pause_ns).await;
            }
            let target = &mut self.targets[at];
            let owner = (parameters.place == Place::Shipped).then_some(target.node);
            let env = self.lane.env();
            let (start_ns, before) = (env.now_ns(), env.counters().counts());
            let what = (subject, parameters);
            let done = perform(
                &mut self.lane,
                (target.table, owner),
                &mut target.hand,
                what,
                &mut self.answer,
            );
            let finished = done.await.expect("the servers answer, and all rows are there");
            let env = self.lane.env();
            // The operation is over when the core has done all its work.
            env.sleep_ns(0).await;
            let (took_ns, moved) = (env.now_ns() - start_ns, env.counters().counts() - before);
            if finished.kind != MEASURED || finished.result != TransactionResult::Committed {
                continue;
            }
            let window = &mut watch.borrow_mut().window;
            window.latencies_ns.push(took_ns);
            window.aborts += u64::from(finished.retries);
            window.counts += moved;
        }
    }

    /// Inserts rows for later deletes.
    async fn restock(&mut self, at: usize, stock: usize) {
        let Target { table, hand, .. } = &mut self.targets[at];
        while let Some(task) = hand.restock(stock) {
            let done = carry_out(&mut self.lane, (*table, None), &task, (0, &mut self.answer));
            let finished = done.await.expect("the servers answer");
            hand.done(task, finished.result == TransactionResult::Committed);
        }
    }
}

/// Looks up rows of some ranges, so that the lane caches their leaves.
async fn look(
    lane: &mut Lane<DynEnv>,
    table: Table,
    subject: &Subject,
    ranges: std::ops::Range<u64>,
) -> Result<(), WorkloadError> {
    let mut answer = Vec::new();
    for by_index in [false, true] {
        if by_index && table.index.is_none() {
            continue;
        }
        for range in ranges.clone() {
            for number in (0..subject.rows_each).step_by(STEP as usize) {
                let key = subject.loaded_key(range * subject.rows_each + number);
                let (operation, keys) = (Operation::Lookup, vec![key]);
                let task = Task { operation, by_index, keys, limit: 1 };
                carry_out(lane, (table, None), &task, (0, &mut answer)).await?;
            }
        }
    }
    Ok(())
}

/// Inserts rows into a range reserved for the warm-up, and updates them. Lanes that use the same
/// range differ in `number`.
async fn insert_and_update(
    lane: &mut Lane<DynEnv>,
    table: Table,
    subject: &Subject,
    range: u64,
    number: i64,
) -> Result<(), WorkloadError> {
    let first = subject.free_key(range) + PRACTICE_KEYS + number * PRACTISED;
    let mut answer = Vec::new();
    for operation in [Operation::Insert, Operation::Update] {
        let keys = (first..first + PRACTISED).collect();
        let task = Task { operation, by_index: false, keys, limit: 1 };
        carry_out(lane, (table, None), &task, (0, &mut answer)).await?;
    }
    Ok(())
}

/// Caches the leaves of all rows of the machine, for lane `number` of those that execute shipped
/// operations.
pub(super) async fn look_everywhere(
    lane: &mut Lane<DynEnv>,
    table: Table,
    subject: &Subject,
    number: u32,
) -> Result<(), WorkloadError> {
    let known = if subject.has_tree() { 0..subject.ranges } else { 0..1 };
    look(lane, table, subject, known).await?;
    let (range, number) = (u64::from(number) % subject.ranges, 1 + i64::from(number));
    insert_and_update(lane, table, subject, range, number).await?;
    Ok(lane.rest().await?)
}
