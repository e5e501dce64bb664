//! Log events of a server.

use super::PROGRAM;
use super::missing_features::missing_features;
use crate::bench::text::bytes;
use fabric::Pages;
use fabric::shm::{FenceError, Fenced};
use membership::{Addresses, ClusterFile, ClusterMap, FabricKind};
use std::collections::BTreeMap;

/// The region exists. `pages` is given for a shared region, `device` is the RDMA device that
/// reaches it.
pub fn started(
    cluster: &ClusterFile,
    region_bytes: u64,
    pages: Option<Pages>,
    device: Option<String>,
) {
    tracing::info!(
        version = PROGRAM,
        fabric = cluster.fabric.name(),
        region = bytes(region_bytes),
        region_bytes,
        pages = pages.map(tracing::field::display),
        device,
        without = missing_features(pages, region_bytes),
        "started"
    );
}

/// The server accepts callers.
pub fn opened(cluster: &ClusterFile, addresses: &Addresses) {
    let fabric = cluster.fabric.name();
    let shared = addresses.shm.as_ref().map(|path| path.display().to_string());
    let address = addresses.tcp.as_ref().or(addresses.verbs.as_ref()).or(shared.as_ref());
    let address = address.map(String::as_str).unwrap_or_default();
    let control = addresses.control.as_deref().unwrap_or_default();
    let encrypted = cluster.fabric == FabricKind::Tcp && cluster.tls.is_some();
    tracing::info!(fabric, address, encrypted, control, "port opened");
}

/// The compute server accepts orders.
pub fn takes_work(cluster: &ClusterFile, addresses: &Addresses) {
    let address = addresses.work.as_deref().unwrap_or_default();
    let control = addresses.control.as_deref().unwrap_or_default();
    let fabric = cluster.fabric.name();
    let calls = addresses.tcp.as_deref().or(addresses.verbs.as_deref());
    tracing::info!(version = PROGRAM, fabric, address, calls, control, "started");
}

/// The server is a member.
pub fn joined(cluster: &ClusterFile, member: u64) {
    tracing::info!(
        identity = identity(member),
        process = std::process::id(),
        lease_seconds = cluster.lease_seconds,
        "joined"
    );
}

/// Updates the `known` members, and logs which ones joined or left. Returns the identities of those
/// that died.
pub fn moved(known: &mut BTreeMap<u64, String>, map: &ClusterMap) -> Vec<u64> {
    let members: BTreeMap<u64, String> =
        map.members.iter().map(|member| (member.identity, member.to_string())).collect();
    for (_, member) in members.iter().filter(|(identity, _)| !known.contains_key(identity)) {
        tracing::info!(epoch = map.epoch, %member, "epoch changed: a member has joined");
    }
    let mut dead = Vec::new();
    for (identity, member) in known.iter().filter(|(id, _)| !members.contains_key(id)) {
        if map.left.contains(identity) {
            tracing::info!(epoch = map.epoch, %member, "epoch changed: a member has left");
        } else {
            tracing::warn!(epoch = map.epoch, %member, "epoch changed: a member has died");
            dead.push(*identity);
        }
    }
    *known = members;
    dead
}

/// A former member's process was fenced.
pub fn fenced(caller: u64, outcome: &Result<Fenced, FenceError>) {
    let caller = identity(caller);
    match outcome {
        Ok(Fenced::Killed) => tracing::warn!(caller, "caller fenced: its process was killed"),
        Ok(Fenced::Absent) => tracing::debug!(caller, "caller fenced: its process was gone"),
        Err(error) => {
            tracing::error!(caller, %error, "cannot fence a process that left the cluster")
        }
    }
}

/// The text form of identities.
fn identity(identity: u64) -> String {
    format!("{identity:016x}")
}
