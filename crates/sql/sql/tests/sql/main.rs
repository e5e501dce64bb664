//! The corpus of accepted and rejected files: against what is recorded, against PostgreSQL, and changed at random.

mod agreement;
mod changes;
mod corpus;
mod documentation;
mod errors;
mod expressions;
mod load;
mod mutation;
mod server;
mod snapshot;
mod workloads;
