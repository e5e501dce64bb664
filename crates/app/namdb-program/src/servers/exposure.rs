//! Servers whose connections are not encrypted serve this host only, unless the cluster's file
//! allows more.
//!
//! Decision: docs/decisions/0306-every-connection-proves-the-clusters-secret.md

use membership::{ClusterFile, FabricKind};
use std::net::ToSocketAddrs;

/// An address that other hosts reach although its connections are not encrypted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{server} would listen at {address} (`{key}`), which other hosts reach, but {why}: listen at 127.0.0.1, {remedy}or, in \
     a network for the cluster alone, set `allow_unencrypted = true` in its file"
)]
pub struct Exposed {
    server: String,
    address: String,
    key: String,
    why: &'static str,
    remedy: &'static str,
}

/// Checks the addresses of memory server `number`.
pub fn check_memory_server(cluster: &ClusterFile, number: u16) -> Result<(), Exposed> {
    let Some(own) = cluster.memory.get(usize::from(number)) else { return Ok(()) };
    let server = format!("memory server {number}");
    let key = |name: &str| format!("memory.{number}.{name}");
    if cluster.fabric != FabricKind::Shm {
        check(cluster, &server, &own.listen, key("listen"))?;
    }
    check(cluster, &server, &own.control, key("control"))
}

/// Checks the addresses of compute server `number`.
pub fn check_compute_server(cluster: &ClusterFile, number: u16) -> Result<(), Exposed> {
    let Some(own) = cluster.compute.get(usize::from(number)) else { return Ok(()) };
    let server = format!("compute server {number}");
    let key = |name: &str| format!("compute.{number}.{name}");
    check(cluster, &server, &own.listen, key("listen"))?;
    if cluster.fabric != FabricKind::Shm {
        check(cluster, &server, &own.calls(), key("calls"))?;
    }
    check(cluster, &server, &own.control, key("control"))
}

/// Checks the addresses of all servers.
pub fn check_all(cluster: &ClusterFile) -> Result<(), Exposed> {
    let memory = 0..cluster.memory.len() as u16;
    memory.into_iter().try_for_each(|number| check_memory_server(cluster, number))?;
    (0..cluster.compute.len() as u16).try_for_each(|number| check_compute_server(cluster, number))
}

fn check(cluster: &ClusterFile, server: &str, address: &str, key: String) -> Result<(), Exposed> {
    let is_encrypted = cluster.fabric == FabricKind::Tcp && cluster.tls.is_some();
    if is_encrypted || cluster.allow_unencrypted || !is_beyond_this_host(address) {
        return Ok(());
    }
    let (why, remedy) = match cluster.fabric {
        FabricKind::Tcp => ("the cluster has no section `tls`", "add `[tls]`, "),
        FabricKind::Verbs => ("RDMA is not encrypted", ""),
        FabricKind::Shm => ("clusters in shared memory are not encrypted", ""),
    };
    let (server, address) = (server.to_owned(), address.to_owned());
    Err(Exposed { server, address, key, why, remedy })
}

/// Whether other hosts may reach the address. A name that cannot be resolved fails later, with a
/// sentence of its own.
fn is_beyond_this_host(address: &str) -> bool {
    let found = address.to_socket_addrs().into_iter().flatten();
    found.into_iter().any(|address| !address.ip().to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::cluster_file::TlsSettings;
    use std::path::PathBuf;

    fn cluster(fabric: FabricKind) -> ClusterFile {
        ClusterFile::development("dev", fabric, &[1 << 24], 1)
    }

    #[test]
    fn addresses_of_this_host_need_no_encryption() {
        for fabric in [FabricKind::Shm, FabricKind::Tcp, FabricKind::Verbs] {
            let mut cluster = cluster(fabric);
            for address in ["127.0.0.1:0", "127.8.9.1:7400", "[::1]:7400", "localhost:7400"] {
                cluster.memory[0].listen = address.to_owned();
                cluster.compute[0].control = address.to_owned();
                assert_eq!(check_all(&cluster), Ok(()), "{address}");
            }
        }
    }

    #[test]
    fn every_address_that_others_reach_is_refused_with_the_remedies() {
        type Change = fn(&mut ClusterFile, String);
        let keys: [(&str, Change); 5] = [
            ("memory.0.listen", |cluster, to| cluster.memory[0].listen = to),
            ("memory.0.control", |cluster, to| cluster.memory[0].control = to),
            ("compute.0.listen", |cluster, to| {
                cluster.compute[0].listen = to;
                cluster.compute[0].calls = Some("127.0.0.1:0".to_owned());
            }),
            ("compute.0.calls", |cluster, to| cluster.compute[0].calls = Some(to)),
            ("compute.0.control", |cluster, to| cluster.compute[0].control = to),
        ];
        for fabric in [FabricKind::Tcp, FabricKind::Verbs] {
            for (key, change) in keys {
                for address in ["192.0.2.1:7400", "0.0.0.0:7400", "[::]:7400", "[2001:db8::1]:7400"]
                {
                    let mut cluster = cluster(fabric);
                    change(&mut cluster, address.to_owned());
                    let refused = check_all(&cluster).expect_err("it is exposed").to_string();
                    let place = format!("listen at {address} (`{key}`)");
                    assert!(refused.contains(&place), "{refused}");
                    assert!(refused.contains("`allow_unencrypted = true`"), "{refused}");
                    assert_eq!(refused.contains("add `[tls]`"), fabric == FabricKind::Tcp);
                    cluster.allow_unencrypted = true;
                    assert_eq!(check_all(&cluster), Ok(()));
                }
            }
        }
        let mut shared = cluster(FabricKind::Shm);
        shared.compute[0].listen = "192.0.2.1:7400".to_owned();
        check_all(&shared).expect_err("work comes over the network");
    }

    #[test]
    fn an_encrypted_cluster_may_be_anywhere() {
        let mut cluster = cluster(FabricKind::Tcp);
        cluster.memory[0].listen = "192.0.2.1:7400".to_owned();
        let path = PathBuf::from("x");
        cluster.tls = Some(TlsSettings { ca: path.clone(), certificate: path.clone(), key: path });
        assert_eq!(check_all(&cluster), Ok(()));
    }
}
