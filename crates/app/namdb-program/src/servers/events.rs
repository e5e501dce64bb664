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

/// The members of a cluster as a server knows them.
#[derive(Default)]
pub struct KnownMembers {
    members: BTreeMap<u64, String>,
    /// `None` before the first map.
    epoch: Option<u64>,
}

/// Members that are gone.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Gone {
    /// Identities of those that died.
    pub dead: Vec<u64>,
    /// Whether others may have joined and died between two looks at the members.
    pub has_unseen: bool,
}

impl KnownMembers {
    /// Takes over a map, and logs which members joined or left.
    pub fn update(&mut self, map: &ClusterMap) -> Gone {
        let members: BTreeMap<u64, String> =
            map.members.iter().map(|member| (member.identity, member.to_string())).collect();
        // Each joining and each departure starts an epoch; one epoch may end several leases.
        let mut explained = 0;
        for (_, member) in members.iter().filter(|(id, _)| !self.members.contains_key(id)) {
            tracing::info!(epoch = map.epoch, %member, "epoch changed: a member has joined");
            explained += 1;
        }
        let mut dead = Vec::new();
        for (identity, member) in self.members.iter().filter(|(id, _)| !members.contains_key(id)) {
            if map.left.contains(identity) {
                tracing::info!(epoch = map.epoch, %member, "epoch changed: a member has left");
                explained += 1;
            } else {
                tracing::warn!(epoch = map.epoch, %member, "epoch changed: a member has died");
                dead.push(*identity);
            }
        }
        let begun = self.epoch.map_or(0, |known| map.epoch.saturating_sub(known));
        (self.members, self.epoch) = (members, Some(map.epoch));
        Gone { dead, has_unseen: begun > explained }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use layout::NodeId;
    use membership::{ClusterId, Member};

    fn map(epoch: u64, members: &[&Member], left: &[u64]) -> ClusterMap {
        let members = members.iter().map(|&member| member.clone()).collect();
        let (left, (evicted, drained)) = (left.to_vec(), Default::default());
        ClusterMap { cluster: ClusterId(1), epoch, members, left, evicted, root: None, drained }
    }

    #[test]
    fn members_that_nobody_has_seen_are_noticed_by_their_epochs() {
        let member = |number| Member::memory_server(NodeId(number), 1 << 24, Addresses::default());
        let [first, second] = [member(0), member(1)];
        let mut known = KnownMembers::default();
        assert_eq!(known.update(&map(7, &[&first], &[])), Gone::default());
        assert_eq!(known.update(&map(8, &[&first, &second], &[])), Gone::default());
        assert_eq!(known.update(&map(9, &[&first], &[second.identity])), Gone::default());
        let gone = known.update(&map(11, &[&first], &[second.identity]));
        assert_eq!(gone, Gone { dead: Vec::new(), has_unseen: true });
        let gone = known.update(&map(12, &[], &[]));
        assert_eq!(gone.dead, [first.identity]);
    }
}
