//! Loading: a world is filled by the code that will run in it, without hardware and without time.
//!
//! While [`World::load`] runs, a batch takes effect when it is posted, and a call is handled where it is made:
//! there is nothing to wait for, so that there are no events, and what a row costs is the transaction that
//! inserts it.

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
    /// As [`World::block_on`], with verbs and calls that take effect at once: those of `future`, and those of all
    /// tasks that run meanwhile. Sleeping takes virtual time as ever; fences, faults and weak memory are nothing here.
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

    /// A batch takes effect, all of it now.
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
    /// Handles a call where it is made.
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
