//! The tuner on the shipped workloads: with artificial measurements, whose prices imply the right
//! answers, and with simulated ones.

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
