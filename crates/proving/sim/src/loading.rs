//! Loading: the code that will run in a world fills it first, without hardware and without time.
//!
//! While [`World::load`] runs, a batch takes effect when it is posted, and the caller's task
//! executes the handler of a call. Nothing waits, so there are no events, and the cost of a row is
//! the transaction that inserts it.
//!
//! Decision: docs/decisions/0114-a-simulated-world-is-loaded-by-its-own-code-without-hardware.md

use crate::effect::take_effect;
use crate::env::{AsEndpoint, Endpoint};
use crate::state::Core;
use crate::world::{Shared, World};
use fabric::service::Answer;
use fabric::{Batch, CallError, FabricError, ServiceId, Verb};
use layout::NodeId;
use std::future::Future;
use std::rc::Rc;

impl World {
    /// As [`World::block_on`], with verbs and calls that take effect at once: those of `future` and
    /// of all tasks that run meanwhile. Sleeping still takes virtual time; fences, faults and weak
    /// memory have no effect.
    ///
    /// # Panics
    /// As [`World::block_on`], and when batches are under way.
    pub fn load<T>(&self, env: &impl AsEndpoint, future: impl Future<Output = T>) -> T {
        self.core(Core::begin_loading);
        let value = self.block_on(env, future);
        self.core(|core| core.is_loading = false);
        value
    }
}

impl Core {
    fn begin_loading(&mut self) {
        let under_way = self.flights.count();
        assert!(under_way == 0, "a world is loaded at rest, but {under_way} batches are under way");
        self.memory.settle();
        self.is_loading = true;
    }

    /// A batch takes effect now.
    pub(crate) fn load_batch(&mut self, mut batch: Batch) -> Result<Batch, FabricError> {
        for index in 0..batch.verbs().len() {
            let verb = batch.verbs()[index];
            if verb == Verb::Fence {
                continue;
            }
            let (at, words) = (verb.target(), verb.target_words());
            if !self.memory.contains(at, words) {
                return Err(FabricError::OutOfRange { at, words });
            }
            take_effect(&mut self.memory, &mut batch, &verb, self.coherent);
            self.verbs += 1;
        }
        Ok(batch)
    }
}

impl Shared {
    /// Executes a call's handler in the caller's task.
    pub(crate) async fn load_call(
        self: &Rc<Self>,
        node: NodeId,
        service: ServiceId,
        request: &[u8],
    ) -> Answer {
        let handler = self.service(node, service);
        let handler = handler.ok_or(CallError::NoSuchService(node, service))?;
        let group = self.core.borrow().nodes[usize::from(node.0)].services;
        handler.handle(&Endpoint::new(self.clone(), node, group), request).await
    }
}
