//! Filling: a memory server that has returned gets the replicas of its regions.
//!
//! ```text
//! copy      while transactions run, its regions are copied, in the background and at a pace.
//!           Nobody else reads or writes them there
//! defer     no change of the catalog begins, and those under way end
//! still     the world stands still: no transaction begins, nothing commits, and what is under way
//!           ends. From now on the server gets all writes, as other replicas do
//! last      what was written since it was copied is copied again, and the shards of the catalog
//! whole     the server counts as a replica, and the world goes on
//! ```
//!
//! Nothing is written in the last part but words of the oracle that have one writer each, so the
//! replicas are equal to the primaries when it ends, whatever a word is for: journals, marks, stray
//! locks and lists of extents are copied like rows. While something is on the way to one of the two
//! servers, a copy may be older than what it replaces. So handlers are awaited when all is copied,
//! and a pass that copies nothing must find all equal. Nobody depends on a server before it is
//! whole. If any server dies before, the fill is given up, and the next one begins with what
//! is there: it compares all words.
//!
//! The caller makes sure that each step ends everywhere before the next begins, and that dead
//! compute servers are recovered before the last copy.
//!
//! Decision: docs/decisions/0354-a-returned-server-is-filled-and-counts-after-a-standstill.md

use crate::database::Database;
use fabric::{Batch, CallError, Env, FabricError, Mutant, Span};
use layout::{GlobalPtr, NodeId, RegionId, WORD_BYTES};
use memory::catalog::copy_shard;
use memory::extent::listed_end;
use memory::fence::rest;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// Words that are compared at once while nothing else happens.
const LAST_WORDS: u32 = 32 * 1024;
/// Most passes over all regions until nothing differs any more: announcements of lanes that end may
/// come between.
const PASSES_MAX: u32 = 50;
/// Pause between two such passes, and between attempts to copy a shard of the catalog.
const PAUSE_NS: u64 = 50_000;
/// Most attempts for a shard.
const SHARD_ATTEMPTS_MAX: u32 = 1_000;

/// How fast regions are copied while transactions run.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Words that are compared and copied at once.
    pub words: u32,
    /// Number of such pieces that are under way at a time.
    pub pieces: u32,
    /// Pause after each piece.
    pub pause_ns: u64,
    /// The copy is given up then.
    pub deadline_ns: u64,
}

/// The work of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Copied {
    /// Words that were compared.
    pub compared: u64,
    /// Words that were written, those between two that differ included.
    pub written: u64,
}

/// The progress of a copy. Any thread may read it.
#[derive(Debug, Default)]
pub struct CopyCounts {
    /// Words of all regions that are copied, once that is known.
    pub total: AtomicU64,
    pub compared: AtomicU64,
    pub written: AtomicU64,
}

impl CopyCounts {
    /// Whether nothing was compared yet.
    pub fn is_new(&self) -> bool {
        self.compared.load(Relaxed) == 0
    }

    fn note(&self, compared: u64, written: u64) {
        self.compared.fetch_add(compared, Relaxed);
        self.written.fetch_add(written, Relaxed);
    }
}

/// Why a server was not filled. Another attempt goes on with what it has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FillError {
    /// A memory server does not answer.
    #[error("a memory server does not answer: {0}")]
    Unreachable(#[from] FabricError),
    /// A shard of the catalog cannot be copied.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The world does not stand still.
    #[error("regions are written while nothing should happen")]
    Restless,
    /// The world would stand still for too long.
    #[error(
        "the memory in use takes longer to compare than the database may stand still; \
         what was copied stays"
    )]
    TooLong,
    /// A change of the catalog does not end.
    #[error("the catalog of memory server {server} is being changed")]
    ChangeUnderWay { server: u16 },
}

impl<E: Env> Database<E> {
    /// Copies to a server that has returned what differs in its regions, while others write them,
    /// and counts it in `counts`.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer.
    pub async fn copy_to(
        &self,
        node: NodeId,
        pace: Pace,
        counts: &CopyCounts,
    ) -> Result<Copied, FillError> {
        let (mut copied, regions) = (Copied::default(), self.env.unfilled(node));
        let mut total = 0;
        for &(region, _) in &regions {
            total += listed_end(&self.env, region).await? / WORD_BYTES;
        }
        counts.total.store(total, Relaxed);
        for regions in regions {
            self.copy_region(regions, (pace, counts), &mut copied).await?;
        }
        Ok(copied)
    }

    /// Makes the replicas on a server like their regions, while nobody else uses the database: it
    /// begins with what its servers had written to disk, each when it ended. Words that differ were
    /// on their way then, and were acknowledged by nobody. Closed regions are left out: a replica
    /// will be promoted.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer.
    pub async fn equalise(&self, node: NodeId) -> Result<Copied, FillError> {
        let (mut copied, counts) = (Copied::default(), CopyCounts::default());
        let pace = Pace { words: LAST_WORDS, pieces: 1, pause_ns: 0, deadline_ns: u64::MAX };
        for (region, replica) in self.env.unfilled(node) {
            if self.env.is_closed(region) || self.env.node_of(region) == node {
                continue;
            }
            self.copy_catalog(region, replica).await?;
            self.copy_region((region, replica), (pace, &counts), &mut copied).await?;
        }
        Ok(copied)
    }

    /// Copies what still differs, while the world stands still: afterwards the server has all of
    /// its regions.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer, if the world does not stand still, or if the copy does
    /// not end by `deadline_ns`.
    pub async fn finish_copy(&self, node: NodeId, deadline_ns: u64) -> Result<Copied, FillError> {
        let mut copied = Copied::default();
        let regions = self.env.unfilled(node);
        for &(region, replica) in &regions {
            self.copy_catalog(region, replica).await?;
        }
        if self.env.mutant(Mutant::FillSkipLastCopy) {
            return Ok(copied);
        }
        let pace = Pace { words: LAST_WORDS, pieces: 1, pause_ns: 0, deadline_ns };
        let counts = CopyCounts::default();
        for _ in 0..PASSES_MAX {
            for &regions in &regions {
                self.copy_region(regions, (pace, &counts), &mut copied).await?;
            }
            if self.are_equal(&regions, deadline_ns, &mut copied).await? {
                return Ok(copied);
            }
            self.env.sleep_ns(PAUSE_NS).await;
        }
        Err(FillError::Restless)
    }

    /// Whether nothing differs once all handlers have ended that were under way.
    async fn are_equal(
        &self,
        regions: &[(RegionId, RegionId)],
        deadline_ns: u64,
        copied: &mut Copied,
    ) -> Result<bool, FillError> {
        for server in &self.shared.servers {
            rest(&self.env, server.region()).await?;
        }
        self.env.sleep_ns(PAUSE_NS).await;
        for &(region, replica) in regions {
            let end = listed_end(&self.env, region).await? / WORD_BYTES;
            let (mut batch, mut at) = (Batch::new(), 0);
            while at < end {
                self.check_time(deadline_ns)?;
                let words = u64::from(LAST_WORDS).min(end - at) as u32;
                let spans;
                (batch, spans) = self.read_both(batch, (region, replica), at, words).await?;
                copied.compared += u64::from(words);
                if differing(&batch, spans[0], spans[1]).is_some() {
                    return Ok(false);
                }
                at += u64::from(words);
            }
        }
        Ok(true)
    }

    /// Reads the same words of a region and of its replica.
    async fn read_both(
        &self,
        mut batch: Batch,
        (region, replica): (RegionId, RegionId),
        at: u64,
        words: u32,
    ) -> Result<(Batch, [Span; 2]), FabricError> {
        batch.reset();
        let spans = [region, replica]
            .map(|place| batch.read(GlobalPtr::new(place, at * WORD_BYTES), words));
        Ok((self.env.execute(batch).await?, spans))
    }

    /// Copies what differs in a replica of a region, up to the end of its allocated memory: all
    /// behind it is zero.
    async fn copy_region(
        &self,
        regions: (RegionId, RegionId),
        (pace, counts): (Pace, &CopyCounts),
        copied: &mut Copied,
    ) -> Result<(), FillError> {
        let end = listed_end(&self.env, regions.0).await? / WORD_BYTES;
        let pieces = Pieces { next: AtomicU64::new(0), end, has_failed: AtomicBool::new(false) };
        let copies = (0..pace.pieces.max(1)).map(|_| async {
            let copied = self.copy_pieces(regions, (pace, counts), &pieces).await;
            if copied.is_err() {
                pieces.has_failed.store(true, Relaxed);
            }
            copied
        });
        // All have ended when one has failed, so nothing is on its way to the server any more.
        let mut outcome = Ok(());
        for one in all_of(copies).await {
            match one {
                Ok(one) => {
                    copied.compared += one.compared;
                    copied.written += one.written;
                }
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// Copies one piece after the other, until none is left.
    async fn copy_pieces(
        &self,
        (region, replica): (RegionId, RegionId),
        (pace, counts): (Pace, &CopyCounts),
        pieces: &Pieces,
    ) -> Result<Copied, FillError> {
        let (mut copied, mut batch) = (Copied::default(), Batch::new());
        while let Some((at, words)) = pieces.take(pace.words.max(1)) {
            self.check_time(pace.deadline_ns)?;
            let [source, target];
            (batch, [source, target]) = self.read_both(batch, (region, replica), at, words).await?;
            let mut written = 0;
            if let Some((first, count)) = differing(&batch, source, target) {
                let changed = batch.words(source)[first..first + count].to_vec();
                batch.reset();
                let changed = batch.put(&changed);
                let to = GlobalPtr::new(replica, (at + first as u64) * WORD_BYTES);
                batch.write(to, changed);
                batch = self.env.execute(batch).await?;
                written = count as u64;
            }
            copied.compared += u64::from(words);
            copied.written += written;
            counts.note(u64::from(words), written);
            if pace.pause_ns > 0 {
                self.env.sleep_ns(pace.pause_ns).await;
            }
        }
        Ok(copied)
    }

    fn check_time(&self, deadline_ns: u64) -> Result<(), FillError> {
        if self.env.now_ns() < deadline_ns { Ok(()) } else { Err(FillError::TooLong) }
    }

    async fn copy_catalog(&self, region: RegionId, replica: RegionId) -> Result<(), FillError> {
        if self.env.mutant(Mutant::FillForgetCatalog) {
            return Ok(());
        }
        for _ in 0..SHARD_ATTEMPTS_MAX {
            if copy_shard(&self.env, region, replica).await? {
                return Ok(());
            }
            self.env.sleep_ns(PAUSE_NS).await;
        }
        Err(FillError::ChangeUnderWay { server: region.0 })
    }
}

/// The pieces of a region that are not copied yet.
struct Pieces {
    /// The first word of the next one.
    next: AtomicU64,
    end: u64,
    has_failed: AtomicBool,
}

impl Pieces {
    /// The first word of a piece, and the number of its words; `None` if none is left.
    fn take(&self, words: u32) -> Option<(u64, u32)> {
        let at = self.next.fetch_add(u64::from(words), Relaxed);
        let is_there = at < self.end && !self.has_failed.load(Relaxed);
        is_there.then(|| (at, u64::from(words).min(self.end - at) as u32))
    }
}

/// Runs futures side by side until all have ended.
async fn all_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_over = true;
        for (future, output) in &mut running {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
            is_over &= output.is_some();
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

/// The first word that differs, and the number of words up to the last one.
fn differing(batch: &Batch, source: Span, target: Span) -> Option<(usize, usize)> {
    let (source, target) = (batch.words(source), batch.words(target));
    let differ = |(one, other): (&u64, &u64)| one != other;
    let first = source.iter().zip(target).position(differ)?;
    let last = source.iter().zip(target).rposition(differ)?;
    Some((first, last + 1 - first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn words_from_the_first_to_the_last_that_differs_are_copied() {
        let mut batch = Batch::new();
        let [source, target] =
            [[1, 2, 3, 4, 5], [1, 0, 3, 0, 5]].map(|words: [u64; 5]| batch.put(&words));
        assert_eq!(differing(&batch, source, target), Some((1, 3)));
        assert_eq!(differing(&batch, source, source), None);
    }

    fn until_ready<T>(future: impl Future<Output = T>) -> T {
        let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
        loop {
            if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
                return ready;
            }
        }
    }

    #[test]
    fn pieces_are_taken_once_until_one_has_failed() {
        let pieces =
            Pieces { next: AtomicU64::new(0), end: 10, has_failed: AtomicBool::new(false) };
        assert_eq!(
            [4, 4, 4, 4].map(|words| pieces.take(words)),
            [Some((0, 4)), Some((4, 4)), Some((8, 2)), None]
        );
        let pieces = Pieces { next: AtomicU64::new(0), end: 10, has_failed: AtomicBool::new(true) };
        assert_eq!(pieces.take(4), None);
        let mut polls = [3, 1, 2];
        let futures = polls.iter_mut().map(|left| {
            poll_fn(move |context| {
                *left -= 1;
                context.waker().wake_by_ref();
                if *left == 0 { Poll::Ready(*left) } else { Poll::Pending }
            })
        });
        assert_eq!(until_ready(all_of(futures)), [0; 3]);
    }
}
