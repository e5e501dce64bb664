//! How managers reach owners and timestamps: by messages, all of one step at once, or directly where both are on one
//! server.

use super::cluster::{OWNER, Server, TIMESTAMPS};
use super::owner::carry_out;
use super::request::{OwnerRequest, TimestampRequest};
use crate::message::Reader;
use fabric::{CallError, Env};
use futures_util::future::join_all;

/// Sends each server its request; the answers come in the same order.
pub(super) async fn ask_owners<E: Env>(
    server: &Server,
    env: &E,
    requests: Vec<(usize, OwnerRequest)>,
) -> Result<Vec<Vec<u8>>, CallError> {
    let answers =
        requests.into_iter().map(|(owner, request)| ask_owner(server, env, owner, request));
    join_all(answers).await.into_iter().collect()
}

/// Sends one server a request.
pub(super) async fn ask_owner<E: Env>(
    server: &Server,
    env: &E,
    owner: usize,
    request: OwnerRequest,
) -> Result<Vec<u8>, CallError> {
    if owner == server.index() {
        return Ok(carry_out(&mut server.partition(), request));
    }
    env.call(server.cluster().servers[owner], OWNER, request.encode()).await
}

/// Asks whoever keeps the timestamps.
pub(super) async fn ask_timestamps<E: Env>(
    server: &Server,
    env: &E,
    request: TimestampRequest,
) -> Result<u64, CallError> {
    if let Some(timestamps) = server.timestamps() {
        return Ok(timestamps.lock().expect("no holder panics").carry_out(request));
    }
    let answer = env.call(server.cluster().timestamps, TIMESTAMPS, request.encode()).await?;
    Ok(Reader::new(&answer).u64()?)
}
