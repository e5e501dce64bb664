//! How managers access owners and timestamps: by messages, all of one step in parallel, or directly
//! if both are on one server.

use super::cluster::{OWNER, Server, Snapshots, TIMESTAMPS};
use super::owner::carry_out;
use super::request::{OwnerRequest, TimestampRequest};
use crate::Work;
use crate::message::Reader;
use fabric::{CallError, Env};
use futures_util::future::join_all;

/// A manager's access to all servers.
pub(super) struct Exchange<'a, E> {
    pub(super) server: &'a Server,
    pub(super) env: &'a E,
    pub(super) work: Work<E>,
}

impl<E: Env> Exchange<'_, E> {
    /// Sends each server its request; returns the answers in the same order.
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

    /// The read timestamp for a transaction that begins.
    pub(super) async fn read_timestamp(&self) -> Result<u64, CallError> {
        match self.server.cluster().snapshots {
            Snapshots::Asked => self.ask_timestamps(TimestampRequest::Read).await,
            Snapshots::Told => Ok(self.server.told()),
        }
    }

    /// Sends a request to the keeper of the timestamps.
    pub(super) async fn ask_timestamps(&self, request: TimestampRequest) -> Result<u64, CallError> {
        if let Some(keeper) = self.server.keeper() {
            return Ok(keeper.carry_out(self.env, request));
        }
        let node = self.server.cluster().timestamps;
        let answer = self.env.call(node, TIMESTAMPS, request.encode()).await?;
        Ok(Reader::new(&answer).u64()?)
    }
}
