//! The part of a cluster that is, or will be, on this host.

use crate::servers::replicas::total_bytes;
use membership::{ClusterFile, ClusterMap, FabricKind};
use std::net::{ToSocketAddrs, UdpSocket};

/// The servers of a cluster on this host and what they need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The cluster's fabric.
    pub fabric: FabricKind,
    /// Bytes of the memory servers on this host, replicas of other servers included.
    pub regions: Vec<u64>,
    /// Whether each of them runs already, in the same order; the others still need their memory.
    pub is_running: Vec<bool>,
    /// Number of memory servers of the cluster.
    pub memory_servers: u64,
    /// Threads of all compute servers in the cluster's file.
    pub threads: u64,
    /// Threads of the compute servers on this host.
    pub local_threads: u64,
    /// Whether other hosts have servers, too.
    pub spans_hosts: bool,
}

impl Site {
    /// Derives it from the cluster's file and, if known, the members.
    pub fn new(cluster: &ClusterFile, map: Option<&ClusterMap>) -> Self {
        let is_shm = cluster.fabric == FabricKind::Shm;
        let is_local: Vec<bool> =
            cluster.memory.iter().map(|server| is_shm || is_here(&server.listen)).collect();
        let local = (0_u16..).zip(&cluster.memory).zip(&is_local).filter(|(_, here)| **here);
        let local: Vec<_> = local.map(|(server, _)| server).collect();
        let runs = |number: u16| {
            map.is_some_and(|map| map.memory_servers().any(|member| member.number == number))
        };
        let threads = |servers: &mut dyn Iterator<
            Item = &membership::cluster_file::ComputeSettings,
        >| { servers.map(|server| u64::from(server.threads)).sum() };
        let mut here = cluster.compute.iter().filter(|server| is_shm || is_here(&server.control));
        Self {
            fabric: cluster.fabric,
            regions: local.iter().map(|(number, _)| total_bytes(cluster, *number)).collect(),
            is_running: local.iter().map(|(number, _)| runs(*number)).collect(),
            memory_servers: cluster.memory.len() as u64,
            threads: threads(&mut cluster.compute.iter()),
            local_threads: threads(&mut here),
            spans_hosts: !is_local.iter().all(|here| *here),
        }
    }

    /// Memory that servers of this host will need when they start.
    pub fn missing_bytes(&self) -> u64 {
        let both = self.regions.iter().zip(&self.is_running);
        both.filter(|(_, runs)| !**runs).map(|(bytes, _)| bytes).sum()
    }
}

/// Whether an address is of this host, so that a socket can be bound to it.
pub fn is_here(address: &str) -> bool {
    let Some((host, _)) = address.rsplit_once(':') else { return false };
    let resolved = format!("{host}:0").to_socket_addrs();
    resolved.is_ok_and(|mut addresses| addresses.any(|address| UdpSocket::bind(address).is_ok()))
}

#[cfg(test)]
impl Site {
    /// Two memory servers and a compute server on one host.
    pub fn example(fabric: FabricKind) -> Self {
        Self {
            fabric,
            regions: vec![1 << 30, 2 << 30],
            is_running: vec![true, false],
            memory_servers: 2,
            threads: 2,
            local_threads: 2,
            spans_hosts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_shm_cluster_and_the_local_part_of_a_tcp_cluster_are_here() {
        let mut cluster = ClusterFile::development("dev", FabricKind::Shm, &[1 << 30, 2 << 30], 1);
        cluster.memory[1].listen = "192.0.2.1:7400".to_owned();
        let site = Site::new(&cluster, None);
        assert_eq!((site.regions.len(), site.spans_hosts), (2, false));
        cluster.fabric = FabricKind::Tcp;
        let site = Site::new(&cluster, None);
        assert_eq!((&*site.regions, site.missing_bytes()), (&[1 << 30][..], 1 << 30));
        assert!(site.spans_hosts && site.memory_servers == 2 && site.local_threads == 1);
        assert_eq!(Site::example(FabricKind::Shm).missing_bytes(), 2 << 30);
        cluster.replicas = 2;
        assert_eq!(Site::new(&cluster, None).missing_bytes(), 3 << 30, "with those of the other");
    }

    #[test]
    fn addresses_of_documents_are_not_here() {
        assert!(is_here("127.0.0.1:7400"));
        assert!(!is_here("192.0.2.1:7400") && !is_here("no address"));
    }
}
