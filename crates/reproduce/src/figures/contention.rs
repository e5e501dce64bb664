//! [ZB17 7.4, figure 8] with our engine: items that some choose more often than others, and beside it what the protocol as
//! printed aborts with the same choice.

use super::published::scalability::standard;
use super::scalability;
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::published;
use crate::tpcc::{self, Plan};
use workload::tpcc::ItemChoice;

const MACHINES: [u16; 4] = [2, 8, 28, 56];
const MACHINES_QUICK: [u16; 2] = [2, 4];
/// How items are chosen [ZB17 7.4].
const CHOICES: [(&str, ItemChoice); 5] = [
    ("uniform", ItemChoice::Uniform),
    ("zipf 0.8", ItemChoice::Zipf { theta_percent: 80 }),
    ("zipf 0.9", ItemChoice::Zipf { theta_percent: 90 }),
    ("zipf 1.0", ItemChoice::Zipf { theta_percent: 100 }),
    ("zipf 2.0", ItemChoice::Zipf { theta_percent: 200 }),
];

/// Runs all sizes and choices, and the protocol as printed at the largest size.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let largest = sizes[sizes.len() - 1];
    let (mut done, total) = (0, ((sizes.len() + 1) * CHOICES.len()) as u64);
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for (name, item_choice) in CHOICES {
        let mut points = Vec::new();
        let mut of_largest = Vec::new();
        for &machines in sizes {
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            let plan = Plan { item_choice, ..scalability::plan(run, machines, false) };
            let seen = tpcc::run(&plan);
            points.push((f64::from(machines), seen.new_orders_per_s() / 1e6));
            of_largest = vec![millions(seen.new_orders_per_s()), percent(seen.abort_percent())];
        }
        (run.progress)(done, total, &format!("{name}, as printed"));
        done += 1;
        let printed = published::Plan { item_choice, ..standard(run, largest, false) };
        let printed = published::run(&printed);
        rows.push(vec![name.to_owned()]);
        let row = rows.last_mut().expect("it was pushed just now");
        row.extend(of_largest);
        row.extend([millions(printed.new_orders_per_s()), percent(printed.abort_percent())]);
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    Outcome {
        parameters: scalability::parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: vec![Table {
            shows: format!("Ours and the protocol as printed, {largest} machines"),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        series,
        compared: Vec::new(),
        notes: vec![
            "Zipf's law is over the 100,000 items of the specification; ranks beyond what is loaded fall on the colder half \
             of it."
                .to_owned(),
        ],
    }
}

const COLUMNS: [&str; 5] = [
    "items",
    "ours, million new orders/s",
    "ours, aborted attempts",
    "as printed, million new orders/s",
    "as printed, aborted attempts",
];

fn millions(per_s: f64) -> String {
    format!("{:.2}", per_s / 1e6)
}

fn percent(share: f64) -> String {
    format!("{share:.1} %")
}
