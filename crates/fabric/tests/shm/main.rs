//! Fabric `shm` between real processes: this program starts itself again as a memory server or compute process.

mod calls;
mod deaths;
mod doors;
mod parts;
mod play;
mod verbs;
