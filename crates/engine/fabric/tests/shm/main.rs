//! Fabric `shm` between real processes: this program starts itself as a memory server or compute
//! process.
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod calls;
mod deaths;
mod doors;
mod parts;
mod peers;
mod play;
mod verbs;
