//! Memory that an RDMA device may access.
//!
//! Decision: docs/decisions/0106-registered-memory-is-not-a-file.md

use super::abi;
use super::device::Device;
use crate::local::Pages;
use crate::raw::Memory;
use crate::verbs::VerbsError;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Registered memory: pinned pages, which devices address by keys.
pub struct Registered {
    region: NonNull<abi::MemoryRegion>,
    device: Arc<Device>,
    memory: Memory,
    pages: Pages,
}

// SAFETY: the memory is atomic words, and the registration itself is not changed before it is
// dropped.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    /// Registers `memory`, made of `pages`, for local requests and, if `is_remote`, for remote
    /// verbs, atomics included. Never with relaxed ordering, which would lose the order of a batch
    /// on its way to memory.
    pub(crate) fn new(
        device: &Arc<Device>,
        (memory, pages): (Memory, Pages),
        is_remote: bool,
    ) -> Result<Self, VerbsError> {
        let mut access = abi::ACCESS_LOCAL_WRITE;
        if is_remote {
            access |=
                abi::ACCESS_REMOTE_READ | abi::ACCESS_REMOTE_WRITE | abi::ACCESS_REMOTE_ATOMIC;
        }
        let bytes = memory.capacity_bytes() as usize;
        let base = memory.address() as *mut std::ffi::c_void;
        // SAFETY: the range is the mapping's, which outlives the registration, see `drop`; devices
        // may write there at any time because it is accessed as atomic words only (rule 2).
        let region =
            unsafe { (device.functions.reg_mr)(device.domain.as_ptr(), base, bytes, access) };
        let region = NonNull::new(region).ok_or_else(|| {
            VerbsError::registration(bytes as u64, std::io::Error::last_os_error())
        })?;
        Ok(Self { region, device: device.clone(), memory, pages })
    }

    /// Maps and registers `bytes` bytes, of huge pages if the host has enough free. All pages are
    /// allocated at once: a device cannot handle a page fault.
    pub fn map(
        name: &str,
        bytes: u64,
        device: &Arc<Device>,
        is_remote: bool,
    ) -> Result<Self, VerbsError> {
        let mapped = crate::local::create_private(name, bytes);
        let mapped = mapped.map_err(|error| VerbsError::registration(bytes, error))?;
        Self::new(device, mapped, is_remote)
    }

    /// `count` words from byte `offset` on, or `None` if they leave the memory.
    #[inline]
    pub fn words(&self, offset: u64, count: u64) -> Option<&[AtomicU64]> {
        self.memory.words(offset, count)
    }

    /// Writes the header of a region.
    pub(crate) fn write_region_header(&self) {
        crate::local::write_header(&self.memory);
    }

    pub fn bytes(&self) -> u64 {
        self.memory.capacity_bytes()
    }

    /// The kind of its pages.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Start address for remote requests.
    pub fn memory_address(&self) -> u64 {
        self.memory.address()
    }

    /// Key for remote requests, if it was registered for them.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: the registration lives as long as this object.
        unsafe { (*self.region.as_ptr()).remote_key }
    }

    pub(super) fn local_key(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.region.as_ptr()).local_key }
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: queue pairs that may use this memory hold this object (rule 2), so none is left;
        // remote verbs fail from here on, and the mapping is dropped after this.
        unsafe { (self.device.functions.dereg_mr)(self.region.as_ptr()) };
    }
}
