//! Tests of each resource of a card at its rate, and of the latency of an idle card.

use super::*;
use layout::{GlobalPtr, RegionId};

fn at(word: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(0), 4096 + word * WORD_BYTES)
}

fn read(bytes: u64) -> Load {
    Load::Verb(Verb::Read { from: at(0), at: 0, words: (bytes / WORD_BYTES) as u32 })
}

fn write(bytes: u64) -> Load {
    Load::Verb(Verb::Write { to: at(0), at: 0, words: (bytes / WORD_BYTES) as u32 })
}

fn add(word: u64) -> Load {
    Load::Verb(Verb::FetchAndAdd { word: at(word), add: 1, at: 0 })
}

/// A network of one port whose threads post at once, with `count` cards.
fn world(count: usize) -> (Network, Vec<CardState>) {
    let mut network = Network::connect_ib();
    network.card = network.card.with_ports(1);
    network.core.post_ps = 0;
    let cards = vec![CardState::new(&network.card); count];
    (network, cards)
}

fn posting(ends: (usize, usize), queue_pair: u64) -> Posting {
    Posting { ends, queue_pair, now_ns: 0, delay_ps: 0, is_loopback: false, slowness: 1 }
}

/// Picoseconds between consecutive completions under load, when all other cards send to card 0 in
/// turn.
fn pace_of_ps(network: &Network, cards: &mut [CardState], load: impl Fn(u64) -> Load) -> u64 {
    const COUNT: u64 = 40_000;
    let senders = cards.len() as u64 - 1;
    let mut send = |number: u64| {
        let from = 1 + number % senders;
        network.send(cards, &load(number), posting((from as usize, 0), from)).back_ns
    };
    let first_ns = (0..senders).map(&mut send).max().expect("there are senders");
    let last_ns = (senders..COUNT).map(&mut send).max().expect("many are sent");
    (last_ns - first_ns) * 1000 / (COUNT - senders)
}

fn assert_near(pace_ps: u64, expected_ps: u64) {
    let most = expected_ps.max(pace_ps);
    assert!(pace_ps.abs_diff(expected_ps) * 100 <= most, "{pace_ps} for {expected_ps}");
}

#[test]
fn a_lone_verb_takes_the_sum_of_its_parts() {
    let (network, mut cards) = world(2);
    let card = network.card;
    // Both cards fetch the queue pair's state.
    let there_ps = card.doorbell_ps
        + card.issue_ps(Kind::Read)
        + card.queue_pair_miss_ps
        + card.request_ps(0)
        + card.wire_ps;
    let effect_ps =
        there_ps + card.serve_ps(Kind::Read) + card.queue_pair_miss_ps + card.pcie_read_ps;
    let back_ps = effect_ps + card.response_ps(8) + card.wire_ps + card.pcie_write_ps;
    let transit = network.send(&mut cards, &read(8), posting((1, 0), 1));
    assert_eq!(transit.served_ns, effect_ps.div_ceil(1000));
    assert_eq!(transit.back_ns, (back_ps + network.core.poll_ps).div_ceil(1000));
    // Long after, with everything cached, and a message takes equally long in both directions.
    let later = Posting { now_ns: 10_000, ..posting((1, 0), 1) };
    let again = network.send(&mut cards, &read(8), later);
    let at_hand_ps = 2 * card.queue_pair_miss_ps;
    assert!((again.back_ns - 10_000).abs_diff(transit.back_ns - at_hand_ps / 1000) <= 1);
    // The thread's earlier posts delay it.
    let third = Posting { now_ns: 20_000, delay_ps: 300_000, ..posting((1, 0), 1) };
    let held_up = network.send(&mut cards, &read(8), third);
    assert_eq!(held_up.back_ns - 20_000, again.back_ns - 10_000 + 300);
}

#[test]
fn a_long_verb_streams_through_all_stages() {
    let (network, mut cards) = world(2);
    for (load, link_ps) in [
        (read(1 << 18), network.card.response_ps(1 << 18)),
        (write(1 << 18), network.card.request_ps(1 << 18)),
    ] {
        let now_ns = 1_000_000 * u64::from(load.kind() == Kind::Write);
        let short = Posting { now_ns, ..posting((1, 0), 1) };
        let transit = network.send(&mut cards, &load, short);
        let beside_ns = transit.back_ns - now_ns - link_ps / 1000;
        assert!((1000..2500).contains(&beside_ns), "{beside_ns}");
    }
}

#[test]
fn the_engine_issues_and_serves_at_its_rate() {
    // One sender to eight servers: the sender's engine is the bottleneck.
    let (network, mut cards) = world(9);
    let mut last_ns = 0;
    for number in 0..8000 {
        let ends = (0, 1 + number % 8);
        last_ns = network.send(&mut cards, &read(8), posting(ends, ends.1 as u64)).back_ns;
    }
    // The card tracks 800 of them; the others slow it down.
    let issue_ps = network.card.issue_ps(Kind::Read);
    let slowest_ps = issue_ps + network.card.outstanding_miss_ps;
    let pace_ps = last_ns * 1000 / 8000;
    assert!((issue_ps..slowest_ps).contains(&pace_ps), "{pace_ps}");
    // Eight senders to one server: the server's engine is the bottleneck.
    let (network, mut cards) = world(9);
    assert_near(pace_of_ps(&network, &mut cards, |_| read(8)), network.card.serve_ps(Kind::Read));
    // All to all: one engine both issues and serves.
    let (network, mut cards) = world(8);
    let mut last_ns = 0;
    for number in 0..80_000 {
        let ends = (number % 8, (number + 1 + number / 8 % 7) % 8);
        let pair = ((ends.0 << 8) + ends.1) as u64;
        last_ns = network.send(&mut cards, &read(8), posting(ends, pair)).back_ns.max(last_ns);
    }
    let both_ps = network.card.issue_ps(Kind::Read) + network.card.serve_ps(Kind::Read);
    let pace_ps = last_ns * 1000 / 10_000;
    // No request waits for another, so most are beyond those that the card tracks.
    assert!((both_ps..both_ps + network.card.outstanding_miss_ps).contains(&pace_ps), "{pace_ps}");
}

#[test]
fn links_carry_what_they_can_each_way() {
    let (network, mut cards) = world(9);
    // Reads from a server fill its outgoing link, writes to it its incoming link.
    assert_near(pace_of_ps(&network, &mut cards, |_| read(256)), network.card.response_ps(256));
    let (network, mut cards) = world(9);
    assert_near(pace_of_ps(&network, &mut cards, |_| write(256)), network.card.request_ps(256));
    // Both together do not delay each other: each direction of the link has half of them.
    let (network, mut cards) = world(9);
    let mixed = |number: u64| if (number / 8).is_multiple_of(2) { read(4096) } else { write(4096) };
    let pace_ps = pace_of_ps(&network, &mut cards, mixed);
    let one_way_ps = network.card.request_ps(4096) + network.card.response_ps(0);
    assert_near(pace_ps, one_way_ps / 2);
}

#[test]
fn memory_behind_pcie_is_a_limit_where_links_are_none() {
    let (mut network, mut cards) = world(9);
    network.card.pcie_bytes_per_s = 2_000_000_000;
    assert_near(pace_of_ps(&network, &mut cards, |_| read(1024)), 512_000);
    let mut cards = vec![CardState::new(&network.card); 9];
    assert_near(pace_of_ps(&network, &mut cards, |_| write(1024)), 512_000);
}

#[test]
fn atomics_on_one_word_are_slow_and_on_many_as_fast_as_the_unit() {
    let (network, mut cards) = world(9);
    assert_near(pace_of_ps(&network, &mut cards, |_| add(0)), network.card.same_word_atomic_ps);
    let mut cards = vec![CardState::new(&network.card); 9];
    assert_near(pace_of_ps(&network, &mut cards, add), network.card.atomic_unit_ps);
    let mut cards = vec![CardState::new(&network.card); 9];
    let alike = |number| add(number * network.card.atomic_buckets);
    assert_near(pace_of_ps(&network, &mut cards, alike), network.card.same_word_atomic_ps);
}

#[test]
fn queue_pairs_that_are_not_at_hand_cost_the_engine_time() {
    let (network, _) = world(9);
    let pace_of = |pairs: u64| {
        let mut cards = vec![CardState::new(&network.card); 9];
        let mut last_ns = 0;
        for number in 0..40_000 {
            let pair = number * 7919 % pairs;
            let ends = (1 + (pair % 8) as usize, 0);
            last_ns = network.send(&mut cards, &read(8), posting(ends, pair)).back_ns.max(last_ns);
        }
        last_ns * 1000 / 40_000
    };
    let serve_ps = network.card.serve_ps(Kind::Read);
    assert_near(pace_of(100), serve_ps);
    // In turn, none of 4000 queue pairs is ever cached.
    assert_near(pace_of(4000), serve_ps + network.card.queue_pair_miss_ps);
}

#[test]
fn a_grey_card_takes_longer_for_each() {
    let (network, mut cards) = world(2);
    let usual = network.send(&mut cards, &read(8), posting((1, 0), 1)).back_ns;
    let grey = Posting { slowness: 10, now_ns: 10_000, ..posting((1, 0), 1) };
    let slow = network.send(&mut cards, &read(8), grey).back_ns - 10_000;
    let engines_ps = network.card.issue_ps(Kind::Read) + network.card.serve_ps(Kind::Read);
    let expected = usual + (9 * engines_ps - 2 * network.card.queue_pair_miss_ps) / 1000;
    assert!(slow.abs_diff(expected) <= 1, "{slow} for {expected}");
}
