//! Back end `local`: threads of one process that share the regions of its memory servers.

mod env;
mod execute;
mod world;

pub use env::{LocalEnv, run_now};
pub use world::{LocalWorld, WorldConfig};
