//! The simulated world: virtual time, weak memory, hostile order, injected faults.
//!
//! A run is a seed and a scenario: the same pair leaves the same trace, byte for byte. Memory is
//! the most hostile interpretation of the fabric's contract: each verb is a set of accesses to
//! single words, each at its own moment, in any order that the contract permits, interleaved with
//! the accesses of other verbs.
//!
//! ```text
//! verb             accesses to words                               then
//! read, write      each once, any order
//! swap, addition   a read and, up to a window later, a write; other atomics stay out
//! read_row         all, any order (coherent: version first, last)  torn: again, at most 64 times
//! write_row        all but the header, any order (coherent: TORN first, version last)
//! find_slot        the whole neighbourhood, any order              missing: all of it once more
//! ```
//!
//! The module `memory` knows the value of every word at every moment of the near past and future,
//! so word accesses need no events: a write enters all its words when it is posted, and a read
//! looks its words up when it returns. Events are atomics, completions of batches, task runs,
//! timers and messages of calls.
//!
//! Besides weak memory, a world has faults ([`fault`]), planned or random, each counted when it has
//! an effect ([`coverage`]). For runs that measure speed it has cards and links ([`network`]) and
//! cores that take time and that nodes may share ([`machine`]), and reports how busy each of them
//! is ([`usage`]). Such a world is simulated fastest without weak memory
//! ([`SimConfig::parts_at_once`]), and loaded fastest by [`World::load`].
//!
//! Durable files are on a simulated disk ([`disk`]), which loses what a program forgot to sync.
//!
//! A protocol runs here unchanged, on the [`Endpoint`]s of a [`World`], under every [`Carrier`].
//!
//! ```
//! use fabric::{Batch, Env, Fabric};
//! use layout::{GlobalPtr, RegionId};
//! use sim::{SimConfig, World};
//!
//! let world = World::new(SimConfig::hostile(7).named("two writers"));
//! let word = GlobalPtr::new(RegionId(0), 4096);
//! for index in 0..2 {
//!     let env = world.endpoint(world.compute_node(index));
//!     world.spawn_on(&env.clone(), async move {
//!         let mut batch = Batch::new();
//!         batch.fetch_and_add(word, 1);
//!         env.execute(batch).await.expect("the server is alive");
//!     });
//! }
//! assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
//! assert_eq!(world.peek(word), 2, "{}", world.identity());
//! ```
//!
//! Read [`config`] for the options, [`world`] and [`injection`] for the operations, [`fault`] for
//! the faults; `memory`, then `verbs`, `atomics`, `rows` and `buckets` for how verbs become
//! accesses, `parts` and `effect` for verbs that take effect at one moment, `flight` for the life
//! of a batch, `calls` for calls, `processes` and `turns` for scheduling, and `inject` for fault
//! injection.
#![forbid(unsafe_code)]

mod atomics;
mod buckets;
mod calendar;
mod calls;
mod clock;
pub mod config;
mod cores;
pub mod coverage;
pub mod disk;
mod effect;
pub mod env;
pub mod fault;
mod flight;
mod inject;
pub mod injection;
mod links;
mod loading;
pub mod machine;
mod memory;
pub mod network;
mod parts;
mod pieces;
mod points;
mod processes;
mod queue_pairs;
mod random;
pub mod replicas;
mod rows;
mod scheduler;
mod shadow;
mod state;
mod timers;
mod trace;
mod turns;
pub mod usage;
mod verbs;
pub mod world;

pub use config::{BrokenPromises, Carrier, Interval, SimConfig, Tearing};
pub use coverage::Coverage;
pub use env::{AsEndpoint, Endpoint};
pub use fault::{Fault, FaultKind, FaultRate, Memory, PlannedFault, Victims, When};
pub use machine::{Machines, Reach};
pub use network::Network;
pub use replicas::Differing;
pub use usage::Usage;
pub use world::World;
