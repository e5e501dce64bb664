//! TPC-C on the baselines keeps its consistency conditions.

mod h_store;
mod nam_db;
mod trad_si;
