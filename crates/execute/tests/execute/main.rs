//! Procedures carried out on small databases in one process and in the simulator.

mod control;
mod database;
mod naive;
