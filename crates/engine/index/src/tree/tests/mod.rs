//! Trees in several worlds: one harness, a model to compare with, threads, and simulated schedules.

mod book;
mod harness;
mod local;
mod model;
mod simulated;
