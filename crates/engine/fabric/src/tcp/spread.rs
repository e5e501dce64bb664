//! Batches that need more than one request: they touch several servers, or are too long for a
//! frame.
//!
//! Verbs before a fence are posted to all servers at once; verbs after it are sent when all of them
//! have answered.

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::FabricError;
use crate::local::{LocalWorld, execute_verbs};
use crate::remote::{Outcome, Ticket};
use crate::tcp::answer;
use crate::tcp::frame::{REQUEST_HEADER, VERB_WORDS_MAX};
use crate::tcp::link::Link;
use crate::tcp::request::{Malformed, weight};
use crate::verb::Verb;
use layout::NodeId;
use std::sync::Arc;

/// Weight of verbs that is certain to fit into a frame.
pub(super) const FRAME_WEIGHT_MAX: usize = VERB_WORDS_MAX - REQUEST_HEADER;

/// Verbs of a batch to one server, between two of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    spread: u32,
    node: NodeId,
    first: u32,
    end: u32,
}

/// The servers that batches go to.
pub(super) struct Servers<'a> {
    pub links: &'a mut [Link],
    pub map: &'a AddressMap,
    /// The memory server that this process is, whose verbs are executed here.
    pub own: Option<&'a OwnMemory>,
    pub epoch: u64,
}

/// The memory of a memory server, for its services.
pub(super) struct OwnMemory {
    pub node: NodeId,
    pub world: Arc<LocalWorld>,
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
    pub fn accept(
        &mut self,
        part: &Part,
        map: &AddressMap,
        mut body: &[u64],
    ) -> Result<(), Malformed> {
        let spread = self.get(part.spread);
        let (verbs, arena) = spread.batch.parts_mut();
        for verb in part.of(verbs, map) {
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

    /// Whether [`Spreads::advance`] has something to do.
    #[inline]
    pub fn has_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Posts the next verbs of batches whose parts are all answered, and completes finished
    /// batches.
    #[inline]
    pub fn advance(
        &mut self,
        servers: &mut Servers<'_>,
        complete: &mut impl FnMut(Ticket, Outcome),
    ) {
        while let Some(place) = self.answered.pop() {
            let spread = self.get(place);
            if spread.error.is_none() && spread.next < spread.batch.verbs().len() {
                spread.post_phase(place, servers);
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
    fn of<'a>(&self, verbs: &'a [Verb], map: &'a AddressMap) -> impl Iterator<Item = &'a Verb> {
        let node = self.node;
        let is_part = move |verb: &&Verb| {
            !matches!(verb, Verb::Fence) && map.host(verb.target().region()) == node
        };
        verbs[self.first as usize..self.end as usize].iter().filter(is_part)
    }
}

impl Spread {
    /// Posts the verbs up to the next fence.
    fn post_phase(&mut self, place: u32, servers: &mut Servers<'_>) {
        let verbs = &self.batch.verbs()[self.next..];
        let is_fence = |verb: &Verb| matches!(verb, Verb::Fence);
        let length = verbs.iter().position(is_fence).unwrap_or(verbs.len());
        let (first, end) = (self.next, self.next + length);
        self.next = (end + 1).min(self.batch.verbs().len());
        let nodes = match nodes(&verbs[..length], servers) {
            Ok(nodes) => nodes,
            Err(error) => return self.error = Some(error),
        };
        for node in nodes {
            match servers.own {
                Some(own) if own.node == node => self.execute_own((first, end), own, servers.map),
                _ => self.post_node(place, node, (first, end), servers),
            }
        }
    }

    /// Executes the verbs of a range that go to this process's own memory.
    fn execute_own(&mut self, (first, end): (usize, usize), own: &OwnMemory, map: &AddressMap) {
        let part = Part { spread: 0, node: own.node, first: first as u32, end: end as u32 };
        let (verbs, arena) = self.batch.parts_mut();
        let verbs: Vec<Verb> = part.of(verbs, map).copied().collect();
        if let Err(error) = execute_verbs(&own.world, &verbs, arena) {
            self.error.get_or_insert(error);
        }
    }

    /// Posts the verbs of a range that go to `node`, in as many frames as they need.
    fn post_node(
        &mut self,
        spread: u32,
        node: NodeId,
        (mut first, end): (usize, usize),
        servers: &mut Servers<'_>,
    ) {
        let map = servers.map;
        let link = &mut servers.links[usize::from(node.0)];
        while first < end {
            let (mut words, mut stop, mut is_empty) = (0, first, true);
            for verb in &self.batch.verbs()[first..end] {
                if map.host(verb.target().region()) == node {
                    words += weight(verb);
                    if words > FRAME_WEIGHT_MAX && !is_empty {
                        break;
                    }
                    is_empty = false;
                }
                stop += 1;
            }
            let part = Part { spread, node, first: first as u32, end: stop as u32 };
            if !is_empty {
                let verbs = part.of(self.batch.verbs(), map);
                link.post_part(part, verbs, self.batch.arena(), servers.epoch);
                self.outstanding += 1;
                self.messages += 1;
            }
            first = stop;
        }
    }
}

/// The servers of the verbs, if all of them are connected and no verb is too long.
fn nodes(verbs: &[Verb], servers: &Servers<'_>) -> Result<Vec<NodeId>, FabricError> {
    let mut nodes = Vec::new();
    for verb in verbs {
        let (at, words) = (verb.target(), verb.target_words());
        let is_known = usize::from(at.region().0) < servers.map.region_count();
        if !is_known || weight(verb) > FRAME_WEIGHT_MAX {
            return Err(FabricError::OutOfRange { at, words });
        }
        let node = servers.map.host(at.region());
        if nodes.contains(&node) {
            continue;
        }
        let is_own = servers.own.is_some_and(|own| own.node == node);
        if !is_own && !servers.links[usize::from(node.0)].is_open() {
            return Err(FabricError::Unreachable(node));
        }
        nodes.push(node);
    }
    Ok(nodes)
}
