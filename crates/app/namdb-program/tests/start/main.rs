//! `namdb start` and `namdb sql`, as processes.

mod process;
mod prompt;
mod server;
