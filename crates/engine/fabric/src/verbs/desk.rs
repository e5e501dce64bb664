//! Executes the calls of a server: each is a task of an engine, and is answered when its handler
//! has ended.
//!
//! Handlers wait for their own verbs, so calls run concurrently and end in any order.
//!
//! Decision: docs/decisions/0270-calls-over-rdma-use-queue-pairs-and-one-port-serves-both.md

use super::running::Running;
use crate::env::Env;
use crate::error::CallError;
use crate::service::{Answer, AnswerRecord, Arrival, CallId, ServiceId, Services};
use layout::NodeId;
use std::cell::RefCell;
use std::rc::Rc;

/// Receives calls, and runs their handlers as tasks of `E`.
pub(super) struct Desk<E: Env> {
    node: NodeId,
    env: E,
    services: Services<E>,
    record: AnswerRecord,
    running: Running,
    ended: Rc<RefCell<Vec<(CallId, Answer)>>>,
}

impl<E: Env> Desk<E> {
    pub(super) fn new(node: NodeId, env: E, services: Services<E>) -> Self {
        let (record, running) = (AnswerRecord::default(), Running::default());
        Self { node, env, services, record, running, ended: Rc::default() }
    }

    /// Receives a call over connection `serial`. Returns the answer if it is recorded; otherwise
    /// starts the handler, unless it is already running or the call is stale.
    pub(super) fn begin(
        &mut self,
        serial: u32,
        id: CallId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Option<Answer> {
        match self.record.arrive(id) {
            Arrival::Repeat(answer) => return Some(answer),
            Arrival::Stale => return None,
            Arrival::Handle if !self.running.begin(id, serial) => return None,
            Arrival::Handle => {}
        }
        let (node, env, ended) = (self.node, self.env.clone(), self.ended.clone());
        let handler = self.services.get(&service).cloned();
        self.env.spawn(async move {
            let answer = match &handler {
                Some(handler) => handler.handle(&env, &request).await,
                None => Err(CallError::NoSuchService(node, service)),
            };
            ended.borrow_mut().push((id, answer));
        });
        None
    }

    /// Takes ended calls, each with the connection for its answer. [`Desk::record`] keeps their
    /// answers.
    pub(super) fn take_ended(&mut self) -> Vec<(u32, CallId, Answer)> {
        let ended = std::mem::take(&mut *self.ended.borrow_mut());
        ended.into_iter().map(|(id, answer)| (self.running.end(id), id, answer)).collect()
    }

    /// Records an answer, for a repeat of its call.
    pub(super) fn record(&mut self, id: CallId, answer: Answer) {
        self.record.record(id, answer);
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::Patience;
    use crate::remote::{Caller, Engine, RemoteEnv};
    use crate::service::{Reply, Service};
    use crate::tcp::{TcpConfig, TcpTransport};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    const HOLD: ServiceId = ServiceId(4);
    const NODE: NodeId = NodeId::of_compute_server(2);

    type World = RemoteEnv<TcpTransport>;

    /// Waits for as many turns as the request says, and returns how often it has run.
    #[derive(Default)]
    struct Hold(AtomicU64);

    impl Service<World> for Hold {
        fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
            Box::pin(async move {
                for _ in 0..request[0] {
                    env.yield_now().await;
                }
                Ok(vec![self.0.fetch_add(1, Relaxed) as u8])
            })
        }
    }

    /// An engine without servers, and the desk of a node whose handlers it runs.
    fn desk() -> (Engine<TcpTransport>, Desk<World>) {
        let caller = Caller {
            servers: Vec::new(),
            cluster: 1,
            secret: crate::secret::Secret::new([7; 32]),
            epoch: Arc::new(1.into()),
            identity: 1,
            endpoint: 0,
            program: "test".to_owned(),
        };
        let transport = TcpTransport::connect(TcpConfig::new(caller)).expect("nobody is missing");
        let engine = Engine::new(transport, Patience::default()).expect("a descriptor");
        let hold: Arc<dyn Service<World>> = Arc::<Hold>::default();
        let desk = Desk::new(NODE, engine.endpoint(), Services::from([(HOLD, hold)]));
        (engine, desk)
    }

    /// The calls that end next, after at most the longest request's number of turns.
    fn next(engine: &Engine<TcpTransport>, desk: &mut Desk<World>) -> Vec<(u32, CallId, Answer)> {
        for _ in 0..256 {
            engine.block_on(engine.endpoint().yield_now());
            let ended = desk.take_ended();
            if !ended.is_empty() {
                return ended;
            }
        }
        panic!("no handler ends");
    }

    #[test]
    fn a_call_that_comes_twice_is_handled_once_and_answered_where_it_came_last() {
        let (engine, mut desk) = desk();
        let id = CallId { session: 5, sequence: 2 };
        assert_eq!(desk.begin(1, id, HOLD, vec![3]), None);
        assert_eq!(desk.begin(2, id, HOLD, vec![3]), None);
        let ended = next(&engine, &mut desk);
        assert_eq!(ended, [(2, id, Ok(vec![0]))]);
        desk.record(id, Ok(vec![0]));
        assert_eq!(desk.begin(3, id, HOLD, vec![3]), Some(Ok(vec![0])));
        let earlier = CallId { sequence: 1, ..id };
        assert_eq!(desk.begin(3, earlier, HOLD, vec![3]), None);
        assert_eq!(engine.task_count(), 0, "it would be carried out though nobody waits for it");
        let later = CallId { sequence: 3, ..id };
        assert_eq!(desk.begin(3, later, HOLD, vec![0]), None);
        assert_eq!(next(&engine, &mut desk), [(3, later, Ok(vec![1]))]);
    }

    #[test]
    fn a_short_call_does_not_wait_for_a_long_one() {
        let (engine, mut desk) = desk();
        let [long, short] = [1, 2].map(|session| CallId { session, sequence: 1 });
        assert_eq!(desk.begin(1, long, HOLD, vec![50]), None);
        assert_eq!(desk.begin(1, short, HOLD, vec![0]), None);
        assert_eq!(desk.running().count_of(1), 2);
        assert_eq!(next(&engine, &mut desk), [(1, short, Ok(vec![0]))]);
        assert_eq!(desk.running().count_of(1), 1);
        assert_eq!(next(&engine, &mut desk), [(1, long, Ok(vec![1]))]);
    }

    #[test]
    fn a_service_that_is_not_offered_is_named() {
        let (engine, mut desk) = desk();
        let id = CallId { session: 5, sequence: 1 };
        assert_eq!(desk.begin(1, id, ServiceId(9), Vec::new()), None);
        let missing = Err(CallError::NoSuchService(NODE, ServiceId(9)));
        assert_eq!(next(&engine, &mut desk), [(1, id, missing)]);
    }
}
