//! Moves a shared region to huge pages on hosts that give shared memory small ones.
//!
//! Most hosts do, and only an administrator can change that. But the kernel collapses small pages
//! into a huge one on request, so a thread of the memory server requests it for touched pages and
//! for some ahead of them. Memory that is allocated next is then mostly in huge pages before its
//! first use.
//!
//! Decision: docs/decisions/0073-huge-pages-wherever-the-host-has-them.md

use crate::local::world::LocalWorld;
use crate::raw::{HUGE_PAGE_BYTES, Memory};
use layout::RegionId;
use rustix::fs::{SeekFrom, fstat, seek};
use std::io;
use std::ops::Range;
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const PAGE_BYTES: u64 = HUGE_PAGE_BYTES as u64;
/// Time between two scans: while the region grows, and while it does not.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(100)];
/// How far to run ahead of touched memory: a fraction of it, within bounds.
const AHEAD_SHARE: u64 = 4;
const AHEAD_BYTES: Range<u64> = 4 << 20..64 << 20;
/// Pages per request: each takes some time before its first page, and a failed request is repeated
/// as a whole.
const RUN_PAGES: usize = 16;

/// Whether the kernel collapses pages of this region; tries the first one.
pub(super) fn is_possible(memory: &Memory) -> bool {
    touch(memory, 0).and_then(|()| memory.collapse(0, PAGE_BYTES)).is_ok()
}

/// Starts the thread, which ends with the world.
pub(super) fn start(world: Weak<LocalWorld>, region: RegionId) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("namdb-huge-pages".to_owned());
    thread.spawn(move || {
        let mut keeper = Keeper::default();
        while let Some(world) = world.upgrade() {
            let memory = world.memory(region).expect("a server has its own region");
            let Ok(has_grown) = keeper.look(memory) else { return };
            drop(world);
            #[allow(clippy::disallowed_methods, reason = "pages of real memory")]
            std::thread::sleep(LOOKS[usize::from(!has_grown)]);
        }
    })?;
    Ok(())
}

/// Progress of the thread.
#[derive(Default)]
struct Keeper {
    /// Indexed by page: whether it is a huge page.
    pages: Vec<bool>,
    /// Blocks of the file at the last scan.
    blocks: i64,
}

impl Keeper {
    /// Collapses touched pages if the file has grown since the last scan; returns whether it has.
    /// An error means that the kernel never collapses pages of this file.
    fn look(&mut self, memory: &Memory) -> io::Result<bool> {
        let file = memory.file().ok_or(io::ErrorKind::InvalidInput)?;
        if fstat(file)?.st_blocks == self.blocks {
            return Ok(false);
        }
        self.pages.resize(memory.capacity_bytes().div_ceil(PAGE_BYTES) as usize, false);
        for range in wanted(memory)? {
            for start in range.clone().step_by(RUN_PAGES) {
                self.collapse(memory, start..range.end.min(start + RUN_PAGES))?;
            }
        }
        self.blocks = fstat(file)?.st_blocks;
        Ok(true)
    }

    fn collapse(&mut self, memory: &Memory, run: Range<usize>) -> io::Result<()> {
        if self.pages[run.clone()].iter().all(|is_huge| *is_huge) {
            return Ok(());
        }
        run.clone().try_for_each(|page| touch(memory, page))?;
        match memory.collapse(run.start as u64 * PAGE_BYTES, run.len() as u64 * PAGE_BYTES) {
            Ok(()) => self.pages[run].fill(true),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
            // Out of memory, or another thread was faster: the next scan after more growth retries.
            Err(_) => {}
        }
        Ok(())
    }
}

/// Ranges of touched pages, and the pages ahead of them.
fn wanted(memory: &Memory) -> io::Result<Vec<Range<usize>>> {
    let file = memory.file().ok_or(io::ErrorKind::InvalidInput)?;
    let (mut ranges, mut touched_bytes, mut end) = (Vec::new(), 0, 0);
    // The end of the file counts as a hole.
    while let Ok(start) = seek(file, SeekFrom::Data(end)) {
        end = seek(file, SeekFrom::Hole(start))?;
        touched_bytes += end - start;
        ranges.push(page_range(start..end));
    }
    let ahead = (touched_bytes / AHEAD_SHARE).clamp(AHEAD_BYTES.start, AHEAD_BYTES.end);
    ranges.push(page_range(end..(end + ahead).min(memory.capacity_bytes())));
    Ok(ranges)
}

fn page_range(bytes: Range<u64>) -> Range<usize> {
    (bytes.start / PAGE_BYTES) as usize..bytes.end.div_ceil(PAGE_BYTES) as usize
}

/// Allocates a page, if only a small one.
fn touch(memory: &Memory, page: usize) -> io::Result<()> {
    let word = memory.words(page as u64 * PAGE_BYTES, 1).ok_or(io::ErrorKind::InvalidInput)?;
    word[0].load(Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::file::create_region;

    /// Bytes that a file occupies.
    fn taken(memory: &Memory) -> u64 {
        fstat(memory.file().expect("a file")).expect("it is open").st_blocks as u64 * 512
    }

    #[test]
    fn what_was_touched_is_made_huge_with_some_more_ahead() {
        let (memory, _) = create_region("test", 64 << 20).expect("memory");
        if !is_possible(&memory) {
            eprintln!("skipped: this kernel makes no huge pages of small ones");
            return;
        }
        let first = memory.words(5 << 20, 3).expect("in the third page");
        first[2].store(7, Relaxed);
        let mut keeper = Keeper::default();
        assert!(keeper.look(&memory).expect("it is possible"));
        // Pages 0 and 2, and two ahead.
        let huge = |keeper: &Keeper| -> Vec<usize> {
            (0..keeper.pages.len()).filter(|page| keeper.pages[*page]).collect()
        };
        assert_eq!(huge(&keeper), [0, 2, 3, 4]);
        assert_eq!((taken(&memory), first[2].load(Relaxed)), (8 << 20, 7));
        assert!(!keeper.look(&memory).expect("it is possible"), "nothing more was touched");
        memory.words((64 << 20) - 8, 1).expect("the last word")[0].store(8, Relaxed);
        assert!(keeper.look(&memory).expect("it is possible"));
        assert_eq!(huge(&keeper), [0, 2, 3, 4, 31]);
        assert_eq!(taken(&memory), 10 << 20);
    }
}
