//! [ZB17 7.5]: the effect of a few threads that only communicate on the number of queue pairs, with
//! the protocol as printed, without locality.

use super::scalability::{parameters, standard};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::published::{self, Plan, Seen};

const MACHINES: [u16; 3] = [8, 28, 56];
const MACHINES_QUICK: [u16; 2] = [2, 4];

/// The threads that post.
#[derive(Clone, Copy)]
struct Posters {
    name: &'static str,
    queue_pairs: u32,
    communicators: u32,
}

const ALL: [Posters; 5] = [
    Posters { name: "each thread, by queue pairs of its own", queue_pairs: 0, communicators: 0 },
    Posters { name: "each thread, by 16 queue pairs of all", queue_pairs: 16, communicators: 0 },
    Posters { name: "2 communicators", queue_pairs: 0, communicators: 2 },
    Posters { name: "4 communicators", queue_pairs: 0, communicators: 4 },
    Posters { name: "8 communicators", queue_pairs: 0, communicators: 8 },
];

/// Runs all of them over all sizes.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let largest = sizes[sizes.len() - 1];
    let mut steps = Steps::of(sizes.len() * ALL.len());
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for who in ALL {
        let mut points = Vec::new();
        for &machines in sizes {
            steps.next(run, &format!("{}, {machines} machines", who.name));
            let Posters { queue_pairs, communicators, .. } = who;
            let plan = Plan { queue_pairs, communicators, ..standard(run, machines, false) };
            let seen = published::run(&plan);
            points.push((f64::from(machines), seen.new_orders_per_s() / 1e6));
            if machines == largest {
                rows.push(row(who, &plan, &seen));
            }
        }
        series.push(Series { name: who.name.to_owned(), points, is_published: false });
    }
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: vec![Table {
            shows: format!("Posting threads, with {largest} machines"),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        series,
        compared: Vec::new(),
        notes: vec![
            "The text prints no number: it names communicators as a way to fewer queue pairs, at the potential cost of \
             coordination."
                .to_owned(),
            "A communicator is one of the 16 cores of its machine, which executes nothing then.".to_owned(),
        ],
    }
}

const COLUMNS: [&str; 6] = [
    "posted by",
    "queue pairs of a memory server",
    "million new orders/s",
    "median, us",
    "99 %, us",
    "busiest",
];

fn row(who: Posters, plan: &Plan, seen: &Seen) -> Vec<String> {
    // Beside its threads a compute server has one that fetches the vector.
    let each = match who {
        Posters { communicators: 1.., .. } => who.communicators,
        Posters { queue_pairs: 1.., .. } => who.queue_pairs,
        _ => u32::from(plan.threads) + 1,
    };
    let us = |percent| format!("{:.0}", seen.new_orders().latency_us(percent));
    vec![
        who.name.to_owned(),
        (each * u32::from(plan.compute_servers)).to_string(),
        format!("{:.2}", seen.new_orders_per_s() / 1e6),
        us(50),
        us(99),
        seen.busiest.clone(),
    ]
}
