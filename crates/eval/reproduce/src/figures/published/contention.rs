//! [ZB17 7.4, figure 8]: some items are chosen more often than others, with the protocol as
//! printed: throughput and abort rate by the number of machines.

use super::scalability::{parameters, standard};
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series};
use crate::published::{self, Plan, Seen};
use baselines::nam_db::Timestamps;
use workload::tpcc::ItemChoice;

const MACHINES: [u16; 5] = [2, 8, 16, 28, 56];
const MACHINES_QUICK: [u16; 2] = [2, 4];
/// The distributions of items [ZB17 7.4]; the last entry shows the cost of the vector's
/// optimizations.
const CHOICES: [(&str, ItemChoice, Timestamps); 6] = [
    ("uniform", ItemChoice::Uniform, Timestamps::OPTIMIZED),
    ("zipf 0.8", ItemChoice::Zipf { theta_percent: 80 }, Timestamps::OPTIMIZED),
    ("zipf 0.9", ItemChoice::Zipf { theta_percent: 90 }, Timestamps::OPTIMIZED),
    ("zipf 1.0", ItemChoice::Zipf { theta_percent: 100 }, Timestamps::OPTIMIZED),
    ("zipf 2.0", ItemChoice::Zipf { theta_percent: 200 }, Timestamps::OPTIMIZED),
    (
        "uniform, each transaction reads the vector of all threads",
        ItemChoice::Uniform,
        Timestamps::BASIC,
    ),
];

/// The left half of the figure.
pub fn throughput(run: &mut Run<'_>) -> Outcome {
    outcome(run, "million new orders per second", |seen| seen.new_orders_per_s() / 1e6)
}

/// The right half.
pub fn aborts(run: &mut Run<'_>) -> Outcome {
    outcome(run, "aborted attempts of all, percent", Seen::abort_percent)
}

fn outcome(run: &mut Run<'_>, title: &'static str, value: fn(&Seen) -> f64) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut done, total) = (0, (sizes.len() * CHOICES.len()) as u64);
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (name, item_choice, timestamps) in CHOICES {
        let mut points = Vec::new();
        for &machines in sizes {
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            let plan = Plan { item_choice, timestamps, ..standard(run, machines, false) };
            let seen = published::run(&plan);
            points.push((f64::from(machines), value(&seen)));
            if sizes.last() == Some(&machines) {
                notes.push(seen.sentence(name, machines));
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    notes.push(
        "Most of what is aborted has nothing to do with items: the next transaction of a thread begins before the vector that \
         is fetched for it covers the last one, and meets that in its warehouse or district."
            .to_owned(),
    );
    notes.push(
        "With zipf 2.0 most lines of an order are of one item: a transaction reads and writes fewer records."
            .to_owned(),
    );
    notes.push(
        "The text prints no number: with more skew more is aborted there, which has no huge impact on the throughput."
            .to_owned(),
    );
    notes.push(
        "Zipf's law is over the 100,000 items of the specification; ranks beyond what is loaded fall on the colder half of \
         it. Uniform is over what is loaded, in which a hundred times as many meet."
            .to_owned(),
    );
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title, is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared: Vec::new(),
        notes,
    }
}
