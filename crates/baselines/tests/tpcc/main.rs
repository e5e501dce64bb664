//! TPC-C on the baselines keeps its conditions.

mod h_store;
mod trad_si;
