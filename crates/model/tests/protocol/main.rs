//! The protocol as published, ours, ours without each of its guards, and what ours rests on.

mod limits;
mod mutants;
mod ours;
mod published;
mod run;
