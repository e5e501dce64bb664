//! TPC-C on the baselines keeps its conditions.

mod h_store;
mod nam_db;
mod trad_si;
