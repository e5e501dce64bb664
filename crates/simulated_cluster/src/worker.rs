//! A lane of a simulated compute server: its rows, and what it does while something is measured.

use crate::metered::Metered;
use fabric::{Counts, DynEnv, Env, Fabric};
use layout::NodeId;
use measure::hand::Hand;
use measure::micro::{MEASURED, carry_out, perform};
use measure::operation::Task;
use measure::subject::{Subject, Table};
use sim::Endpoint;
use spade_format::measurement::{Operation, Parameters, Place};
use std::cell::RefCell;
use txn::Lane;
use workload::{Random, TransactionResult, WorkloadError};

/// Of the rows that a lane looks for in advance, every so many: about one in each of the smallest leaves.
const STEP: u64 = 8;
/// Ranges behind its own in which the longest scan of a lane may end.
const SCANNED_BEHIND: u64 = 2;
/// Rows that each lane inserts in advance, so that it has memory from each server.
const PRACTISED: i64 = 2;
/// From a range's first free key to those that only practice takes.
const PRACTICE_KEYS: i64 = Subject::RANGE / 2;

/// A lane's rows on one machine.
pub(super) struct Target {
    machine: u16,
    /// Its compute server.
    node: NodeId,
    table: Table,
    hand: Hand,
}

impl Target {
    /// The rows of a range of the table of a machine, whose compute server is `node`.
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

/// A lane with its rows: at home first, then on other machines.
pub(super) struct Worker {
    number: usize,
    lane: Lane<DynEnv>,
    targets: Vec<Target>,
    answer: Vec<u8>,
}

/// What workers see and leave while something is measured.
#[derive(Default)]
pub(super) struct Watch {
    /// Workers that are ready.
    pub prepared: u64,
    /// Nobody begins another operation.
    pub is_over: bool,
    window: Window,
}

/// What was done in a window.
#[derive(Clone, Default)]
pub(super) struct Window {
    /// Nanoseconds of each operation that has committed.
    pub latencies_ns: Vec<u64>,
    /// Attempts that were made again.
    pub aborts: u64,
    /// What its requester sent for them.
    pub counts: Counts,
}

impl Watch {
    /// A window begins.
    pub(super) fn begin(&mut self) {
        self.window = Window::default();
    }

    /// Operations that have committed in the window.
    pub(super) fn committed(&self) -> u64 {
        self.window.latencies_ns.len() as u64
    }

    /// The window is over.
    pub(super) fn take(&mut self) -> Window {
        std::mem::take(&mut self.window)
    }
}

impl Worker {
    /// The lane and its rows.
    pub(super) fn new(number: usize, lane: Lane<DynEnv>, targets: Vec<Target>) -> Self {
        Self { number, lane, targets, answer: Vec::new() }
    }

    /// Its place among all workers.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Its endpoint.
    pub(super) fn endpoint(&self) -> &Endpoint {
        Metered::of(self.lane.env()).endpoint()
    }

    /// The machines, beside its own, that it works on in this place.
    pub(super) fn owners(&self, place: Place) -> Vec<u16> {
        self.chosen(place).iter().map(|target| target.machine).collect()
    }

    fn chosen(&self, place: Place) -> &[Target] {
        if place == Place::Local { &[] } else { &self.targets[1..] }
    }

    /// Gets to know the ways to its rows, and memory from the servers.
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

    /// Collects what practising has left behind.
    pub(super) async fn collect(&mut self) -> Result<(), WorkloadError> {
        Ok(self.lane.collect_garbage().await?)
    }

    /// One operation after the other, by turns on each of its machines.
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
                // Old versions are kept for lanes that may still ask for them.
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
            // The operation is over when the core has done all that it asked for.
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

    /// Inserts rows for deletes to come.
    async fn restock(&mut self, at: usize, stock: usize) {
        let Target { table, hand, .. } = &mut self.targets[at];
        while let Some(task) = hand.restock(stock) {
            let done = carry_out(&mut self.lane, (*table, None), &task, (0, &mut self.answer));
            let finished = done.await.expect("the servers answer");
            hand.done(task, finished.result == TransactionResult::Committed);
        }
    }
}

/// Looks for rows of some ranges, so that the lane knows where their leaves are.
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

/// Inserts rows into a range, where nobody else does, and updates them. Lanes that use the same range differ in `number`.
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

/// Gets to know the ways to all rows of the machine, for lane `number` of those that work for others.
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
