//! [ZB17 7.1, figures 4, 5a and 5b]: TPC-C's standard mix by the number of machines, by the protocol as printed.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::published::{self, Plan, Seen};
use baselines::nam_db::{Placement, Step, Timestamps};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix};

/// Machines beside the one of the vector.
const MACHINES: [u16; 7] = [2, 4, 8, 16, 28, 40, 56];
const MACHINES_QUICK: [u16; 3] = [2, 4, 8];
/// Threads of a compute server that has its machine to itself; of one that shares it, half as many [ZB17 7.1].
const THREADS: u16 = 60;
/// Warehouses of each memory server [ZB17 7].
const WAREHOUSES: u32 = 50;
/// What the text prints, in millions a second, at this number of machines.
const PUBLISHED: [f64; 2] = [3.64, 6.5];
const PUBLISHED_ALL: f64 = 14.5;
const PUBLISHED_MACHINES: u16 = 56;

const WHY_APART: &str = "the engines of the cards are the limit; with one port in use their links are, and it is two thirds; \
                         how many ports carried the traffic is not printed";
const WHY_LOCAL: &str = "with locality the cores are the limit here: with rows that take them four times as long it is less than \
                   what is printed; what the original did for a row beside its verbs, and what its limit was, is not printed";

const NAMES: [&str; 2] = ["without locality", "with locality"];

/// Figure 4.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let seen = all_sizes(run, &[false, true]);
    let (mut series, mut compared, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (place, points) in seen.iter().enumerate() {
        let (name, published) = (NAMES[place], PUBLISHED[place]);
        series.push(curve(points, name.to_owned(), |seen| seen.new_orders_per_s() / 1e6));
        series.push(Series {
            name: format!("{name}, published"),
            points: vec![(f64::from(PUBLISHED_MACHINES), published)],
            is_published: true,
        });
        let Some((machines, last)) = points.last() else { continue };
        notes.push(last.sentence(name, *machines));
        notes.extend(last.sentences());
        if *machines == PUBLISHED_MACHINES {
            let ours = last.new_orders_per_s() / 1e6;
            let what = format!("new orders of 56 machines, {name}");
            compared.push(millions(what, published, ours, [WHY_APART, WHY_LOCAL][place]));
        }
    }
    if let Some((PUBLISHED_MACHINES, last)) = seen[1].last() {
        let ours = last.committed_per_s() / 1e6;
        let what = "transactions of all types, with locality".to_owned();
        compared.push(millions(what, PUBLISHED_ALL, ours, WHY_LOCAL));
    }
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared,
        notes,
    }
}

fn millions(what: String, published: f64, ours: f64, why: &'static str) -> Compared {
    let (unit, role) = ("M/s", Role::Prediction);
    Compared { what, unit, published, ours, role, why: Some(why) }
}

/// Figure 5a.
pub fn latency(run: &mut Run<'_>) -> Outcome {
    let seen = all_sizes(run, &[false, true]);
    let mut series = Vec::new();
    for (points, locality) in seen.iter().zip(NAMES) {
        for percent in [50, 99] {
            let name = format!("{percent} % of new orders within, {locality}");
            series.push(curve(points, name, |seen| seen.new_orders().latency_us(percent)));
        }
    }
    let notes =
        vec!["The text prints no latency: NAM-DB's stays almost constant there.".to_owned()];
    microseconds(run, series, notes)
}

/// Figure 5b.
pub fn steps(run: &mut Run<'_>) -> Outcome {
    let seen = all_sizes(run, &[false]).remove(0);
    let of_step =
        |step: Step| curve(&seen, step.name().to_owned(), |seen| seen.new_orders().step_us(step));
    let mut series: Vec<Series> = Step::ALL.into_iter().map(of_step).collect();
    let aborted = "attempts that were aborted".to_owned();
    series.push(curve(&seen, aborted, |seen| seen.new_orders().aborted_us()));
    let notes = vec![
        "Mean times of new orders without locality; those that are committed at last, by the steps of that attempt."
            .to_owned(),
        "The text prints no number: the latency rises slightly there, mainly because of installing versions, and that \
         of the timestamp does not."
            .to_owned(),
    ];
    microseconds(run, series, notes)
}

fn microseconds(run: &Run<'_>, series: Vec<Series>, notes: Vec<String>) -> Outcome {
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "microseconds", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared: Vec::new(),
        notes,
    }
}

fn curve(points: &[(u16, Seen)], name: String, value: impl Fn(&Seen) -> f64) -> Series {
    let points = points.iter().map(|(machines, seen)| (f64::from(*machines), value(seen)));
    Series { name, points: points.collect(), is_published: false }
}

fn all_sizes(run: &mut Run<'_>, localities: &[bool]) -> Vec<Vec<(u16, Seen)>> {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut done, total) = (0, (sizes.len() * localities.len()) as u64);
    let mut all = Vec::new();
    for &is_local in localities {
        let mut points = Vec::new();
        for &machines in sizes {
            let name = NAMES[usize::from(is_local)];
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            let plan = standard(run, machines, is_local);
            points.push((machines, published::run(&plan)));
        }
        all.push(points);
    }
    all
}

/// With locality every machine has a memory server and a compute server; without, half of them have the one and half
/// the other.
pub(crate) fn standard(run: &Run<'_>, machines: u16, is_local: bool) -> Plan {
    let (servers, threads, placement) = match is_local {
        true => (machines, THREADS / 2, Placement::Partitions(WAREHOUSES)),
        false => (machines / 2, THREADS, Placement::Hashed),
    };
    Plan {
        seed: run.seed,
        memory_servers: servers,
        compute_servers: servers,
        threads,
        warehouses_each: WAREHOUSES,
        mix: Mix::STANDARD,
        distribution_percent: None,
        item_choice: ItemChoice::Nurand,
        machine: is_local.then_some(Reach::CoreButAtomics),
        placement,
        timestamps: Timestamps::OPTIMIZED,
        warm_ns: run.quick_or(500_000, 1_000_000),
        window_ns: run.quick_or(1_000_000, 2_000_000),
    }
}

pub(super) fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let plan = standard(run, 2, false);
    vec![
        ("threads of a compute server without locality, and with", "60 and 30".to_owned()),
        ("warehouses of each memory server", WAREHOUSES.to_string()),
        ("loaded per warehouse", Plan::scale_sentence()),
        ("ports in use", published::PORTS.to_string()),
        ("timestamps", "background fetch, one slot per compute server".to_owned()),
        ("warm-up in virtual ns", plan.warm_ns.to_string()),
        ("window in virtual ns", plan.window_ns.to_string()),
    ]
}
