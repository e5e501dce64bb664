//! TPC-C, being written.
