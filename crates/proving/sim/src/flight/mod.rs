//! A posted batch under way: from posting through its fenced segments to its completion.
//!
//! | file | idea |
//! |---|---|
//! | `flights.rs` | the batches under way, and reuse of their memory |
//! | `course.rs` | the course of a batch: segment after segment until its owner has it back |
//! | `failures.rs` | lost connections, and the deaths of servers and owners, meanwhile |

mod course;
mod failures;
mod flights;

pub(crate) use flights::Flights;

use crate::memory::Moments;
use fabric::{Batch, FabricError, Verb};
use layout::{GlobalPtr, NodeId, RegionId};
use std::task::Waker;

/// The progress of a verb.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct VerbState {
    /// The first moment at which the verb may touch a word.
    pub(crate) start_ns: u64,
    /// The last moment at which the verb touches a word, as far as it is planned.
    pub(crate) end_ns: u64,
    /// The verb touches nothing after this moment: its owner died, or its connection was lost.
    pub(crate) cut_ns: u64,
    /// The moments of the accesses that are under way.
    pub(crate) moments: Moments,
    /// The first word of those accesses, within the verb's range.
    pub(crate) first: u32,
    /// The number of those accesses.
    pub(crate) words: u32,
    /// The phase of those accesses.
    pub(crate) phase: Phase,
    /// A read whose words are looked up when the segment returns.
    pub(crate) is_open: bool,
    /// The neighbourhood was read a second time, because the key was missing at first.
    pub(crate) is_again: bool,
    /// Attempts to read a row untorn.
    pub(crate) attempts: u32,
    /// Where the verb's words land, in the flight's landing area, before they are known to be good.
    pub(crate) landing: u32,
    /// The slot of a bucket that is being read, or the step through its header.
    pub(crate) slot: u32,
    /// How many times the verb was sent over the network again.
    pub(crate) wave: u32,
    /// The slot that holds the key, or [`fabric::SlotRead::MISSING`].
    pub(crate) found: u64,
    /// The version seen before a coherent row was copied.
    pub(crate) version: u64,
    /// The insert word of a bucket, read before its slots.
    pub(crate) insert: u64,
}

/// The phases of verbs that take more than one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Phase {
    /// All words of a verb that needs one phase, or all words of a neighbourhood.
    #[default]
    Words,
    /// The version word, before a coherent row.
    RowBefore,
    Row,
    /// The version word, after a coherent row.
    RowAfter,
    /// The words before a coherent bucket's slots, one after another.
    Header,
    /// The slots of a coherent bucket whose tag matches.
    Slots,
    /// A coherent bucket's collected-up-to word, after its slots.
    Collected,
}

/// A batch between posting and completion.
pub(crate) struct Flight {
    pub(crate) batch: Option<Batch>,
    pub(crate) node: NodeId,
    pub(crate) group: u32,
    pub(crate) verbs: Vec<VerbState>,
    /// The first verb that is not yet posted.
    pub(crate) next_verb: u32,
    /// The first verb of the current segment.
    pub(crate) first_verb: u32,
    /// The posting time of the current segment.
    segment_ns: u64,
    /// The time at which all its verbs have ended, as far as is known.
    pub(crate) end_ns: u64,
    /// The time at which the verbs' answers have come through the network.
    pub(crate) back_ns: u64,
    /// No card takes part.
    pub(crate) is_local: bool,
    /// At this moment the owner learns that the server is unreachable, although verbs may still
    /// take effect.
    pub(crate) unreachable_ns: u64,
    /// Verbs of the current segment that proceed phase by phase.
    pub(crate) busy: u32,
    /// Atomics, or parts, that have not yet taken effect.
    pub(crate) atomics: u32,
    /// No verb of this batch takes effect after this moment: its owner died, or its connection was
    /// lost.
    pub(crate) cut_ns: u64,
    pub(crate) posted_ns: u64,
    /// Distinguishes the batches that use the same place one after another.
    pub(crate) number: u32,
    /// Restarts of nodes before the posting.
    pub(crate) life: u32,
    loses_completion: bool,
    completes_twice: bool,
    pub(crate) failure: Option<FabricError>,
    pub(crate) landing: Vec<u64>,
    /// Additional reads for torn rows or missing keys.
    pub(crate) extra_reads: Vec<(GlobalPtr, u32)>,
    /// How many of the additional reads the network has carried, if parts take effect at once.
    pub(crate) fetched_again: usize,
    /// Round trips of the additional reads: all reads of one wave are posted together.
    pub(crate) extra_waves: u32,
    is_done: bool,
    is_abandoned: bool,
    /// Only its own atomics still refer to it.
    is_over: bool,
    waker: Option<Waker>,
}

impl Flight {
    fn new() -> Self {
        Self {
            batch: None,
            node: NodeId(0),
            group: 0,
            verbs: Vec::new(),
            next_verb: 0,
            first_verb: 0,
            segment_ns: 0,
            end_ns: 0,
            back_ns: 0,
            is_local: true,
            unreachable_ns: u64::MAX,
            busy: 0,
            atomics: 0,
            is_over: false,
            cut_ns: u64::MAX,
            posted_ns: 0,
            number: 0,
            life: 0,
            loses_completion: false,
            completes_twice: false,
            failure: None,
            landing: Vec::new(),
            extra_reads: Vec::new(),
            fetched_again: 0,
            extra_waves: 0,
            is_done: false,
            is_abandoned: false,
            waker: None,
        }
    }

    /// Posts the next segment.
    pub(crate) fn begin_segment(&mut self, now_ns: u64) {
        self.first_verb = self.next_verb;
        (self.segment_ns, self.end_ns) = (now_ns, now_ns);
    }

    /// Verbs to `node` touch nothing after `cut_ns`.
    fn cut_to(&mut self, is_there: impl Fn(RegionId) -> bool, cut_ns: u64) {
        for index in 0..self.next_verb {
            if is_there(self.verb(index).target().region()) {
                let state = &mut self.verbs[index as usize];
                state.cut_ns = state.cut_ns.min(cut_ns);
            }
        }
    }

    /// Whether a posted verb goes to one of these regions.
    fn goes_to(&self, is_there: impl Fn(RegionId) -> bool) -> bool {
        let goes_there = |verb: &Verb| *verb != Verb::Fence && is_there(verb.target().region());
        self.batch().verbs()[..self.next_verb as usize].iter().any(goes_there)
    }

    #[inline]
    pub(crate) fn verb(&self, index: u32) -> Verb {
        self.batch().verbs()[index as usize]
    }

    /// Verbs of the batch, fences included.
    #[inline]
    pub(crate) fn verb_count(&self) -> u32 {
        self.batch().verbs().len() as u32
    }

    #[inline]
    pub(crate) fn batch(&self) -> &Batch {
        self.batch.as_ref().expect("a flight carries its batch until it is taken")
    }

    /// The target of the batch's first verb.
    fn first_target(&self) -> RegionId {
        let target = self.batch().verbs().first().map_or(GlobalPtr::NULL, Verb::target);
        target.region()
    }

    /// The verb as the card executes it: a read of rows together with the reads that continue where
    /// it ends.
    pub(crate) fn with_continuations(&self, verb: &Verb) -> Verb {
        let Verb::ReadRow { from, at, words, .. } = *verb else {
            return *verb;
        };
        let behind = self.batch().verbs()[self.next_verb as usize..].iter();
        let behind = behind.take_while(|verb| matches!(verb, Verb::ReadRow { goes_on: true, .. }));
        Verb::Read { from, at, words: words + behind.map(Verb::target_words).sum::<u32>() }
    }

    /// Whether all its verbs are for the memory of `node` itself, to which no connection leads.
    fn is_within(&self, node: NodeId) -> bool {
        let mut verbs = self.batch().verbs().iter().filter(|verb| **verb != Verb::Fence);
        verbs.all(|verb| verb.target().region().0 == node.0)
    }

    #[inline]
    pub(crate) fn batch_mut(&mut self) -> &mut Batch {
        self.batch.as_mut().expect("a flight carries its batch until it is taken")
    }
}
