//! Trees in several worlds: one harness, a model to compare with, threads, and simulated schedules.

mod book;
mod dead_owner;
mod harness;
mod local;
mod model;
mod simulated;
