//! What a memory server runs: services over its own region, the same in every world.

use fabric::{Env, Service, ServiceId};
use index::tree::{NodeAllocator, TREE_SERVICE, TreeService};
use layout::{GlobalPtr, RegionId, WORD_BYTES};
use memory::{CATALOG_SERVICE, CatalogService, EXTENT_SERVICE, ExtentService, Extents, Label};
use memory::{MOVER_SERVICE, MoverService};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The services of a memory server whose region has `bytes` bytes, each with the number that it is called by.
pub fn services<E: Env>(region: RegionId, bytes: u64) -> [(ServiceId, Arc<dyn Service<E>>); 4] {
    let extents = Arc::new(Extents::new(region, bytes));
    let inner = Arc::new(InnerNodes::new(extents.clone()));
    [
        (EXTENT_SERVICE, Arc::new(ExtentService(extents.clone()))),
        (CATALOG_SERVICE, Arc::new(CatalogService::default())),
        (MOVER_SERVICE, Arc::new(MoverService::new(extents))),
        (TREE_SERVICE, Arc::new(TreeService::new(inner))),
    ]
}

/// Gives the tree service of a memory server its inner nodes, out of extents of their tree's label.
struct InnerNodes {
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
    fn new(extents: Arc<Extents>) -> Self {
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
