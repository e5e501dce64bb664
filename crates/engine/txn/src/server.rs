//! The services that a memory server runs over its own region, the same in every world.

use fabric::{Env, Reply, Service, ServiceId};
use index::tree::{NodeAllocator, TREE_SERVICE, TreeService};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};
use memory::{AllocateError, CATALOG_SERVICE, CatalogService, EXTENT_SERVICE, ExtentService};
use memory::{Extents, Label, MOVER_SERVICE, MoverCounts, MoverService, Need, Usage};
use memory::{FENCE_SERVICE, FenceService, FencedEpoch};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The services of a memory server whose region has `bytes` bytes, each with its service number.
pub fn services<E: Env>(
    region: RegionId,
    bytes: u64,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    services_over(Arc::new(Extents::new(region, bytes)), Arc::default(), FencedEpoch::default())
}

/// Like [`services`], with counted calls and moved versions.
pub fn counted_services<E: Env>(
    counts: &Arc<ServiceCounts>,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    let services =
        services_over(counts.extents.clone(), counts.mover.clone(), counts.fenced.clone());
    let mut places = 0..services.len();
    services.map(|(id, service)| {
        let place = places.next().expect("there is one for each");
        let counted: Arc<dyn Service<E>> =
            Arc::new(Counted { service, counts: counts.clone(), place });
        (id, counted)
    })
}

fn services_over<E: Env>(
    extents: Arc<Extents>,
    mover: Arc<MoverCounts>,
    fenced: FencedEpoch,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    let inner = Arc::new(InnerNodes::new(extents.clone()));
    [
        (EXTENT_SERVICE, Arc::new(ExtentService(extents.clone()))),
        (CATALOG_SERVICE, Arc::new(CatalogService::default())),
        (MOVER_SERVICE, Arc::new(MoverService::new(extents, mover))),
        (TREE_SERVICE, Arc::new(TreeService::new(inner))),
        (FENCE_SERVICE, Arc::new(FenceService(fenced))),
    ]
}

/// Statistics of the services of a memory server. Any thread may read them.
pub struct ServiceCounts {
    /// Handled calls, in the order of [`SERVICE_NAMES`]; a repeated call counts once.
    pub calls: [AtomicU64; SERVICE_NAMES.len()],
    /// Statistics of the mover.
    pub mover: Arc<MoverCounts>,
    /// The epoch up to which the server has fenced dead members.
    pub fenced: FencedEpoch,
    extents: Arc<Extents>,
}

impl ServiceCounts {
    /// Statistics of a new region of `bytes` bytes.
    pub fn new(region: RegionId, bytes: u64) -> Self {
        let extents = Arc::new(Extents::new(region, bytes));
        let fenced = FencedEpoch::default();
        Self { calls: Default::default(), mover: Arc::default(), fenced, extents }
    }

    /// Allocated bytes of the region, by label.
    pub fn usage(&self) -> Vec<Usage> {
        self.extents.usage()
    }
}

/// Names of the services in reports.
pub const SERVICE_NAMES: [&str; 5] = ["extents", "catalog", "mover", "tree", "fence"];

/// A service that counts its calls.
struct Counted<E> {
    service: Arc<dyn Service<E>>,
    counts: Arc<ServiceCounts>,
    place: usize,
}

impl<E: Env> Service<E> for Counted<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        self.counts.calls[self.place].fetch_add(1, Relaxed);
        self.service.handle(env, request)
    }
}

/// Allocates inner nodes for the tree service of a memory server, from extents with their tree's
/// label.
struct InnerNodes {
    extents: Arc<Extents>,
    unused: Mutex<BTreeMap<Label, UnusedExtent>>,
}

/// The unused rest of a label's newest extent of inner nodes.
#[derive(Clone, Copy, Default)]
struct UnusedExtent {
    ptr: GlobalPtr,
    words: u64,
    /// Bytes of that extent; the next one is twice as large.
    extent_bytes: u64,
}

/// Bytes of a tree's first extent of inner nodes, and of its largest.
const NODE_EXTENT_BYTES: std::ops::RangeInclusive<u64> = 16 * 1024..=256 * 1024;

impl InnerNodes {
    fn new(extents: Arc<Extents>) -> Self {
        Self { extents, unused: Mutex::default() }
    }
}

impl<E: Env> NodeAllocator<E> for InnerNodes {
    fn allocate(&self, env: &E, label: Label, words: u32) -> Result<GlobalPtr, AllocateError> {
        let mut unused = self.unused.lock().expect("no holder panics");
        let extent = unused.entry(label).or_default();
        if extent.words < u64::from(words) {
            let next_bytes = (extent.extent_bytes * 2)
                .clamp(*NODE_EXTENT_BYTES.start(), *NODE_EXTENT_BYTES.end());
            let least_bytes =
                (u64::from(words) * WORD_BYTES).next_multiple_of(region::HEADER_BYTES);
            let next_bytes = next_bytes.max(least_bytes);
            let take = |bytes, need| {
                let taken = self.extents.allocate_in(env, bytes, label, need);
                taken.map(|ptr| (ptr, bytes))
            };
            // A split leaf needs its separator even if memory is full: without it, readers must
            // follow the leaves' links and may fail.
            let (ptr, bytes) = take(next_bytes, Need::Growth)
                .or_else(|_| take(least_bytes, Need::Growth))
                .or_else(|_| take(least_bytes, Need::Update))?;
            *extent = UnusedExtent { ptr, words: bytes / WORD_BYTES, extent_bytes: next_bytes };
        }
        let ptr = extent.ptr;
        extent.ptr = ptr.add_words(u64::from(words));
        extent.words -= u64::from(words);
        Ok(ptr)
    }

    fn forget(&self, label: Label) {
        self.unused.lock().expect("no holder panics").remove(&label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::NodeId;
    use sim::{Fault, PlannedFault, SimConfig, When, World};

    #[test]
    fn inner_nodes_are_refused_where_memory_is_full() {
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 16]));
        let fault = Fault::MemoryFull { node: NodeId(0), lasts_ns: 1_000_000 };
        world.plan(&PlannedFault { when: When::At(0), fault });
        world.run_for(1);
        let inner = InnerNodes::new(Arc::new(Extents::new(RegionId(0), 8 << 16)));
        let server = world.service_endpoint(NodeId(0));
        let refused = inner.allocate(&server, Label(1), 32).expect_err("there is none left");
        assert!(refused.to_string().starts_with("memory servers are full"), "{refused}");
        world.stop_faults();
        inner.allocate(&server, Label(1), 32).expect("there is room again");
    }
}
