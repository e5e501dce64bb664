//! The events of a server's life.

use super::PROGRAM;
use super::lacks::lacks;
use crate::bench::text::bytes;
use fabric::Pages;
use fabric::shm::{FenceError, Fenced};
use membership::{Addresses, ClusterFile, ClusterMap, FabricKind};
use std::collections::BTreeMap;

/// The region is there. `pages` are those of a region that is shared, `device` is the RDMA device it is reached by.
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
        without = lacks(pages, region_bytes),
        "started"
    );
}

/// Callers may come.
pub fn opened(cluster: &ClusterFile, addresses: &Addresses) {
    let fabric = cluster.fabric.name();
    let shared = addresses.shm.as_ref().map(|path| path.display().to_string());
    let address = addresses.tcp.as_ref().or(addresses.verbs.as_ref()).or(shared.as_ref());
    let address = address.map(String::as_str).unwrap_or_default();
    let control = addresses.control.as_deref().unwrap_or_default();
    let encrypted = cluster.fabric == FabricKind::Tcp && cluster.tls.is_some();
    tracing::info!(fabric, address, encrypted, control, "port opened");
}

/// A compute server may be given work.
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

/// Notes who is `known` to be a member now, and tells who came and who went; the identities of those who did not say
/// good-bye.
pub fn moved(known: &mut BTreeMap<u64, String>, map: &ClusterMap) -> Vec<u64> {
    let members: BTreeMap<u64, String> =
        map.members.iter().map(|member| (member.identity, member.to_string())).collect();
    for (_, member) in members.iter().filter(|(identity, _)| !known.contains_key(identity)) {
        tracing::info!(epoch = map.epoch, %member, "epoch moved: a member is there");
    }
    let mut dead = Vec::new();
    for (identity, member) in known.iter().filter(|(id, _)| !members.contains_key(id)) {
        if map.left.contains(identity) {
            tracing::info!(epoch = map.epoch, %member, "epoch moved: a member has left");
        } else {
            tracing::warn!(epoch = map.epoch, %member, "epoch moved: a member is gone without a word");
            dead.push(*identity);
        }
    }
    *known = members;
    dead
}

/// A process that was a member was to be killed.
pub fn fenced(caller: u64, outcome: &Result<Fenced, FenceError>) {
    let caller = identity(caller);
    match outcome {
        Ok(Fenced::Killed) => tracing::warn!(caller, "caller fenced: its process was killed"),
        Ok(Fenced::Absent) => tracing::debug!(caller, "caller fenced: its process was gone"),
        Err(error) => tracing::error!(caller, %error, "a process that left the cluster lives on"),
    }
}

/// How identities are written everywhere.
fn identity(identity: u64) -> String {
    format!("{identity:016x}")
}
