//! Programs that join a cluster with tables of their own, by `namdb::connect`.

mod cluster;
mod errors;
mod peer;
mod tables;
