//! The model of a network card.
//!
//! ```text
//!   requester                                                     responder
//!   core: post -> doorbell -> engine: issue -> link out ... wire ... link in -> engine: serve
//!                                                                                  |
//!                                          write, message: PCIe write ------------+  acknowledged at once
//!                                          read:           PCIe read  ------------+  answered with the bytes
//!                                          atomic:         unit, then bucket of words, for as long as
//!                                                          reading and writing over PCIe takes
//!                                                                                  |
//!   core: poll <- PCIe write <- link in ... wire ... link out <-------------------+
//! ```
//!
//! One engine issues what a machine asks for and serves what others ask of it: measured rates of both at
//! once are those of either added up as times. Each verb takes it for a time by kind and size. A queue pair
//! whose state is not in the card's cache, and a request beyond those that the card keeps at hand, take it
//! for longer. Links carry bytes with headers, each way apart.

use crate::sheet::Sheet;

/// Picoseconds of a second.
const SECOND_PS: u64 = 1_000_000_000_000;

/// What a card is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Fetches words.
    Read,
    /// Stores words.
    Write,
    /// Swaps or adds to a word.
    Atomic,
    /// Carries a message to whoever polls for it.
    Message,
}

/// What a card, and the link behind it, are able to do. Times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card {
    /// Ports that carry traffic.
    pub ports: u64,
    /// Bytes per second of a port, each way.
    pub port_bytes_per_s: u64,
    /// Bytes of payload that one packet carries.
    pub packet_bytes: u64,
    /// Bytes around the payload of each packet of a request.
    pub request_header_bytes: u64,
    /// Bytes around the payload of each packet of an answer, and all bytes of an acknowledgement.
    pub response_header_bytes: u64,
    /// From card to card, one way.
    pub wire_ps: u64,
    /// From a core's posting until the card's engine has the request.
    pub doorbell_ps: u64,
    /// Time of the engine to issue, by kind.
    issue_ps: [u64; 4],
    /// Time of the engine to serve, by kind.
    serve_ps: [u64; 4],
    /// Bytes whose handling is included in those times.
    pub included_bytes: u64,
    /// Bytes beyond those that the engine moves per second.
    pub engine_bytes_per_s: u64,
    /// Payloads that are longer
    pub split_bytes: u64,
    /// take the engine this much longer.
    pub split_ps: u64,
    /// Queue pairs whose state the card keeps at hand.
    pub queue_pairs_cached: u64,
    /// How much longer the engine takes for another one.
    pub queue_pair_miss_ps: u64,
    /// Requests under way that the card keeps at hand.
    pub outstanding_max: u64,
    /// How much longer the engine takes to issue one that comes when nearly all are beyond those.
    pub outstanding_miss_ps: u64,
    /// Time of the card's unit for atomics, for each.
    pub atomic_unit_ps: u64,
    /// For how long an atomic excludes others of its bucket of words.
    pub same_word_atomic_ps: u64,
    /// Words are told apart by so many buckets.
    pub atomic_buckets: u64,
    /// Bytes per second between card and memory, each way.
    pub pcie_bytes_per_s: u64,
    /// Until the card has read from memory.
    pub pcie_read_ps: u64,
    /// Until what the card writes is seen by a core.
    pub pcie_write_ps: u64,
}

/// Picoseconds that `bytes` take at a pace.
#[inline]
pub(crate) fn bytes_ps(bytes: u64, bytes_per_s: u64) -> u64 {
    // Simulated worlds ask several times for each verb, and dividing 128 bits takes several times as long as 64.
    match bytes.checked_mul(SECOND_PS) {
        Some(product) => product / bytes_per_s,
        None => (u128::from(bytes) * u128::from(SECOND_PS) / u128::from(bytes_per_s)) as u64,
    }
}

impl Card {
    pub(crate) fn read(sheet: &mut Sheet<'_>) -> Self {
        let mut times = |verb| {
            ["read", "write", "atomic", "message"]
                .map(|kind| sheet.picoseconds(&format!("{verb}_{kind}_ns")))
        };
        let (issue_ps, serve_ps) = (times("issue"), times("serve"));
        Self {
            ports: sheet.whole("ports", 1),
            port_bytes_per_s: sheet.whole("port_bytes_per_s", 1),
            packet_bytes: sheet.whole("packet_bytes", 1),
            request_header_bytes: sheet.whole("request_header_bytes", 0),
            response_header_bytes: sheet.whole("response_header_bytes", 0),
            wire_ps: sheet.picoseconds("wire_ns"),
            doorbell_ps: sheet.picoseconds("doorbell_ns"),
            issue_ps,
            serve_ps,
            included_bytes: sheet.whole("included_bytes", 0),
            engine_bytes_per_s: sheet.whole("engine_bytes_per_s", 1),
            split_bytes: sheet.whole("split_bytes", 1),
            split_ps: sheet.picoseconds("split_ns"),
            queue_pairs_cached: sheet.whole("queue_pairs_cached", 1),
            queue_pair_miss_ps: sheet.picoseconds("queue_pair_miss_ns"),
            outstanding_max: sheet.whole("outstanding_max", 1),
            outstanding_miss_ps: sheet.picoseconds("outstanding_miss_ns"),
            atomic_unit_ps: sheet.picoseconds("atomic_unit_ns"),
            same_word_atomic_ps: sheet.picoseconds("same_word_atomic_ns"),
            atomic_buckets: sheet.whole("atomic_buckets", 1),
            pcie_bytes_per_s: sheet.whole("pcie_bytes_per_s", 1),
            pcie_read_ps: sheet.picoseconds("pcie_read_ns"),
            pcie_write_ps: sheet.picoseconds("pcie_write_ns"),
        }
    }

    /// The same card with `ports` ports in use, of those that it has.
    pub fn with_ports(self, ports: u64) -> Self {
        assert!((1..=self.ports).contains(&ports), "the card has {} ports", self.ports);
        Self { ports, ..self }
    }

    /// The same card whose engine issues in this time, whatever it is.
    pub fn with_issue_ps(self, issue_ps: u64) -> Self {
        Self { issue_ps: [issue_ps; 4], ..self }
    }

    /// The same card whose engine serves this kind in this time.
    pub fn with_serve_ps(mut self, kind: Kind, serve_ps: u64) -> Self {
        self.serve_ps[kind as usize] = serve_ps;
        self
    }

    /// Bytes per second of the link, each way.
    pub fn link_bytes_per_s(&self) -> u64 {
        self.ports * self.port_bytes_per_s
    }

    /// Time of the engine to issue a verb, with all it needs at hand.
    #[inline]
    pub fn issue_ps(&self, kind: Kind) -> u64 {
        self.issue_ps[kind as usize]
    }

    /// Time of the engine to serve a verb, with all it needs at hand.
    #[inline]
    pub fn serve_ps(&self, kind: Kind) -> u64 {
        self.serve_ps[kind as usize]
    }

    /// How much longer the engine of either card takes for a verb that sends or fetches `bytes`.
    #[inline]
    pub fn moved_ps(&self, bytes: u64) -> u64 {
        if bytes <= self.included_bytes {
            return 0;
        }
        let split_ps = if bytes > self.split_bytes { self.split_ps } else { 0 };
        split_ps + bytes_ps(bytes - self.included_bytes, self.engine_bytes_per_s)
    }

    /// Time on a link of a payload with the headers of a request.
    #[inline]
    pub fn request_ps(&self, bytes: u64) -> u64 {
        self.link_ps(bytes, self.request_header_bytes)
    }

    /// Time on a link of a payload with the headers of an answer.
    #[inline]
    pub fn response_ps(&self, bytes: u64) -> u64 {
        self.link_ps(bytes, self.response_header_bytes)
    }

    #[inline]
    fn link_ps(&self, bytes: u64, header_bytes: u64) -> u64 {
        let packets =
            if bytes <= self.packet_bytes { 1 } else { bytes.div_ceil(self.packet_bytes) };
        bytes_ps(bytes + packets * header_bytes, self.link_bytes_per_s())
    }

    /// Time of `bytes` between card and memory.
    #[inline]
    pub fn pcie_ps(&self, bytes: u64) -> u64 {
        bytes_ps(bytes, self.pcie_bytes_per_s)
    }

    /// How much longer the engine takes to issue while `outstanding` requests are under way.
    #[inline]
    pub fn crowding_ps(&self, outstanding: u64) -> u64 {
        match outstanding.checked_sub(self.outstanding_max) {
            Some(beyond) if beyond > 0 => self.outstanding_miss_ps * beyond / outstanding,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;

    fn card() -> Card {
        profile("connect-ib-2xfdr").expect("it is built in").card
    }

    #[test]
    fn measured_rates_of_reads_by_size_come_out() {
        // rdma_bench, Connect-IB: millions of reads a second, each machine issuing and serving.
        let measured = [(8, 51.3), (40, 49.5), (72, 47.1), (136, 39.4), (200, 34.6), (392, 23.0)];
        for (bytes, millions) in measured {
            let both_ps = card().issue_ps(Kind::Read)
                + card().serve_ps(Kind::Read)
                + 2 * card().moved_ps(bytes);
            let ours = 1e6 / both_ps as f64;
            let error = ours / millions - 1.0;
            assert!(error.abs() < 0.06, "{bytes} bytes: {ours:.1} for {millions} million");
        }
    }

    #[test]
    fn both_ports_carry_what_is_printed() {
        assert_eq!(card().link_bytes_per_s(), 13_640_000_000);
        assert_eq!(card().with_ports(1).link_bytes_per_s(), 6_820_000_000);
        // A megabyte: 256 packets with their headers.
        let link_ps = card().response_ps(1 << 20);
        assert_eq!(link_ps, ((1 << 20) + 256 * 30) * 1_000_000 / 13_640);
    }

    #[test]
    fn requests_beyond_those_at_hand_take_longer() {
        let card = profile("connectx6-200g").expect("it is built in").card;
        assert_eq!((card.crowding_ps(0), card.crowding_ps(1100)), (0, 0));
        // SMART's artefact: 111 million reads a second, 74 million with 2,304 under way.
        let read_ps = card.issue_ps(Kind::Read) + card.crowding_ps(2304);
        assert!((12_800..14_000).contains(&read_ps), "{read_ps}");
    }
}
