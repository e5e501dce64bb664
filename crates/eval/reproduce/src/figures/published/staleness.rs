//! [ZB17 4.2], the claim that fetching the vector in advance leads to fewer aborts: the abort rate
//! with each step of the oracle, for TPC-C's standard mix with locality, where transactions are
//! short and no warehouse has two threads.

use super::scalability::{parameters, standard};
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series};
use crate::published::{self, Plan};
use baselines::nam_db::{Fetch, Slots, Timestamps};

const MACHINES: [u16; 4] = [2, 8, 16, 28];
const MACHINES_QUICK: [u16; 2] = [2, 8];

/// The steps of the oracle.
const STEPS: [(&str, Timestamps); 5] = [
    ("timestamp vector", Timestamps::BASIC),
    ("background fetch", Timestamps { fetch: Fetch::Background, slots: Slots::Threads }),
    (
        "one slot per server",
        Timestamps { fetch: Fetch::EachTransaction, slots: Slots::ServersInOrder },
    ),
    ("both", Timestamps::OPTIMIZED),
    (
        "both, each thread writes its own number",
        Timestamps { fetch: Fetch::Background, slots: Slots::ServersAsDrawn },
    ),
];

pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut done, total) = (0, (sizes.len() * STEPS.len()) as u64);
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (name, timestamps) in STEPS {
        let mut points = Vec::new();
        for &machines in sizes {
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            let seen = published::run(&Plan { timestamps, ..standard(run, machines, true) });
            points.push((f64::from(machines), seen.abort_percent()));
            if sizes.last() == Some(&machines) {
                notes.push(seen.sentence(name, machines));
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    notes.push(
        "The text prints no number. Each thread that writes its own number into a shared slot makes visible what others have \
         not installed."
            .to_owned(),
    );
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "aborted attempts of all, percent", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared: Vec::new(),
        notes,
    }
}
