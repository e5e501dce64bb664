//! Executes procedures on small databases, in one process and in the simulator.

mod ahead;
mod constraints;
mod control;
mod damaged;
mod database;
mod later;
mod lookups;
mod naive;
mod operators;
mod shipped;
mod simulated;
