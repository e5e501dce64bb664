//! The published protocol, ours, ours without each of its guards, and the assumptions of ours.

mod group_commit;
mod limits;
mod mutants;
mod ours;
mod published;
mod run;
