//! The figures of SPADE, on its machines [SPADE 5.2].
//!
//! Decision: docs/decisions/0227-spades-figures-card-pairs-partitioned-tatp-shipped-tpc-c.md

pub(crate) mod designs;
pub mod inlined;
pub mod mix;
pub mod regret;
pub mod tatp;
pub mod tpcc;
pub mod transfers;
pub mod update;

use crate::experiment::Run;
use crate::outcome::{Compared, Role};

/// Machines of the paper's clusters.
const MACHINES: [u16; 6] = [5, 10, 20, 30, 40, 50];
const MACHINES_QUICK: [u16; 2] = [5, 10];

/// The numbers of machines of a run.
fn sizes(run: &Run<'_>) -> &'static [u16] {
    run.quick_or(&MACHINES_QUICK, &MACHINES)
}

/// A number that the text prints, compared with ours; no parameter was chosen by it.
fn prediction(
    what: String,
    unit: &'static str,
    published: f64,
    ours: f64,
    why: &'static str,
) -> Compared {
    Compared { what, unit, published, ours, role: Role::Prediction, why: Some(why) }
}
