//! The fabrics.

mod child;
mod garbage;
pub mod local;
mod messages;
pub mod performer;
pub mod processes;
pub mod rendezvous;
pub mod shm;
pub mod simulated;
pub mod tcp;
pub mod verbs;
