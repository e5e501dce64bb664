//! Memory servers that are reached by messages.

use super::PROGRAM;
use super::keys::keys;
use super::place::Place;
use super::remote::{Connect, RemoteSite, server_addresses};
use anyhow::Result;
use fabric::tcp::{TcpConfig, TcpTransport, TlsKeys};
use fabric::{AnyTransport, Caller};

/// How the memory servers of a cluster are reached by messages.
struct ByMessages {
    config: TcpConfig,
    /// Where connections are encrypted.
    keys: Option<TlsKeys>,
}

/// Where threads of this process run transactions with `lanes` lanes each.
pub fn site(place: &Place, lanes: u32) -> Result<RemoteSite> {
    let config = TcpConfig::new(Caller {
        servers: server_addresses(&place.map, |addresses| addresses.tcp.as_ref())?,
        cluster: place.cluster.id.0,
        epoch: place.epoch.clone(),
        identity: place.identity(),
        endpoint: 0,
        program: PROGRAM.to_owned(),
    });
    let keys = keys(&place.cluster)?;
    Ok(RemoteSite::new(ByMessages { config, keys }, place, lanes))
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
