//! Worlds whose verbs take exactly the time of their hardware.
//!
//! Decision: docs/decisions/0113-worlds-that-measure-speed-have-strong-memory.md

use fabric::Batch;
use layout::{GlobalPtr, RegionId};
use sim::{Machines, Network, SimConfig, World};
use std::cell::Cell;
use std::rc::Rc;

/// The first byte of the experiments' words: behind the header of a region.
const FIRST_BYTE: u64 = 4096;

/// The network of a built-in profile, with this many ports in use, or all if it has fewer.
pub(crate) fn network(profile: &str, ports: u64) -> Network {
    let profile = hardware::profile(profile).expect("experiments name built-in profiles");
    let mut network = Network::of(&profile);
    network.card = network.card.with_ports(ports.min(network.card.ports));
    network
}

/// The same network, with engines that take no time: the bandwidth of links is the limit.
pub(crate) fn links_alone(network: Network) -> Network {
    let kinds = [
        hardware::Kind::Read,
        hardware::Kind::Write,
        hardware::Kind::Atomic,
        hardware::Kind::Message,
    ];
    let card = kinds.into_iter().fold(network.card, |card, kind| card.with_serve_ps(kind, 0));
    let mut card = card.with_issue_ps(0);
    card.engine_bytes_per_s = u64::MAX;
    let mut core = network.core;
    (core.post_ps, core.poll_ps, core.serve_message_ps) = (0, 0, 0);
    Network { card, core, ..network }
}

/// A world of memory servers, each with `words` words, and compute nodes, in which only hardware
/// takes time.
pub(crate) fn world(
    seed: u64,
    network: Network,
    servers_and_nodes: (u16, u16),
    words: u64,
) -> World {
    World::new(settings(seed, network, servers_and_nodes, words))
}

/// The same, with nodes that share the cards and cores of machines.
pub(crate) fn world_on(
    machines: Machines,
    seed: u64,
    network: Network,
    servers_and_nodes: (u16, u16),
    words: u64,
) -> World {
    World::new(settings_on(machines, seed, network, servers_and_nodes, words))
}

/// The configuration of such a world.
pub(crate) fn settings_on(
    machines: Machines,
    seed: u64,
    network: Network,
    servers_and_nodes: (u16, u16),
    words: u64,
) -> SimConfig {
    let settings = settings(seed, network, servers_and_nodes, words);
    SimConfig { machines: Some(machines), parts_at_once: true, ..settings }
}

fn settings(seed: u64, network: Network, nodes: (u16, u16), words: u64) -> SimConfig {
    SimConfig::on_hardware(seed, network, nodes, words).named("reproduce")
}

/// Word `word` of a server, behind its header.
pub(crate) fn at(server: u16, word: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(server), FIRST_BYTE).add_words(word)
}

/// An empty batch that reuses the memory of a completed one.
pub(crate) fn again(mut batch: Batch) -> Batch {
    batch.reset();
    batch
}

/// Counts the completed work of tasks.
pub(crate) type Done = Rc<Cell<u64>>;

/// Lets time pass, and then measures the work per second of virtual time.
pub(crate) fn per_second(world: &World, done: &Done, (warm_ns, window_ns): (u64, u64)) -> f64 {
    world.run_for(warm_ns);
    let before = done.get();
    world.run_for(window_ns);
    (done.get() - before) as f64 * 1e9 / window_ns as f64
}
