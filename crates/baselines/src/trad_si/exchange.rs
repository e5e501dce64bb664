//! How managers reach owners and timestamps: by messages, all of one step at once, or directly where both are on one
//! server.

use super::cluster::{OWNER, Server, TIMESTAMPS};
use super::owner::carry_out;
use super::request::{OwnerRequest, TimestampRequest};
use crate::Work;
use crate::message::Reader;
use fabric::{CallError, Env};
use futures_util::future::join_all;

/// A manager's ways to all servers.
pub(super) struct Exchange<'a, E> {
    pub(super) server: &'a Server,
    pub(super) env: &'a E,
    pub(super) work: Work<E>,
}

impl<E: Env> Exchange<'_, E> {
    /// Sends each server its request; the answers come in the same order.
    pub(super) async fn ask_owners(
        &self,
        requests: Vec<(usize, OwnerRequest)>,
    ) -> Result<Vec<Vec<u8>>, CallError> {
        let answers = requests.into_iter().map(|(owner, request)| self.ask_owner(owner, request));
        join_all(answers).await.into_iter().collect()
    }

    /// Sends one server a request.
    pub(super) async fn ask_owner(
        &self,
        owner: usize,
        request: OwnerRequest,
    ) -> Result<Vec<u8>, CallError> {
        if owner != self.server.index() {
            let node = self.server.cluster().servers[owner];
            return self.env.call(node, OWNER, request.encode()).await;
        }
        let (answer, rows) = carry_out(&mut self.server.partition(), request);
        (self.work)(self.env, rows);
        Ok(answer)
    }

    /// Asks whoever keeps the timestamps.
    pub(super) async fn ask_timestamps(&self, request: TimestampRequest) -> Result<u64, CallError> {
        if let Some(timestamps) = self.server.timestamps() {
            return Ok(timestamps.lock().expect("no holder panics").carry_out(request));
        }
        let node = self.server.cluster().timestamps;
        let answer = self.env.call(node, TIMESTAMPS, request.encode()).await?;
        Ok(Reader::new(&answer).u64()?)
    }
}
