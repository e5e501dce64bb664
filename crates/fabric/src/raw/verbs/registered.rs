//! Memory that a card may read and write.

use super::abi;
use super::device::Device;
use crate::local::Pages;
use crate::raw::Memory;
use crate::verbs::VerbsError;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Registered memory: its pages stay where they are, and cards know it by keys.
pub struct Registered {
    region: NonNull<abi::MemoryRegion>,
    device: Arc<Device>,
    memory: Memory,
    pages: Pages,
}

// SAFETY: the memory is atomic words, and the registration itself is not changed before it is dropped.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    /// Registers `memory`, made of `pages`, for this side's requests and, if `is_remote`, for verbs of others, atomics
    /// included. Never with relaxed ordering: the order of a batch would be lost on the way to memory.
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
        // SAFETY: the range is the mapping's, which lives until the registration is gone, see `drop`; whatever a
        // card writes there, it is accessed as atomic words only (rule 2).
        let region =
            unsafe { (device.functions.reg_mr)(device.domain.as_ptr(), base, bytes, access) };
        let region = NonNull::new(region).ok_or_else(|| {
            VerbsError::registration(bytes as u64, std::io::Error::last_os_error())
        })?;
        Ok(Self { region, device: device.clone(), memory, pages })
    }

    /// Maps and registers `bytes` bytes, of huge pages if the host has them to spare. All of them are taken at
    /// once: a card can wait for no page.
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

    /// Writes what a region begins with.
    pub(crate) fn write_region_header(&self) {
        crate::local::write_header(&self.memory);
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.memory.capacity_bytes()
    }

    /// What it is made of.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Where it begins, as requests of others name it.
    pub fn memory_address(&self) -> u64 {
        self.memory.address()
    }

    /// What others name the memory by, if it was registered for them.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: the registration lives as long as this object.
        unsafe { (*self.region.as_ptr()).remote_key }
    }

    /// What this side's requests name the memory by.
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
        // SAFETY: queue pairs that were told of this memory hold this object (rule 2), so none is left; verbs of
        // others fail from here on, and the mapping goes after this.
        unsafe { (self.device.functions.dereg_mr)(self.region.as_ptr()) };
    }
}
