//! The engine over a transport that answers from a table.

use super::*;
use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::env::{Env, Fabric};
use crate::error::{CallError, FabricError};
use crate::patience::Patience;
use crate::port::wait_ready;
use crate::service::ServiceId;
use layout::{GlobalPtr, NodeId, RegionId};
use rustix::event::PollFd;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Fills reads with a fixed word, after `delay` turns.
struct Echo {
    addresses: AddressMap,
    /// Times that the map was read.
    looks: u32,
    delay: u32,
    under_way: Vec<(u32, Ticket, Outcome)>,
    /// Turns that sent something.
    sends: u32,
    posted: bool,
}

impl Echo {
    fn new(delay: u32) -> Self {
        let addresses = AddressMap::one_region_per_server(1);
        Self { addresses, looks: 0, delay, under_way: Vec::new(), sends: 0, posted: false }
    }

    fn add(&mut self, ticket: Ticket, outcome: Outcome) {
        self.posted = true;
        self.under_way.push((self.delay, ticket, outcome));
    }
}

impl Transport for Echo {
    fn is_coherent(&self) -> bool {
        true
    }

    fn addresses(&mut self) -> &AddressMap {
        self.looks += 1;
        &self.addresses
    }

    fn post(&mut self, ticket: Ticket, mut batch: Batch, _now_ns: u64) {
        batch.parts_mut().1.fill(7);
        let is_lost = batch.verbs().is_empty();
        let result = if is_lost { Err(FabricError::Unreachable(NodeId(0))) } else { Ok(batch) };
        self.add(ticket, Outcome::Batch(result, 1));
    }

    fn call(&mut self, ticket: Ticket, call: Call, _now_ns: u64) {
        let mut answer = call.request;
        answer.extend(call.id.sequence.to_le_bytes());
        self.add(ticket, Outcome::Call(Ok(answer)));
    }

    fn progress(&mut self, _now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome)) {
        self.sends += u32::from(std::mem::take(&mut self.posted));
        for (turns, ..) in &mut self.under_way {
            *turns = turns.saturating_sub(1);
        }
        let (due, later) = self.under_way.drain(..).partition(|(turns, ..)| *turns == 0);
        self.under_way = later;
        let due: Vec<_> = due;
        due.into_iter().for_each(|(_, ticket, outcome)| complete(ticket, outcome));
    }

    fn arm(&mut self) -> bool {
        !self.under_way.is_empty()
    }

    fn disarm(&mut self) {}

    fn descriptors<'a>(&'a self, _to: &mut Vec<PollFd<'a>>) {}

    fn next_deadline_ns(&self) -> Option<u64> {
        None
    }

    fn trouble(&self, _node: NodeId) -> Option<String> {
        None
    }
}

fn engine(delay: u32) -> Engine<Echo> {
    let patience = Patience { spin_ns: 0, awake_ns: 0, sleep_ns_max: 60_000_000_000 };
    Engine::new(Echo::new(delay), patience).expect("an engine needs one descriptor")
}

fn read() -> Batch {
    let mut batch = Batch::new();
    batch.read(GlobalPtr::new(RegionId(0), 64), 1);
    batch
}

#[test]
fn batches_and_calls_come_back() {
    let engine = engine(3);
    let env = engine.endpoint();
    let batch = engine.block_on(env.execute(read())).expect("it is answered");
    assert_eq!(batch.word(0), 7);
    let lost = engine.block_on(env.execute(Batch::new()));
    assert_eq!(lost.unwrap_err(), FabricError::Unreachable(NodeId(0)));
    for sequence in 1..3_u8 {
        let answer = engine.block_on(env.call(NodeId(0), ServiceId(1), vec![9]));
        assert_eq!(answer, Ok::<_, CallError>(vec![9, sequence, 0, 0, 0, 0, 0, 0, 0]));
    }
    assert_eq!(env.counters().counts().verbs, 3);
}

#[test]
fn without_replicas_nothing_is_looked_up() {
    let engine = engine(1);
    let env = engine.endpoint();
    let looks = || env.with_transport(|transport| transport.looks);
    let before = looks();
    for _ in 0..10 {
        engine.block_on(env.execute(read())).expect("it is answered");
        engine.block_on(env.call(NodeId(0), ServiceId(1), vec![9])).expect("it is answered");
    }
    assert_eq!((env.node_of(RegionId(0)), env.has_replicas()), (NodeId(0), false));
    assert_eq!(looks(), before);
}

#[test]
fn what_tasks_post_in_one_turn_goes_out_at_once() {
    let engine = engine(1);
    let env = engine.endpoint();
    let done = Rc::new(Cell::new(0));
    engine.block_on(async {
        for _ in 0..10 {
            let (lane, done) = (env.clone(), done.clone());
            env.spawn(async move {
                for _ in 0..5 {
                    lane.execute(read()).await.expect("it is answered");
                }
                done.set(done.get() + 1);
            });
        }
        while done.get() < 10 {
            env.yield_now().await;
        }
    });
    assert_eq!(env.with_transport(|echo| echo.sends), 5);
    assert_eq!(engine.task_count(), 0);
}

#[test]
fn who_stops_waiting_leaves_the_batch_to_the_transport() {
    let engine = engine(5);
    let env = engine.endpoint();
    engine.block_on(async {
        let mut dropped = Box::pin(env.execute(read()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(dropped.as_mut().poll(&mut context).is_pending());
        drop(dropped);
        assert_eq!(env.with_transport(|echo| echo.under_way.len()), 1);
        env.execute(read()).await.expect("it is answered");
        assert_eq!(env.with_transport(|echo| echo.under_way.len()), 0);
    });
}

#[test]
fn sleepers_wake_in_their_order() {
    let engine = engine(1);
    let env = engine.endpoint();
    let order = Rc::new(Cell::new(0));
    let start_ns = env.now_ns();
    engine.block_on(async {
        for (digit, milliseconds) in [(3, 30), (1, 5), (2, 15)] {
            let (sleeper, order) = (env.clone(), order.clone());
            env.spawn(async move {
                sleeper.sleep_ns(milliseconds * 1_000_000).await;
                order.set(order.get() * 10 + digit);
            });
        }
        env.sleep_ns(40_000_000).await;
    });
    assert_eq!(order.get(), 123);
    assert!(env.now_ns() - start_ns >= 40_000_000);
}

#[test]
fn another_thread_wakes_a_sleeping_engine() {
    let engine = engine(1);
    let start_ns = engine.endpoint().now_ns();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let waker: Waker = receiver.recv().expect("the engine runs");
            wait_ready(&mut [], Duration::from_millis(20).as_nanos() as u64);
            waker.wake();
        });
        // Without the wake-up the engine would sleep for a minute.
        let mut is_first = true;
        engine.block_on(std::future::poll_fn(|context| {
            if std::mem::take(&mut is_first) {
                sender.send(context.waker().clone()).expect("the thread waits");
                return Poll::Pending;
            }
            Poll::Ready(())
        }));
    });
    assert!(engine.endpoint().now_ns() - start_ns < 30_000_000_000, "it slept to the end");
}

#[test]
fn tasks_that_were_woken_when_the_main_future_ended_go_on_with_the_next_one() {
    let engine = engine(1);
    let env = engine.endpoint();
    let rounds = Rc::new(Cell::new(0));
    let mut is_first = true;
    engine.block_on(std::future::poll_fn(|context| {
        if !std::mem::take(&mut is_first) {
            return Poll::Ready(());
        }
        // It is woken before the tasks, so it ends before them in the next turn.
        context.waker().wake_by_ref();
        for _ in 0..3 {
            let (lane, rounds) = (env.clone(), rounds.clone());
            env.spawn(async move {
                for _ in 0..10 {
                    lane.yield_now().await;
                    rounds.set(rounds.get() + 1);
                }
            });
        }
        Poll::Pending
    }));
    // Each ends in a turn in which the tasks are awake, too.
    for _ in 0..12 {
        engine.block_on(env.yield_now());
    }
    assert_eq!((rounds.get(), engine.task_count()), (30, 0));
}

#[test]
fn tasks_that_wait_are_dropped_with_the_engine() {
    let engine = engine(1);
    let env = engine.endpoint();
    let alive = Rc::new(());
    let task = alive.clone();
    env.spawn(async move {
        std::future::pending::<()>().await;
        drop(task);
    });
    let mut main = pin!(env.yield_now());
    engine.block_on(main.as_mut());
    assert_eq!((Rc::strong_count(&alive), engine.task_count()), (2, 1));
    drop(engine);
    assert_eq!(Rc::strong_count(&alive), 1);
}

#[test]
fn a_task_that_is_woken_when_the_main_future_ends_runs_with_the_next_one() {
    let engine = engine(1);
    let env = engine.endpoint();
    let task = env.clone();
    env.spawn(async move {
        for _ in 0..10 {
            task.execute(read()).await.expect("it is answered");
        }
    });
    for _ in 0..100 {
        engine.block_on(env.yield_now());
    }
    assert_eq!(engine.task_count(), 0, "the task was forgotten");
}
