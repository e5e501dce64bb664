//! The model of a network card.
//!
//! ```text
//!   requester                                                     responder
//!   core: post -> doorbell -> engine: issue -> link out ... wire ... link in -> engine: serve
//!                                                                                  |
//!                                          write, message: PCIe write ----------+  acknowledged
//!                                          read:           PCIe read  ----------+  returns data
//!                                          atomic:         unit, then bucket of words,
//!                                                          for one read and one write over PCIe
//!                                                                                  |
//!   core: poll <- PCIe write <- link in ... wire ... link out <-------------------+
//! ```
//!
//! One engine both issues the machine's own requests and serves the requests of other machines.
//! That matches the measured rates: the time of a verb that is both issued and served is the sum of
//! the two times. The engine's time per verb depends on kind and size. A queue pair whose state is
//! not in the card's cache costs extra, and so does a request beyond the number that the card
//! tracks without a miss. Links carry bytes with headers; the two directions are independent.
//!
//! Decision: docs/decisions/0108-one-engine-for-what-a-card-issues-and-serves.md

use crate::sheet::Sheet;

/// Picoseconds of a second.
const SECOND_PS: u64 = 1_000_000_000_000;

/// The kinds of work a card does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Read,
    Write,
    /// Swaps or adds to a word.
    Atomic,
    /// Carries a message to the thread that polls for it.
    Message,
}

/// The capabilities of a card and the link behind it. Times are in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card {
    /// Ports that carry traffic.
    pub ports: u64,
    /// Bytes per second of a port, each way.
    pub port_bytes_per_s: u64,
    /// Bytes of payload that one packet carries.
    pub packet_bytes: u64,
    /// Header and trailer bytes of each packet of a request.
    pub request_header_bytes: u64,
    /// Header and trailer bytes of each packet of a response, and all bytes of an acknowledgement.
    pub response_header_bytes: u64,
    /// Latency from card to card, one way.
    pub wire_ps: u64,
    /// Time from a core's posting until the card's engine has the request.
    pub doorbell_ps: u64,
    /// Time in which the engine issues a verb, by kind.
    issue_ps: [u64; 4],
    /// Time in which the engine serves a verb, by kind.
    serve_ps: [u64; 4],
    /// Payload bytes whose handling `issue_ps` and `serve_ps` include.
    pub included_bytes: u64,
    /// Rate at which the engine moves the bytes beyond `included_bytes`.
    pub engine_bytes_per_s: u64,
    /// A payload longer than this takes the engine `split_ps` longer.
    pub split_bytes: u64,
    pub split_ps: u64,
    /// Queue pairs whose state fits into the card's cache.
    pub queue_pairs_cached: u64,
    /// Extra engine time if the queue pair's state is not in the cache.
    pub queue_pair_miss_ps: u64,
    /// Outstanding requests that the card tracks without a miss.
    pub outstanding_max: u64,
    /// Upper bound of the extra issue time per request beyond `outstanding_max`, see `crowding_ps`.
    pub outstanding_miss_ps: u64,
    /// Time of the card's atomic unit per atomic.
    pub atomic_unit_ps: u64,
    /// Time for which an atomic excludes other atomics on its bucket of words.
    pub same_word_atomic_ps: u64,
    /// Number of buckets of words; atomics on words of different buckets do not wait for each
    /// other.
    pub atomic_buckets: u64,
    /// Bytes per second between card and memory, each way.
    pub pcie_bytes_per_s: u64,
    /// Time until the card has read from memory.
    pub pcie_read_ps: u64,
    /// Time until a core sees what the card writes.
    pub pcie_write_ps: u64,
}

/// Picoseconds that `bytes` take at a rate of `bytes_per_s`.
#[inline]
pub(crate) fn bytes_ps(bytes: u64, bytes_per_s: u64) -> u64 {
    // Simulated worlds call this several times per verb, and a 128-bit division takes several times
    // as long as a 64-bit one.
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

    /// The same card with `ports` of its ports in use.
    pub fn with_ports(self, ports: u64) -> Self {
        assert!((1..=self.ports).contains(&ports), "the card has {} ports", self.ports);
        Self { ports, ..self }
    }

    /// The same card with one issue time for verbs of all kinds.
    pub fn with_issue_ps(self, issue_ps: u64) -> Self {
        Self { issue_ps: [issue_ps; 4], ..self }
    }

    /// The same card with another serve time for verbs of this kind.
    pub fn with_serve_ps(mut self, kind: Kind, serve_ps: u64) -> Self {
        self.serve_ps[kind as usize] = serve_ps;
        self
    }

    /// Bytes per second of the link, each way.
    pub fn link_bytes_per_s(&self) -> u64 {
        self.ports * self.port_bytes_per_s
    }

    /// Time in which the engine issues a verb without any cache miss.
    #[inline]
    pub fn issue_ps(&self, kind: Kind) -> u64 {
        self.issue_ps[kind as usize]
    }

    /// Time in which the engine serves a verb without any cache miss.
    #[inline]
    pub fn serve_ps(&self, kind: Kind) -> u64 {
        self.serve_ps[kind as usize]
    }

    /// Extra time of the engine of either card for a verb that sends or fetches `bytes`.
    #[inline]
    pub fn moved_ps(&self, bytes: u64) -> u64 {
        if bytes <= self.included_bytes {
            return 0;
        }
        let split_ps = if bytes > self.split_bytes { self.split_ps } else { 0 };
        split_ps + bytes_ps(bytes - self.included_bytes, self.engine_bytes_per_s)
    }

    /// Time of a payload on a link, with the headers of a request.
    #[inline]
    pub fn request_ps(&self, bytes: u64) -> u64 {
        self.link_ps(bytes, self.request_header_bytes)
    }

    /// Time of a payload on a link, with the headers of a response.
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

    /// Time of `bytes` on the bus between card and memory.
    #[inline]
    pub fn pcie_ps(&self, bytes: u64) -> u64 {
        bytes_ps(bytes, self.pcie_bytes_per_s)
    }

    /// Extra issue time while `outstanding` requests are under way.
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
    fn the_model_matches_measured_rates_of_reads_by_size() {
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
