//! The service of memory servers that the suite calls.

use crate::party::word;
use fabric::{Batch, CallError, Env, Reply, Service, ServiceId};
use layout::NodeId;
use std::sync::Arc;

/// Its number, outside the range of a database's services.
pub const ECHO: ServiceId = ServiceId(0x7e57);
/// A request that begins with this byte is refused.
pub const REFUSE: u8 = 0xff;
/// The message of a refusal.
pub const REFUSAL: &str = "refused on request, with a sentence that has to arrive whole";
/// The word of the server's region that counts handled calls.
pub const HANDLED: u64 = 7000;
/// Counts the call in a word of its own region and answers with the request, repeated as often as
/// the request's second byte says.
pub struct Echo {
    node: NodeId,
}

impl Echo {
    /// The service of memory server `node`.
    pub fn of(node: NodeId) -> Arc<Self> {
        Arc::new(Self { node })
    }
}

impl<E: Env> Service<E> for Echo {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut batch = Batch::new();
            batch.fetch_and_add(word(self.node.0, HANDLED), 1);
            env.execute(batch).await.map_err(|_| CallError::Unreachable(self.node))?;
            if request.first() == Some(&REFUSE) {
                return Err(CallError::Refused(REFUSAL.to_owned()));
            }
            Ok(request.repeat(usize::from(*request.get(1).unwrap_or(&1))))
        })
    }
}
