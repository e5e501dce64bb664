//! The corpus of accepted and rejected files: compared with recorded errors, compared with
//! PostgreSQL, and changed at random.

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
