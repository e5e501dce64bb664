//! A whole database in one process: memory servers, their services, and the catalog.

use crate::catalog::CatalogError;
use crate::database::{Database, DatabaseConfig};
use fabric::{LocalEnv, LocalWorld, WorldConfig, run_now};
use index::tree::{NodeAllocator, TREE_SERVICE, TreeService};
use layout::{GlobalPtr, NodeId, RegionId, WORD_BYTES};
use memory::{CATALOG_SERVICE, CatalogService, EXTENT_SERVICE, ExtentService, Extents, Label};
use memory::{MOVER_SERVICE, MoverService};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a local database is opened with.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenConfig {
    /// Memory servers.
    pub servers: u16,
    /// Bytes that each may use. Address space is reserved, memory taken as it is touched.
    pub server_bytes: u64,
    /// Seed of back-off and everything else that is random.
    pub seed: u64,
    /// Lanes, oracle, times.
    pub database: DatabaseConfig,
}

impl Default for OpenConfig {
    fn default() -> Self {
        Self { servers: 1, server_bytes: 8 << 30, seed: 1, database: DatabaseConfig::default() }
    }
}

/// Why a local database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The host refused the memory.
    #[error("{bytes} bytes of address space for memory server {server} were refused: {error}")]
    Memory {
        /// Which server.
        server: u16,
        /// How much it wanted.
        bytes: u64,
        /// What the host said.
        error: std::io::Error,
    },
    /// A setting is out of range.
    #[error("{0}")]
    Setting(String),
    /// The database could not be made.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Smallest region: the oracle and a few extents.
pub const SERVER_BYTES_MIN: u64 = 16 << 20;

/// Starts memory servers in this process and makes an empty database on them.
pub fn open(config: &OpenConfig) -> Result<Database<LocalEnv>, OpenError> {
    if config.servers == 0 || config.servers > 64 {
        let sentence =
            format!("{} memory servers were asked for; 1 to 64 are possible", config.servers);
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
            format!("{} lanes were asked for; 1 to 64 are possible", config.database.lanes);
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
        start_server(&world, server, config.server_bytes);
    }
    let database = Database::create(world.endpoint(), servers, config.database.clone());
    Ok(run_now(database)?)
}

fn start_server(world: &Arc<LocalWorld>, node: NodeId, bytes: u64) {
    let extents = Arc::new(Extents::new(RegionId(node.0), bytes / WORD_BYTES * WORD_BYTES));
    world.register(node, EXTENT_SERVICE, Arc::new(ExtentService(extents.clone())));
    world.register(node, CATALOG_SERVICE, Arc::new(CatalogService::default()));
    world.register(node, MOVER_SERVICE, Arc::new(MoverService::new(extents.clone())));
    let inner = Arc::new(InnerNodes::new(extents));
    world.register(node, TREE_SERVICE, Arc::new(TreeService::new(inner)));
}

/// Gives the tree service of a memory server its inner nodes, out of extents of their tree's label.
pub struct InnerNodes {
    extents: Arc<Extents>,
    rests: Mutex<BTreeMap<Label, Rest>>,
}

/// What is left of a label's newest extent of inner nodes.
#[derive(Clone, Copy, Default)]
struct Rest {
    ptr: GlobalPtr,
    words: u64,
    /// Bytes of that extent; the next one is twice as large.
    extent_bytes: u64,
}

/// Bytes of a tree's first extent of inner nodes, and of its largest.
const NODE_EXTENT_BYTES: std::ops::RangeInclusive<u64> = 16 * 1024..=256 * 1024;

impl InnerNodes {
    /// An allocator over the server's extents.
    pub fn new(extents: Arc<Extents>) -> Self {
        Self { extents, rests: Mutex::default() }
    }
}

impl NodeAllocator for InnerNodes {
    fn allocate(&self, label: Label, words: u32) -> Result<GlobalPtr, String> {
        let mut rests = self.rests.lock().expect("no holder panics");
        let rest = rests.entry(label).or_default();
        if rest.words < u64::from(words) {
            let next_bytes =
                (rest.extent_bytes * 2).clamp(*NODE_EXTENT_BYTES.start(), *NODE_EXTENT_BYTES.end());
            let bytes = next_bytes.max(u64::from(words) * WORD_BYTES);
            let ptr = self.extents.allocate(bytes, label).map_err(|error| error.to_string())?;
            *rest = Rest { ptr, words: bytes / WORD_BYTES, extent_bytes: next_bytes };
        }
        let ptr = rest.ptr;
        rest.ptr = ptr.add_words(u64::from(words));
        rest.words -= u64::from(words);
        Ok(ptr)
    }

    fn forget(&self, label: Label) {
        self.rests.lock().expect("no holder panics").remove(&label);
    }
}

impl Database<LocalEnv> {
    /// A handle for another thread, with counters of its own.
    pub fn for_thread(&self) -> Self {
        self.with_env(self.env().world().endpoint())
    }
}
