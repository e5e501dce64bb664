//! The simulated world's promises, and the properties that it must not have by accident.

mod atomics;
mod buckets;
mod calls;
mod determinism;
mod dropped;
mod faults;
mod help;
mod injected;
mod limits;
mod loading;
mod machines;
mod order;
mod parts;
mod promises;
mod rows;
mod strengths;
mod time;
