//! Memory servers and compute servers reached by messages over TCP.

use super::PROGRAM;
use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::keys::keys;
use super::remote::{Connect, RemoteSite};
use anyhow::Result;
use fabric::tcp::{TcpConfig, TcpTransport, TlsKeys};
use fabric::{AnyTransport, Caller, Secret, ServerAddress};
use membership::{ClusterFile, FabricKind, server_addresses};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Connects to a cluster's servers by messages.
struct ByMessages {
    config: TcpConfig,
    /// Keys for encrypted connections; `None` if the cluster does not encrypt.
    keys: Option<TlsKeys>,
}

/// Access for threads that run transactions with `lanes` lanes each and call `peers`.
pub fn site(client: &ClusterClient, lanes: u32, peers: &Peers<'_>) -> Result<RemoteSite> {
    let servers = server_addresses(client.living_servers(), FabricKind::Tcp)?;
    let (secret, epoch) = (client.secret.clone(), client.epoch.clone());
    let mut config =
        TcpConfig::new(caller(&client.cluster, servers, secret, epoch, client.identity()));
    config.addresses = Some(client.regions.addresses().clone());
    config.peers = server_addresses(peers.members.iter().copied(), FabricKind::Tcp)?;
    config.needs_peers = peers.are_needed;
    let nodes = config.peers.iter().map(|peer| peer.node).collect();
    let keys = keys(&client.cluster)?;
    Ok(RemoteSite::new(ByMessages { config, keys }, client, lanes).with_peers(nodes))
}

/// A caller of memory servers.
pub fn caller(
    cluster: &ClusterFile,
    servers: Vec<ServerAddress>,
    secret: Secret,
    epoch: Arc<AtomicU64>,
    identity: u64,
) -> Caller {
    let (cluster, program) = (cluster.id.0, PROGRAM.to_owned());
    Caller { servers, cluster, secret, epoch, identity, endpoint: 0, program }
}

impl Connect for ByMessages {
    fn connect(&self, endpoint: u64) -> Result<AnyTransport> {
        let mut config = self.config.clone();
        config.caller.endpoint = endpoint;
        config.leave_out_dead();
        let transport = match self.keys.clone() {
            None => TcpTransport::connect(config)?,
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?,
        };
        Ok(transport.into())
    }
}
