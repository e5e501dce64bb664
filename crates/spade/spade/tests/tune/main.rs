//! The tuner on the shipped workloads: with a hand-made cluster, whose prices say what is right, and with a measured one.

mod access;
mod counts;
mod given;
mod local;
mod memory;
mod nearness;
mod partitions;
mod reasons;
mod refusals;
mod shipped;
mod storage;
mod support;
mod sweep;
mod versions;
