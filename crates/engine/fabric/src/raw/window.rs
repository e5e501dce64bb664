//! A file in memory, mapped at an address aligned to huge pages.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

/// Bytes of a huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Linux 6.1 and later: collapses the small pages of a range into a huge one, whatever the host's
/// settings.
const MADV_COLLAPSE: c_int = 25;

unsafe extern "C" {
    #[link_name = "madvise"]
    fn madvise_raw(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// A mapping of a whole file, aligned to huge pages.
pub struct Window {
    reserved: *mut c_void,
    base: *mut c_void,
    bytes: usize,
}

impl Window {
    /// Maps the first `bytes` bytes of `file`.
    pub fn map(file: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let reserved_bytes =
            bytes.checked_add(HUGE_PAGE_BYTES).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping, of addresses only, where the kernel chooses.
        let reserved = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            mmap_anonymous(null_mut(), reserved_bytes, ProtFlags::empty(), flags)?
        };
        let base = reserved.wrapping_byte_add(reserved.addr().wrapping_neg() % HUGE_PAGE_BYTES);
        let window = Self { reserved, base, bytes };
        // SAFETY: `bytes` bytes from the first huge page on lie within the addresses reserved just
        // now, where nothing else is mapped; `window` unmaps all of it, here too if this fails.
        unsafe {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            mmap(base, bytes, rights, MapFlags::SHARED | MapFlags::FIXED, file, 0)?;
            // Refused if the file consists of huge pages anyway.
            let _ = madvise(base, bytes, Advice::LinuxHugepage);
        }
        Ok(window)
    }

    pub fn base(&self) -> *mut c_void {
        self.base
    }

    /// Collapses `bytes` bytes from `offset` on into huge pages. The range consists of whole huge
    /// pages, each of them touched before.
    pub fn collapse(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes));
        // SAFETY: the range lies in this mapping, and its contents do not change.
        let result = unsafe { madvise_raw(self.base.byte_add(offset), bytes, MADV_COLLAPSE) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the addresses were reserved when this was made, the file mapped among them; no
        // borrow of its words is left.
        let unmapped = unsafe { munmap(self.reserved, self.bytes + HUGE_PAGE_BYTES) };
        assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}
