//! The services that a memory server runs over its own region, the same in every world, and over
//! the regions that it takes over: each has services of its own, which allocate from the region
//! itself. So whatever belongs together stays in one region, wherever that is.
//!
//! Decision: docs/decisions/0355-free-memory-follows-its-region.md

use crate::region_services::{OfRegion, RegionStates};
use fabric::{CallError, Env, Reply, Service, ServiceId};
use index::tree::{Allocation, NodeAllocator, TREE_SERVICE, TreeService};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};
pub use memory::FencedEpoch;
pub use memory::extent::listed_end;
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

/// The services of a memory server that has returned with empty memory: see
/// [`ServiceCounts::returned`].
pub fn returned_services<E: Env>(
    region: RegionId,
    bytes: u64,
) -> [(ServiceId, Arc<dyn Service<E>>); SERVICE_NAMES.len()] {
    services_over(&ServiceCounts::returned(region, bytes))
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
    let states = &state.states;
    let of_region = |make: fn(&RegionState) -> Arc<dyn Service<E>>| -> Arc<dyn Service<E>> {
        Arc::new(OfRegion::new(states.clone(), make))
    };
    [
        (EXTENT_SERVICE, of_region(|own| Arc::new(ExtentService(own.extents.clone())))),
        (CATALOG_SERVICE, state.catalog.clone()),
        (MOVER_SERVICE, of_region(|own| own.moving.clone())),
        (TREE_SERVICE, of_region(|own| Arc::new(TreeService::new(own.inner.clone())))),
        (
            FENCE_SERVICE,
            Arc::new(FenceService {
                node: states.region().server(),
                fenced: state.fenced.clone(),
                handlers: states.handlers().clone(),
            }),
        ),
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
    catalog: Arc<CatalogService>,
    states: Arc<RegionStates>,
}

/// The knowledge of the services about one region.
pub(crate) struct RegionState {
    pub extents: Arc<Extents>,
    moving: Arc<MoverService>,
    inner: Arc<InnerNodes>,
}

impl RegionState {
    pub fn new(extents: Extents, mover: &Arc<MoverCounts>) -> Self {
        let extents = Arc::new(extents);
        Self {
            moving: Arc::new(MoverService::new(extents.clone(), mover.clone())),
            inner: Arc::new(InnerNodes::new(extents.clone())),
            extents,
        }
    }
}

impl ServiceCounts {
    /// Those of a new region of `bytes` bytes.
    pub fn new(region: RegionId, bytes: u64) -> Self {
        Self::over((region, bytes), Some(Extents::new(region, bytes)), CatalogService::default())
    }

    /// Those of a server that knows nothing of its region until it takes it over like any other:
    /// another server has it, or its list of extents is all that is left.
    pub fn returned(region: RegionId, bytes: u64) -> Self {
        Self::over((region, bytes), None, CatalogService::default())
    }

    fn over(own: (RegionId, u64), extents: Option<Extents>, catalog: CatalogService) -> Self {
        let mover = Arc::<MoverCounts>::default();
        let state = extents.map(|extents| RegionState::new(extents, &mover));
        Self {
            calls: Default::default(),
            fenced: FencedEpoch::default(),
            catalog: Arc::new(catalog),
            states: Arc::new(RegionStates::new(own, state, mover.clone())),
            mover,
        }
    }

    /// The state of the services that is not in the region. They handle no request meanwhile.
    pub fn save(&self) -> Vec<u8> {
        let own = self.states.own();
        let writer = self.catalog.save(own.extents.save(Writer::new()));
        own.inner.save(own.moving.save(writer)).finish()
    }

    /// The definitions of the catalog, of all servers whose shards are here: where there are
    /// replicas, all else that the services know is in their regions. They handle no request
    /// meanwhile.
    pub fn save_catalog(&self) -> Vec<u8> {
        self.catalog.save(Writer::new()).finish()
    }

    /// Takes over the definitions that [`Self::save_catalog`] has described. They handle no request
    /// yet.
    ///
    /// # Errors
    /// The description contradicts itself.
    pub fn restore_catalog(&self, state: &[u8]) -> Result<(), CallError> {
        let reader = &mut Reader::new(state, "the catalog of a memory server");
        let catalog = CatalogService::restore(reader)?;
        match reader.is_empty() {
            true => self.catalog.become_like(catalog),
            false => return Err(CallError::Malformed("the catalog of a memory server")),
        }
        Ok(())
    }

    /// The services of a region of `bytes` bytes that [`Self::save`] has described.
    ///
    /// # Errors
    /// The description contradicts itself, or is of a larger region.
    pub fn restore(region: RegionId, bytes: u64, state: &[u8]) -> Result<Self, CallError> {
        let reader = &mut Reader::new(state, "the state of a memory server");
        let extents = Extents::restore(region, bytes, reader)?;
        let catalog = CatalogService::restore(reader)?;
        let restored = Self::over((region, bytes), Some(extents), catalog);
        let own = restored.states.own();
        own.moving.restore(reader)?;
        own.inner.restore(reader)?;
        match reader.is_empty() {
            true => Ok(restored),
            false => Err(CallError::Malformed("the state of a memory server")),
        }
    }

    /// The end of all memory of the region that was ever allocated. Everything behind it is zero.
    pub fn mark(&self) -> u64 {
        self.states.own().extents.mark()
    }

    /// Allocated bytes of the regions that the server has, by label.
    pub fn usage(&self) -> Vec<Usage> {
        let mut bytes = BTreeMap::<Label, u64>::new();
        for part in self.states.all().iter().flat_map(|state| state.extents.usage()) {
            *bytes.entry(part.label).or_default() += part.bytes;
        }
        bytes.into_iter().map(|(label, bytes)| Usage { label, bytes }).collect()
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
        let unused = self.unused();
        let add = |writer: Writer, (label, extent): (&Label, &UnusedExtent)| {
            let UnusedExtent { ptr, words, extent_bytes } = *extent;
            writer.words(&[label.0, ptr.word(), words, extent_bytes])
        };
        unused.iter().fold(writer.number(unused.len() as u64), add)
    }

    fn restore(&self, reader: &mut Reader<'_>) -> Result<(), CallError> {
        let mut unused = self.unused();
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

impl InnerNodes {
    fn unused(&self) -> std::sync::MutexGuard<'_, BTreeMap<Label, UnusedExtent>> {
        self.unused.lock().expect("no holder panics")
    }

    /// Allocates an extent for at least `words` words. A split leaf needs its separator even if
    /// memory is full: without it, readers must follow the leaves' links and may fail.
    async fn add_extent<E: Env>(
        &self,
        env: &E,
        label: Label,
        words: u64,
    ) -> Result<UnusedExtent, AllocateError> {
        let last_bytes = self.unused().get(&label).map_or(0, |extent| extent.extent_bytes);
        let least_bytes = (words * WORD_BYTES).next_multiple_of(region::HEADER_BYTES);
        let extent_bytes = (last_bytes * 2)
            .clamp(*NODE_EXTENT_BYTES.start(), *NODE_EXTENT_BYTES.end())
            .max(least_bytes);
        let attempts = [
            (extent_bytes, Need::Growth),
            (least_bytes, Need::Growth),
            (least_bytes, Need::Update),
        ];
        let mut full = None;
        for (bytes, need) in attempts {
            match self.extents.allocate_in(env, bytes, label, need).await {
                Ok(ptr) => {
                    return Ok(UnusedExtent { ptr, words: bytes / WORD_BYTES, extent_bytes });
                }
                Err(error @ AllocateError::Full { .. }) => full = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(full.expect("there was an attempt"))
    }

    async fn allocate_node<E: Env>(
        &self,
        env: &E,
        label: Label,
        words: u64,
    ) -> Result<GlobalPtr, AllocateError> {
        if let Some(node) = self.unused().entry(label).or_default().take(words) {
            return Ok(node);
        }
        let mut extent = self.add_extent(env, label, words).await?;
        let node = extent.take(words).expect("the extent is large enough");
        let mut unused = self.unused();
        let kept = unused.entry(label).or_default();
        // Another handler may have added an extent, too: the smaller rest is lost.
        if extent.words >= kept.words {
            *kept = extent;
        }
        Ok(node)
    }
}

impl UnusedExtent {
    fn take(&mut self, words: u64) -> Option<GlobalPtr> {
        self.words = self.words.checked_sub(words)?;
        let node = self.ptr;
        self.ptr = node.add_words(words);
        Some(node)
    }
}

impl<E: Env> NodeAllocator<E> for InnerNodes {
    fn allocate<'a>(&'a self, env: &'a E, label: Label, words: u32) -> Allocation<'a> {
        Box::pin(self.allocate_node(env, label, u64::from(words)))
    }

    fn forget(&self, label: Label) {
        self.unused().remove(&label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use layout::NodeId;
    use memory::catalog::{ABSENT, Change};
    use sim::{Fault, PlannedFault, SimConfig, When, World};

    #[test]
    fn inner_nodes_are_refused_where_memory_is_full() {
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 16]));
        let fault = Fault::MemoryFull { node: NodeId(0), lasts_ns: 1_000_000 };
        world.plan(&PlannedFault { when: When::At(0), fault });
        world.run_for(1);
        let inner = InnerNodes::new(Arc::new(Extents::new(RegionId(0), 8 << 16)));
        let server = world.service_endpoint(NodeId(0));
        let allocate = || run_now(inner.allocate(&server, Label(1), 32));
        let refused = allocate().expect_err("there is none left");
        assert!(refused.to_string().starts_with("memory servers are full"), "{refused}");
        world.stop_faults();
        allocate().expect("there is room again");
    }

    #[test]
    fn a_handler_gets_all_free_memory_of_a_region_that_was_taken_over() {
        let words = 1 << 20;
        let world = World::new(SimConfig::new(1).with_servers(&[words; 2]).with_replicas(2));
        world.serve(services);
        let (region, bytes) = (RegionId(1), words * WORD_BYTES);
        world.inject(&Fault::Crash { node: NodeId(1) });
        assert_eq!(world.close_regions_of(NodeId(1)), [region]);
        assert!(world.promote(region));
        let server = world.service_endpoint(NodeId(0));
        let own = Some(RegionState::new(Extents::new(RegionId(0), bytes), &Arc::default()));
        let states = RegionStates::new((RegionId(0), bytes), own, Arc::default());
        let nodes = world.block_on(&server, async {
            let state = states.of(&server, region).await.expect("it is there");
            state.extents.keep_list();
            let mut nodes = 0;
            while state.inner.allocate(&server, Label(1), 64).await.is_ok() {
                nodes += 1;
            }
            nodes
        });
        // The tree of a region that is nearly full may need a large part of what is left.
        assert!(nodes * 64 * WORD_BYTES > bytes * 8 / 10, "{nodes} nodes");
        let known = world.block_on(&server, Extents::take_over(&server, region));
        let known = known.map(|extents| extents.usage()).expect("the list is whole");
        assert!(matches!(known[..], [Usage { label: Label(1), bytes: used }] if used > bytes / 2));
    }

    #[test]
    fn a_catalog_that_was_saved_is_there_again_in_empty_memory() {
        let (region, bytes) = (RegionId(0), 8 << 20);
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 20]));
        let before = Arc::new(ServiceCounts::new(region, bytes));
        for (id, service) in counted_services(&before) {
            world.register(NodeId(0), id, service);
        }
        let client = world.endpoint(world.compute_node(0));
        for name in ["t", "index"] {
            let put = memory::catalog::put(&client, NodeId(0), name, ABSENT, b"defined");
            let put = world.block_on(&client, put).expect("the server answers");
            assert_eq!(put, Change::Done);
        }
        let state = before.save_catalog();
        let after = ServiceCounts::returned(region, bytes);
        let empty = after.save_catalog();
        for end in 0..state.len() {
            assert!(after.restore_catalog(&state[..end]).is_err(), "up to {end}");
            assert_eq!(after.save_catalog(), empty);
        }
        after.restore_catalog(&state).expect("it was saved");
        assert_eq!(after.save_catalog(), state);
    }

    #[test]
    fn services_know_again_what_they_have_saved() {
        let (region, bytes) = (RegionId(0), 32 << 20);
        let world = World::new(SimConfig::new(1).with_servers(&[bytes]));
        let server = world.service_endpoint(NodeId(0));
        let before = ServiceCounts::new(region, bytes);
        for label in [1, 1, 2, 3] {
            before
                .states
                .own()
                .extents
                .allocate(1 << 20, Label(label), Need::Growth)
                .expect("there is room");
        }
        let allocate =
            |it: &ServiceCounts| run_now(it.states.own().inner.allocate(&server, Label(2), 32));
        let node = allocate(&before).expect("there is room");
        let state = before.save();
        let after = ServiceCounts::restore(region, bytes, &state).expect("it was saved");
        assert_eq!((after.save(), after.usage()), (state.clone(), before.usage()));
        assert_eq!(after.mark(), before.mark());
        assert_eq!(allocate(&after).map(GlobalPtr::offset), Ok(node.offset() + 32 * WORD_BYTES));
        for end in 0..state.len() {
            assert!(ServiceCounts::restore(region, bytes, &state[..end]).is_err(), "up to {end}");
        }
        assert!(ServiceCounts::restore(region, 1 << 20, &state).is_err(), "a smaller region");
    }
}
