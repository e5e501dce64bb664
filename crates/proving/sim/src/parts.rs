//! Parts of batches: with [`crate::SimConfig::parts_at_once`], all verbs of a batch to one server
//! up to the next fence take effect at one moment, in the order of posting, when the last of them
//! would. That is one event per server instead of one per atomic, and the simulator needs only the
//! present value of each word.
//!
//! Memory is then as strong as possible; such worlds measure speed, not correctness. Posted verbs
//! take effect whatever happens to the processes that posted them.

use crate::effect::take_effect;
use crate::flight::Flight;
use crate::links::Post;
use crate::network::Load;
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{FabricError, Verb};
use layout::NodeId;

/// The verbs of a segment to one server.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    server: NodeId,
    /// When it takes effect.
    effect_ns: u64,
}

impl Core {
    /// Posts the verbs up to the next fence, and plans one effect for each server.
    pub(crate) fn post_parts(&mut self, place: u32) {
        let mut flight = self.flights.take(place);
        flight.begin_segment(self.now_ns);
        let mut parts = std::mem::take(&mut self.parts);
        while flight.next_verb < flight.verb_count() {
            let verb = flight.verb(flight.next_verb);
            flight.next_verb += 1;
            if verb == Verb::Fence {
                break;
            }
            self.post_into_part(&mut flight, &verb, &mut parts);
        }
        for Part { server, effect_ns } in parts.drain(..) {
            flight.end_ns = flight.end_ns.max(effect_ns);
            flight.atomics += 1;
            self.queue.push(effect_ns, Happening::Part { flight: place, server: server.0 });
        }
        self.parts = parts;
        self.plan_landing(place, &mut flight);
        self.flights.put(place, flight);
    }

    fn post_into_part(&mut self, flight: &mut Flight, verb: &Verb, parts: &mut Vec<Part>) {
        let (at, words) = (verb.target(), verb.target_words());
        if !self.memory.contains(at, words) {
            flight.failure = Some(FabricError::OutOfRange { at, words });
            return;
        }
        let server = self.addresses.host(at.region());
        let Some(way) = self.way_of_verb(flight, server) else {
            flight.failure = Some(FabricError::Unreachable(server));
            return;
        };
        self.verbs += 1;
        let usual = self.config.usual_ns(verb);
        let requests_max = if self.coherent { 1 } else { u64::MAX };
        for request in 0..verb.requests().min(requests_max) {
            let load = match request {
                0 => flight.with_continuations(verb),
                // The words around an image: link or version before it, header after it.
                _ => Verb::WriteWord { to: at, value: 0 },
            };
            let before = u64::from(flight.next_verb - 1 - flight.first_verb);
            let is_further = parts.iter().any(|part| part.server == server);
            let posted = Post { pair: (flight.group, server), before, is_further };
            let transit = self.send((flight.node, server), posted, way, &Load::Verb(load), usual);
            flight.back_ns = flight.back_ns.max(transit.back_ns);
            flight.is_local &= transit.is_local;
            match parts.iter_mut().find(|part| part.server == server) {
                Some(part) => part.effect_ns = part.effect_ns.max(transit.served_ns),
                None => parts.push(Part { server, effect_ns: transit.served_ns }),
            }
        }
    }

    /// A part takes effect.
    pub(crate) fn part(&mut self, place: u32, server: u16) {
        let mut flight = self.flights.take(place);
        flight.atomics -= 1;
        self.trace.event(self.now_ns, "a part takes effect of flight", u64::from(place));
        if !self.memory_is_dead(NodeId(server)) {
            for index in flight.first_verb..flight.next_verb {
                let verb = flight.verb(index);
                let is_of_part =
                    verb != Verb::Fence && self.addresses.host(verb.target().region()).0 == server;
                // A verb that was refused at its posting lies in no region.
                if is_of_part && self.memory.contains(verb.target(), verb.target_words()) {
                    self.carry_out(&mut flight, &verb);
                }
            }
        }
        self.flights.put(place, flight);
        self.flights.end_if_over(place);
    }

    /// A segment is back in which keys were missing: a card's first fetch of a bucket proves
    /// nothing, so all those buckets are fetched once more, which takes the usual time and returns
    /// the same words. Returns whether there were any.
    pub(crate) fn fetch_again(&mut self, place: u32, flight: &mut Flight) -> bool {
        let node = flight.node;
        let again = flight.fetched_again..flight.extra_reads.len();
        if again.is_empty() {
            return false;
        }
        flight.fetched_again = again.end;
        self.run_without_task(node, |core| {
            core.pay_for_polling(node, flight.is_local);
            let mut servers = Vec::new();
            for (before, index) in again.enumerate() {
                let (from, words) = flight.extra_reads[index];
                let server = core.addresses.host(from.region());
                let Some(way) = core.way_of_verb(flight, server) else { continue };
                let (verb, usual) = (Verb::Read { from, at: 0, words }, core.config.read_ns);
                let is_further = servers.contains(&server);
                servers.push(server);
                let posted =
                    Post { pair: (flight.group, server), before: before as u64, is_further };
                let transit = core.send((node, server), posted, way, &Load::Verb(verb), usual);
                flight.back_ns = flight.back_ns.max(transit.back_ns);
                flight.end_ns = flight.end_ns.max(transit.served_ns);
            }
        });
        self.plan_landing(place, flight);
        true
    }

    /// A verb takes effect now.
    fn carry_out(&mut self, flight: &mut Flight, verb: &Verb) {
        let batch = flight.batch.as_mut().expect("a flight carries its batch");
        let is_again = take_effect(&mut self.memory, batch, verb, self.coherent);
        if is_again {
            flight.extra_reads.push((verb.target(), verb.target_words()));
            flight.extra_waves = 1;
        }
    }
}
