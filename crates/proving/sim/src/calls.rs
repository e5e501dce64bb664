//! Calls under way: delivered late, sometimes twice, answered once.

use crate::fault::FaultKind;
use crate::links::Post;
use crate::network::Load;
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::service::{Answer, AnswerRecord, Arrival};
use fabric::{CallError, CallId, ServiceId};
use layout::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::task::Waker;

/// A call between its posting and the last message about it.
struct Call {
    id: CallId,
    from: NodeId,
    group: u32,
    target: NodeId,
    service: ServiceId,
    request: Rc<[u8]>,
    /// Messages under way and handlers that are running.
    pending: u32,
    /// The request does not arrive after this moment: its sender died, or the connection was lost.
    cut_ns: u64,
    /// The connection was lost meanwhile: no answer reaches the caller.
    is_lost: bool,
    /// The answer that the service has sent, until it arrives.
    answer: Option<Answer>,
    /// The answer that has arrived at the caller.
    outcome: Option<Answer>,
    waker: Option<Waker>,
    is_abandoned: bool,
}

/// A request that a node must execute with this handler.
pub(crate) struct Request {
    pub(crate) target: NodeId,
    pub(crate) service: ServiceId,
    pub(crate) request: Rc<[u8]>,
}

/// All calls, and the nodes' records of answered calls.
pub(crate) struct Calls {
    calls: BTreeMap<u64, Call>,
    posted: u64,
    sessions: u64,
    records: Vec<AnswerRecord>,
    /// Calls whose handler is running; the record has only answered calls.
    handled: BTreeSet<(NodeId, CallId)>,
}

impl Calls {
    pub(crate) fn new(node_count: u16) -> Self {
        Self {
            calls: BTreeMap::new(),
            posted: 0,
            sessions: 0,
            records: (0..node_count).map(|_| AnswerRecord::default()).collect(),
            handled: BTreeSet::new(),
        }
    }

    /// Draws a session that no other endpoint uses. A session has one call at a time, because the
    /// record takes a later call as the sign that the caller has given up on the earlier one.
    pub(crate) fn session(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// A node loses its record of the answers that it gave.
    fn forget(&mut self, node: NodeId) {
        self.records[usize::from(node.0)] = AnswerRecord::default();
    }

    /// Number of calls with a waiting caller.
    pub(crate) fn count(&self) -> usize {
        self.calls.values().filter(|call| !call.is_abandoned && call.outcome.is_none()).count()
    }

    /// Forgets a call when no caller waits for it and no message is under way.
    fn settle(&mut self, number: u64) {
        let call = &self.calls[&number];
        if call.pending == 0 && call.is_abandoned {
            self.calls.remove(&number);
        }
    }

    fn get(&mut self, number: u64) -> &mut Call {
        self.calls.get_mut(&number).expect("a call stays while messages about it are under way")
    }
}

impl Core {
    /// A restarted node has answered nothing yet.
    pub(crate) fn forget_answers(&mut self, node: NodeId) {
        self.calls.forget(node);
    }

    /// Sends a request, perhaps twice.
    pub(crate) fn post_call(
        &mut self,
        id: CallId,
        group: u32,
        target: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> u64 {
        self.calls.posted += 1;
        let number = self.calls.posted;
        let copies = 1 + u32::from(self.random.one_in(self.config.duplicate_call_one_in));
        if copies > 1 {
            self.injector.count(FaultKind::DuplicateCall);
        }
        self.note_zombie(group);
        let from = self.groups[group as usize].node;
        let bytes = request.len() as u64;
        let call = Call {
            id,
            from,
            group,
            target,
            service,
            request: request.into(),
            pending: 0,
            cut_ns: u64::MAX,
            is_lost: false,
            answer: None,
            outcome: None,
            waker: None,
            is_abandoned: false,
        };
        self.calls.calls.insert(number, call);
        if self.is_refused(group) {
            self.plan_giving_up(number);
            return number;
        }
        for _ in 0..copies {
            self.send_message(number, (from, target), bytes, Happening::Request { call: number });
        }
        number
    }

    /// Sends a message about a call. If no link lets it pass in time, or the target is dead, the
    /// caller gives up.
    fn send_message(
        &mut self,
        number: u64,
        (from, to): (NodeId, NodeId),
        bytes: u64,
        message: Happening,
    ) {
        let is_there = usize::from(to.0) < self.nodes.len();
        let Some(way) = is_there.then(|| self.way(from, to)).flatten() else {
            return self.plan_giving_up(number);
        };
        let call = self.calls.get(number);
        call.pending += 1;
        let posted = Post { pair: (call.group, call.target), before: 0, is_further: false };
        let transit =
            self.send((from, to), posted, way, &Load::Message(bytes), self.config.call_ns);
        self.queue.push(transit.served_ns, message);
    }

    /// A request arrives. Returns the work for the handler, unless the request is a repeat or the
    /// node is dead.
    pub(crate) fn request_arrives(&mut self, number: u64) -> Option<Request> {
        self.trace.event(self.now_ns, "arrived call", number);
        let call = self.calls.get(number);
        let (id, target, is_cut) = (call.id, call.target, self.now_ns > call.cut_ns);
        let is_dead = self.is_dead(self.nodes[usize::from(target.0)].services);
        if is_cut || is_dead {
            if is_dead {
                self.plan_giving_up(number);
            }
            self.message_ended(number);
            return None;
        }
        let mut arrival = self.calls.records[usize::from(target.0)].arrive(id);
        if self.config.broken.answered_once && matches!(arrival, Arrival::Repeat(_)) {
            arrival = Arrival::Handle;
        }
        match arrival {
            Arrival::Handle if self.calls.handled.insert((target, id)) => {
                let call = self.calls.get(number);
                let request = call.request.clone();
                return Some(Request { target, service: call.service, request });
            }
            Arrival::Repeat(answer) => self.send_answer(number, answer),
            Arrival::Handle | Arrival::Stale => {}
        }
        self.message_ended(number);
        None
    }

    /// A handler has ended: its answer is recorded and sent.
    pub(crate) fn handled(&mut self, number: u64, answer: Answer) {
        let call = self.calls.get(number);
        let (id, target) = (call.id, call.target);
        self.calls.handled.remove(&(target, id));
        let record = &mut self.calls.records[usize::from(target.0)];
        if record.arrive(id) == Arrival::Handle {
            record.record(id, answer.clone());
        }
        self.send_answer(number, answer);
        self.message_ended(number);
    }

    fn send_answer(&mut self, number: u64, answer: Answer) {
        let bytes = answer.as_ref().map_or(0, Vec::len) as u64;
        let call = self.calls.get(number);
        call.answer = Some(answer);
        let ends = (call.target, call.from);
        self.send_message(number, ends, bytes, Happening::Answer { call: number });
    }

    fn message_ended(&mut self, number: u64) {
        self.calls.get(number).pending -= 1;
        self.calls.settle(number);
    }

    /// An answer arrives, unless the connection was lost meanwhile; the first one counts.
    pub(crate) fn answer_arrives(&mut self, number: u64) {
        let call = self.calls.get(number);
        if call.is_lost {
            self.trace.event(self.now_ns, "lost answer", number);
            return self.message_ended(number);
        }
        self.trace.event(self.now_ns, "answered call", number);
        if call.outcome.is_none() {
            call.outcome = call.answer.clone();
        }
        if let Some(waker) = call.waker.take() {
            waker.wake();
        }
        self.message_ended(number);
    }

    /// The caller stops waiting for a dead node.
    pub(crate) fn give_up(&mut self, number: u64) {
        self.trace.event(self.now_ns, "unanswered call", number);
        let call = self.calls.get(number);
        let target = call.target;
        call.outcome.get_or_insert(Err(CallError::Unreachable(target)));
        if let Some(waker) = call.waker.take() {
            waker.wake();
        }
        self.message_ended(number);
    }

    fn plan_giving_up(&mut self, number: u64) {
        if let Some(after_ns) = self.config.unreachable_after_ns {
            self.calls.get(number).pending += 1;
            self.queue.push(self.now_ns + after_ns, Happening::Unanswered { call: number });
        }
    }

    /// The services of `target` died: their callers get no answer.
    pub(crate) fn fail_calls_to(&mut self, target: NodeId) {
        let handled = std::mem::take(&mut self.calls.handled);
        let (lost, kept) = handled.into_iter().partition(|(node, _)| *node == target);
        self.calls.handled = kept;
        let lost: BTreeSet<(NodeId, CallId)> = lost;
        let waiting: Vec<u64> = self
            .calls
            .calls
            .iter()
            .filter(|(_, call)| call.target == target)
            .map(|(number, _)| *number)
            .collect();
        for number in waiting {
            self.plan_giving_up(number);
            let call = self.calls.get(number);
            if lost.contains(&(target, call.id)) {
                self.message_ended(number);
            }
        }
    }

    /// Another server takes the place of `target`, which has died: no request that was sent to the
    /// dead one arrives there.
    pub(crate) fn cut_calls_to(&mut self, target: NodeId) {
        self.fail_calls_to(target);
        let now_ns = self.now_ns;
        for call in self.calls.calls.values_mut().filter(|call| call.target == target) {
            call.cut_ns = call.cut_ns.min(now_ns);
        }
    }

    /// A connection is lost: requests that are under way over it arrive before `cut_ns` or not at
    /// all, and their callers get no answer, whether the handlers run or not.
    pub(crate) fn lose_calls(&mut self, from: NodeId, to: NodeId, cut_ns: u64, by: FaultKind) {
        let goes_over =
            |call: &Call| call.from == from && call.target == to && call.outcome.is_none();
        let mut lost = Vec::new();
        for (&number, call) in self.calls.calls.iter_mut().filter(|(_, call)| goes_over(call)) {
            call.cut_ns = call.cut_ns.min(cut_ns);
            if !std::mem::replace(&mut call.is_lost, true) {
                lost.push(number);
            }
        }
        for number in lost {
            self.plan_giving_up(number);
            self.injector.count(by);
        }
    }

    /// The callers died: their requests may still arrive.
    pub(crate) fn cut_calls(&mut self, group: u32) {
        for call in self.calls.calls.values_mut().filter(|call| call.group == group) {
            if self.random.one_in(2) {
                call.cut_ns = call.cut_ns.min(self.now_ns);
            }
        }
    }

    /// Returns the answer once it has arrived; until then keeps `waker`.
    pub(crate) fn poll_call(&mut self, number: u64, waker: &Waker) -> Option<Answer> {
        let call = self.calls.get(number);
        if call.outcome.is_none() {
            call.waker = Some(waker.clone());
        }
        let outcome = call.outcome.clone();
        if outcome.is_some() {
            self.pay_for_message();
        }
        outcome
    }

    /// The caller does not wait for the answer any more.
    pub(crate) fn abandon_call(&mut self, number: u64) {
        let call = self.calls.get(number);
        call.is_abandoned = true;
        call.waker = None;
        self.calls.settle(number);
    }
}
