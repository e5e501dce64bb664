//! The services that a memory server runs over its own region, the same in every world.

use fabric::{CallError, Env, Reply, Service, ServiceId};
use index::tree::{NodeAllocator, TREE_SERVICE, TreeService};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};
pub use memory::FencedEpoch;
use memory::message::{Reader, Writer};
use memory::{AllocateError, CATALOG_SERVICE, CatalogService, EXTENT_SERVICE, ExtentService};
use memory::{Extents, Label, MOVER_SERVICE, MoverCounts, MoverService, Need, Usage};
use memory::{FENCE_SERVICE, FenceService};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The services of a memory server whose region has `bytes` bytes, each with its service number.
pub fn services<E: Env>(
    region: RegionId,
    bytes: u64,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    services_over(&ServiceCounts::new(region, bytes))
}

/// Like [`services`], with counted calls and moved versions.
pub fn counted_services<E: Env>(
    counts: &Arc<ServiceCounts>,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    let services = services_over(counts);
    let mut places = 0..services.len();
    services.map(|(id, service)| {
        let place = places.next().expect("there is one for each");
        let counted: Arc<dyn Service<E>> =
            Arc::new(Counted { service, counts: counts.clone(), place });
        (id, counted)
    })
}

fn services_over<E: Env>(
    state: &ServiceCounts,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    [
        (EXTENT_SERVICE, Arc::new(ExtentService(state.extents.clone()))),
        (CATALOG_SERVICE, state.catalog.clone()),
        (MOVER_SERVICE, state.moving.clone()),
        (TREE_SERVICE, Arc::new(TreeService::new(state.inner.clone()))),
        (FENCE_SERVICE, Arc::new(FenceService(state.fenced.clone()))),
    ]
}

/// The state and the statistics of the services of a memory server. Any thread may read them.
pub struct ServiceCounts {
    /// Handled calls, in the order of [`SERVICE_NAMES`]; a repeated call counts once.
    pub calls: [AtomicU64; SERVICE_NAMES.len()],
    /// Statistics of the mover.
    pub mover: Arc<MoverCounts>,
    /// The epoch up to which the server has fenced dead members.
    pub fenced: FencedEpoch,
    extents: Arc<Extents>,
    catalog: Arc<CatalogService>,
    moving: Arc<MoverService>,
    inner: Arc<InnerNodes>,
}

impl ServiceCounts {
    /// Those of a new region of `bytes` bytes.
    pub fn new(region: RegionId, bytes: u64) -> Self {
        Self::over(Extents::new(region, bytes), CatalogService::default())
    }

    fn over(extents: Extents, catalog: CatalogService) -> Self {
        let (extents, mover) = (Arc::new(extents), Arc::<MoverCounts>::default());
        Self {
            calls: Default::default(),
            fenced: FencedEpoch::default(),
            catalog: Arc::new(catalog),
            moving: Arc::new(MoverService::new(extents.clone(), mover.clone())),
            inner: Arc::new(InnerNodes::new(extents.clone())),
            mover,
            extents,
        }
    }

    /// The state of the services that is not in the region. They handle no request meanwhile.
    pub fn save(&self) -> Vec<u8> {
        let writer = self.catalog.save(self.extents.save(Writer::new()));
        self.inner.save(self.moving.save(writer)).finish()
    }

    /// The services of a region of `bytes` bytes that [`Self::save`] has described.
    ///
    /// # Errors
    /// The description contradicts itself, or is of a larger region.
    pub fn restore(region: RegionId, bytes: u64, state: &[u8]) -> Result<Self, CallError> {
        let reader = &mut Reader::new(state, "the state of a memory server");
        let extents = Extents::restore(region, bytes, reader)?;
        let restored = Self::over(extents, CatalogService::restore(reader)?);
        restored.moving.restore(reader)?;
        restored.inner.restore(reader)?;
        match reader.is_empty() {
            true => Ok(restored),
            false => Err(CallError::Malformed("the state of a memory server")),
        }
    }

    /// The end of all memory of the region that was ever allocated. Everything behind it is zero.
    pub fn mark(&self) -> u64 {
        self.extents.mark()
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

    fn save(&self, writer: Writer) -> Writer {
        let unused = self.unused.lock().expect("no holder panics");
        let add = |writer: Writer, (label, extent): (&Label, &UnusedExtent)| {
            let UnusedExtent { ptr, words, extent_bytes } = *extent;
            writer.words(&[label.0, ptr.word(), words, extent_bytes])
        };
        unused.iter().fold(writer.number(unused.len() as u64), add)
    }

    fn restore(&self, reader: &mut Reader<'_>) -> Result<(), CallError> {
        let mut unused = self.unused.lock().expect("no holder panics");
        for _ in 0..reader.number()? {
            let [label, ptr, words, extent_bytes] = reader.words()?[..] else {
                return Err(CallError::Malformed("an extent of inner nodes"));
            };
            let ptr = GlobalPtr::from_word(ptr);
            unused.insert(Label(label), UnusedExtent { ptr, words, extent_bytes });
        }
        Ok(())
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

    #[test]
    fn services_know_again_what_they_have_saved() {
        let (region, bytes) = (RegionId(0), 32 << 20);
        let world = World::new(SimConfig::new(1).with_servers(&[bytes]));
        let server = world.service_endpoint(NodeId(0));
        let before = ServiceCounts::new(region, bytes);
        for label in [1, 1, 2, 3] {
            before.extents.allocate(1 << 20, Label(label), Need::Growth).expect("there is room");
        }
        let node = before.inner.allocate(&server, Label(2), 32).expect("there is room");
        let state = before.save();
        let after = ServiceCounts::restore(region, bytes, &state).expect("it was saved");
        assert_eq!((after.save(), after.usage()), (state.clone(), before.usage()));
        assert_eq!(after.mark(), before.mark());
        let next = after.inner.allocate(&server, Label(2), 32);
        assert_eq!(next.map(GlobalPtr::offset), Ok(node.offset() + 32 * WORD_BYTES));
        for end in 0..state.len() {
            assert!(ServiceCounts::restore(region, bytes, &state[..end]).is_err(), "up to {end}");
        }
        assert!(ServiceCounts::restore(region, 1 << 20, &state).is_err(), "a smaller region");
    }
}
