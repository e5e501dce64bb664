//! A file in memory, mapped so that huge pages of it can be mapped whole.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

/// Bytes of a huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Linux 6.1 and later: makes one huge page of the small ones of a range, whatever the host's settings say.
const MADV_COLLAPSE: c_int = 25;

unsafe extern "C" {
    #[link_name = "madvise"]
    fn madvise_raw(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// A mapping of a whole file that begins where a huge page may.
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
        // SAFETY: a new mapping, of addresses only, at a place of the kernel's choice.
        let reserved = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            mmap_anonymous(null_mut(), reserved_bytes, ProtFlags::empty(), flags)?
        };
        let base = reserved.wrapping_byte_add(reserved.addr().wrapping_neg() % HUGE_PAGE_BYTES);
        let window = Self { reserved, base, bytes };
        // SAFETY: `bytes` bytes from the first huge page on lie within what was reserved just now, where nobody
        // else has anything; `window` unmaps all of it, here too if this fails.
        unsafe {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            mmap(base, bytes, rights, MapFlags::SHARED | MapFlags::FIXED, file, 0)?;
            // Refused where the file consists of huge pages anyway.
            let _ = madvise(base, bytes, Advice::LinuxHugepage);
        }
        Ok(window)
    }

    /// Where it begins.
    pub fn base(&self) -> *mut c_void {
        self.base
    }

    /// Makes huge pages of the `bytes` bytes from `offset` on, whole huge pages of which some of each was touched.
    pub fn collapse(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes));
        // SAFETY: the range lies in this mapping, and what stands there stays as it is.
        let result = unsafe { madvise_raw(self.base.byte_add(offset), bytes, MADV_COLLAPSE) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the addresses were reserved when this was made, the file mapped among them; whoever borrowed
        // words of it is gone.
        let unmapped = unsafe { munmap(self.reserved, self.bytes + HUGE_PAGE_BYTES) };
        assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}
