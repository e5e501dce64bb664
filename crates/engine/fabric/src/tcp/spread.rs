//! Batches that need more than one request: they touch several servers, or are too long for a
//! frame.
//!
//! Verbs before a fence are posted to all servers at once; verbs after it are sent when all of them
//! have answered.

use crate::batch::Batch;
use crate::error::FabricError;
use crate::remote::{Outcome, Ticket};
use crate::tcp::answer;
use crate::tcp::frame::{REQUEST_HEADER, VERB_WORDS_MAX};
use crate::tcp::link::Link;
use crate::tcp::request::{Malformed, weight};
use crate::verb::Verb;
use layout::RegionId;

/// Weight of verbs that is certain to fit into a frame.
pub(super) const FRAME_WEIGHT_MAX: usize = VERB_WORDS_MAX - REQUEST_HEADER;

/// Consecutive verbs of a batch to one region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    spread: u32,
    region: RegionId,
    first: u32,
    end: u32,
}

struct Spread {
    ticket: Ticket,
    batch: Batch,
    /// First verb that was not posted.
    next: usize,
    /// Parts without an answer.
    outstanding: u32,
    /// Number of posted parts.
    messages: u32,
    error: Option<FabricError>,
}

/// All such batches in flight.
#[derive(Default)]
pub(super) struct Spreads {
    places: Vec<Option<Spread>>,
    free: Vec<u32>,
    /// Batches whose posted parts were all answered.
    answered: Vec<u32>,
}

impl Spreads {
    /// Adds a batch. The next [`Spreads::advance`] posts its first verbs.
    pub fn add(&mut self, ticket: Ticket, batch: Batch) {
        let spread = Spread { ticket, batch, next: 0, outstanding: 0, messages: 0, error: None };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.places[place as usize] = Some(spread);
        self.answered.push(place);
    }

    fn get(&mut self, place: u32) -> &mut Spread {
        self.places[place as usize].as_mut().expect("a batch stays while parts of it are under way")
    }

    /// Stores the results of a part's verbs.
    pub fn accept(&mut self, part: &Part, mut body: &[u64]) -> Result<(), Malformed> {
        let spread = self.get(part.spread);
        let (verbs, arena) = spread.batch.parts_mut();
        for verb in part.of(verbs) {
            answer::decode(verb, arena, &mut body)?;
        }
        if !body.is_empty() {
            return Err(Malformed);
        }
        self.settle(part.spread);
        Ok(())
    }

    /// Fails a part; its verbs may have happened.
    pub fn fail(&mut self, part: &Part, error: FabricError) {
        self.get(part.spread).error.get_or_insert(error);
        self.settle(part.spread);
    }

    fn settle(&mut self, place: u32) {
        let spread = self.get(place);
        spread.outstanding -= 1;
        if spread.outstanding == 0 {
            self.answered.push(place);
        }
    }

    /// Posts the next verbs of batches whose parts are all answered, and completes finished
    /// batches.
    #[inline]
    pub fn advance(
        &mut self,
        links: &mut [Link],
        epoch: u64,
        complete: &mut impl FnMut(Ticket, Outcome),
    ) {
        while let Some(place) = self.answered.pop() {
            let spread = self.get(place);
            if spread.error.is_none() && spread.next < spread.batch.verbs().len() {
                spread.post_phase(place, links, epoch);
                if spread.outstanding > 0 {
                    continue;
                }
                self.answered.push(place);
                continue;
            }
            let Some(spread) = self.places[place as usize].take() else { continue };
            self.free.push(place);
            let result = spread.error.map_or(Ok(spread.batch), Err);
            complete(spread.ticket, Outcome::Batch(result, spread.messages));
        }
    }
}

impl Part {
    fn of<'a>(&self, verbs: &'a [Verb]) -> impl Iterator<Item = &'a Verb> {
        let region = self.region;
        let is_part =
            move |verb: &&Verb| !matches!(verb, Verb::Fence) && verb.target().region() == region;
        verbs[self.first as usize..self.end as usize].iter().filter(is_part)
    }
}

impl Spread {
    /// Posts the verbs up to the next fence.
    fn post_phase(&mut self, place: u32, links: &mut [Link], epoch: u64) {
        let verbs = &self.batch.verbs()[self.next..];
        let is_fence = |verb: &Verb| matches!(verb, Verb::Fence);
        let length = verbs.iter().position(is_fence).unwrap_or(verbs.len());
        let (first, end) = (self.next, self.next + length);
        self.next = (end + 1).min(self.batch.verbs().len());
        let regions = match regions(&verbs[..length], links) {
            Ok(regions) => regions,
            Err(error) => return self.error = Some(error),
        };
        for region in regions {
            self.post_region(place, region, (first, end), &mut links[usize::from(region.0)], epoch);
        }
    }

    /// Posts the verbs of a range that go to `region`, in as many frames as they need.
    fn post_region(
        &mut self,
        spread: u32,
        region: RegionId,
        (mut first, end): (usize, usize),
        link: &mut Link,
        epoch: u64,
    ) {
        while first < end {
            let (mut words, mut stop, mut is_empty) = (0, first, true);
            for verb in &self.batch.verbs()[first..end] {
                if verb.target().region() == region {
                    words += weight(verb);
                    if words > FRAME_WEIGHT_MAX && !is_empty {
                        break;
                    }
                    is_empty = false;
                }
                stop += 1;
            }
            let part = Part { spread, region, first: first as u32, end: stop as u32 };
            if !is_empty {
                let verbs = part.of(self.batch.verbs());
                link.post_part(part, verbs, self.batch.arena(), epoch);
                self.outstanding += 1;
                self.messages += 1;
            }
            first = stop;
        }
    }
}

/// The regions of the verbs, if all of them are connected and no verb is too long.
fn regions(verbs: &[Verb], links: &[Link]) -> Result<Vec<RegionId>, FabricError> {
    let mut regions = Vec::new();
    for verb in verbs {
        let (at, words) = (verb.target(), verb.target_words());
        let link = links.get(usize::from(at.region().0));
        let Some(link) = link.filter(|_| weight(verb) <= FRAME_WEIGHT_MAX) else {
            return Err(FabricError::OutOfRange { at, words });
        };
        if !link.is_open() {
            return Err(FabricError::Unreachable(link.node()));
        }
        if !regions.contains(&at.region()) {
            regions.push(at.region());
        }
    }
    Ok(regions)
}
