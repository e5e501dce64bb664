//! Back ends `local` and `shm`: threads of one or several processes that share the memory servers'
//! regions.

mod env;
mod execute;
mod file;
mod huge;
mod world;

pub use env::{LocalEnv, run_now};
pub(crate) use execute::execute_verbs;
pub use file::Pages;
pub(crate) use file::{create as create_file, create_private};
pub(crate) use world::{Caller, Callers, write_header};
pub use world::{LocalWorld, Replicas, ServerConfig, Sharing, WorldConfig};
