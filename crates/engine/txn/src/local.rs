//! A whole database in one process: memory servers, their services, and the catalog.

use crate::catalog::CatalogError;
use crate::database::{Database, DatabaseConfig};
use crate::server::services;
use fabric::{LocalEnv, LocalWorld, WorldConfig, run_now};
use layout::{NodeId, RegionId, WORD_BYTES};

/// Configuration of a local database.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenConfig {
    /// Number of memory servers.
    pub servers: u16,
    /// Bytes of each memory server. The address space is reserved at once, the memory on first
    /// touch.
    pub server_bytes: u64,
    /// Seed of the back-off and of all other randomness.
    pub seed: u64,
    pub database: DatabaseConfig,
}

impl Default for OpenConfig {
    fn default() -> Self {
        Self { servers: 1, server_bytes: 8 << 30, seed: 1, database: DatabaseConfig::default() }
    }
}

/// Reasons why a local database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The host refused to reserve the memory.
    #[error("{bytes} bytes of address space for memory server {server} were refused: {error}")]
    Memory {
        server: u16,
        /// The requested size.
        bytes: u64,
        /// The host's error.
        error: std::io::Error,
    },
    /// A setting is out of range.
    #[error("{0}")]
    Setting(String),
    /// The database could not be created.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Smallest region: room for the oracle and a few extents.
pub const SERVER_BYTES_MIN: u64 = 16 << 20;

/// Starts memory servers in this process and creates an empty database on them.
pub fn open(config: &OpenConfig) -> Result<Database<LocalEnv>, OpenError> {
    if config.servers == 0 || config.servers > 64 {
        let sentence =
            format!("{} memory servers were requested; 1 to 64 are possible", config.servers);
        return Err(OpenError::Setting(sentence));
    }
    if config.server_bytes < SERVER_BYTES_MIN {
        let sentence = format!(
            "{} bytes per memory server are too few; give it at least {SERVER_BYTES_MIN}",
            config.server_bytes
        );
        return Err(OpenError::Setting(sentence));
    }
    if !(1..=64).contains(&config.database.lanes) {
        let sentence =
            format!("{} lanes were requested; 1 to 64 are possible", config.database.lanes);
        return Err(OpenError::Setting(sentence));
    }
    let server_bytes = vec![config.server_bytes; usize::from(config.servers)];
    let world = LocalWorld::new(&WorldConfig { server_bytes, seed: config.seed });
    let world = world.map_err(|error| OpenError::Memory {
        server: 0,
        bytes: config.server_bytes,
        error,
    })?;
    let servers: Vec<NodeId> = (0..config.servers).map(NodeId).collect();
    for &server in &servers {
        let bytes = config.server_bytes / WORD_BYTES * WORD_BYTES;
        for (id, service) in services(RegionId(server.0), bytes) {
            world.register(server, id, service);
        }
    }
    let database = Database::create(world.endpoint(), servers, config.database.clone());
    Ok(run_now(database)?)
}

impl Database<LocalEnv> {
    /// A handle for another thread, with counters of its own.
    pub fn for_thread(&self) -> Self {
        self.with_env(self.env().world().endpoint())
    }
}
