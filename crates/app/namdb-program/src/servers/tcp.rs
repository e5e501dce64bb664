//! Memory servers and compute servers reached by messages over TCP.

use super::PROGRAM;
use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::keys::keys;
use super::remote::{Connect, RemoteSite};
use anyhow::Result;
use fabric::tcp::{TcpConfig, TcpTransport, TlsKeys};
use fabric::{AnyTransport, Caller};
use membership::{FabricKind, server_addresses};

/// Connects to a cluster's servers by messages.
struct ByMessages {
    config: TcpConfig,
    /// Keys for encrypted connections; `None` if the cluster does not encrypt.
    keys: Option<TlsKeys>,
}

/// Access for threads that run transactions with `lanes` lanes each and call `peers`.
pub fn site(client: &ClusterClient, lanes: u32, peers: &Peers<'_>) -> Result<RemoteSite> {
    let mut config = TcpConfig::new(Caller {
        servers: server_addresses(client.map.memory_servers(), FabricKind::Tcp)?,
        cluster: client.cluster.id.0,
        secret: client.secret.clone(),
        epoch: client.epoch.clone(),
        identity: client.identity(),
        endpoint: 0,
        program: PROGRAM.to_owned(),
    });
    config.peers = server_addresses(peers.members.iter().copied(), FabricKind::Tcp)?;
    config.needs_peers = peers.are_needed;
    let nodes = config.peers.iter().map(|peer| peer.node).collect();
    let keys = keys(&client.cluster)?;
    Ok(RemoteSite::new(ByMessages { config, keys }, client, lanes).with_peers(nodes))
}

impl Connect for ByMessages {
    fn connect(&self, endpoint: u64) -> Result<AnyTransport> {
        let mut config = self.config.clone();
        config.caller.endpoint = endpoint;
        let transport = match self.keys.clone() {
            None => TcpTransport::connect(config)?,
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?,
        };
        Ok(transport.into())
    }
}
