//! The processes of a data server beside its memory: the mover, and the ordered indexes.

use super::design::Design;
use super::index::{INDEX, IndexService, OrderedIndex};
use super::mover::{MOVE, MoveService, Mover};
use crate::Work;
use fabric::{Env, Service, ServiceId};
use layout::RegionId;
use std::sync::Arc;

#[derive(Clone)]
pub struct MemoryServer {
    pub mover: Arc<Mover>,
    /// Its part of the ordered indexes.
    pub index: Arc<OrderedIndex>,
}

impl MemoryServer {
    /// The data server of `region`. Versions stay in the overflow region for at least `kept_ns`,
    /// the longest time of a transaction [ZB17 5.3].
    pub fn new(design: &Arc<Design>, region: RegionId, kept_ns: u64) -> Self {
        let mover = Arc::new(Mover::new(design.clone(), region, kept_ns));
        Self { mover, index: Arc::default() }
    }

    /// Its services; `work` is called with the number of versions and index entries that they
    /// touch.
    pub fn services<E: Env>(&self, work: Work<E>) -> [(ServiceId, Arc<dyn Service<E>>); 2] {
        let index = Arc::new(IndexService { index: self.index.clone(), work });
        let mover = Arc::new(MoveService { mover: self.mover.clone(), work });
        [(INDEX, index), (MOVE, mover)]
    }
}
