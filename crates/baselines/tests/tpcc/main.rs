//! TPC-C on the baselines keeps its conditions.

mod trad_si;
