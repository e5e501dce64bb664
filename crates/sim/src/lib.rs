//! The simulated world: virtual time, weak memory, hostile order, injected faults.
//!
//! A run is a seed and a scenario: the same pair leaves the same trace, byte for byte. Memory is the most
//! hostile reading of the fabric's contract: each verb is a set of accesses to single words, every one at
//! a moment of its own, in any order that the contract does not forbid, while the words of other verbs
//! fall in between.
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
//! Memory knows what every word holds at every moment of the near past and future (`memory`), so words need
//! no events: a write enters all its words when it is posted, a read looks them up when it is back. What
//! is an event is an atomic, the completion of a batch, a task that runs, a timer, a message of a call.
//!
//! On top of weak memory come faults ([`fault`]), by plan or by chance, each counted when it has an effect
//! ([`coverage`]), and, where a run is to tell how fast something is, cards and links ([`network`]) and cores
//! that take time, which nodes may share ([`machine`]), and
//! tells how busy all of that is ([`usage`]). Such a world is simulated fastest if memory is not weak
//! ([`SimConfig::parts_at_once`]), and filled fastest by [`World::load`].
//!
//! A protocol runs here unchanged, on the [`Endpoint`]s of a [`World`], whoever carries out its verbs ([`Carrier`]).
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
//! The files to read: [`config`] for what can be chosen, [`world`] and [`injection`] for what can be done,
//! [`fault`] for what can go wrong; `memory`, then `verbs`, `atomics`, `rows` and `buckets` for how verbs become
//! accesses, `parts` and `effect` for verbs that take effect at one moment, `flight` for the life of a batch, `calls`
//! for calls, `processes` and `turns` for who runs, `inject` for how faults come about.
#![forbid(unsafe_code)]

mod atomics;
mod buckets;
mod calendar;
mod calls;
mod clock;
pub mod config;
mod cores;
pub mod coverage;
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
mod points;
mod processes;
mod queue_pairs;
mod random;
mod rows;
mod scheduler;
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
pub use usage::Usage;
pub use world::World;
