//! [ZB17 7.1, figures 4, 5a and 5b]: TPC-C's standard mix by the number of machines, with the
//! protocol as printed.

use super::super::sizes::{self, NAMES, PUBLISHED, PUBLISHED_MACHINES, WAREHOUSES};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series, Table};
use crate::published::{self, PORTS, Plan, Seen};
use baselines::nam_db::{Placement, Step, Timestamps};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix};

/// Million transactions of all types per second that the text prints, with locality.
const PUBLISHED_ALL: f64 = 14.5;

const WHY_APART: &str = "the engines of the cards are the limit, as the run shows; the table has the rate with one port; how \
                         many ports carried the traffic is not printed";
const WHY_LOCAL: &str = "with locality the cores are the limit, as the run shows; the table shows how much longer they would have \
                         to work per row. Neither the original's work per row beside its verbs nor its limit is printed";

/// Number of machines of a cluster that represents larger ones: with and without locality the rate
/// is proportional to the number.
const FEW_MACHINES: u16 = 8;
/// Other possible settings of the original: whether with locality, description, ports, and a factor
/// on the time of a row.
const OTHERWISE: [(bool, &str, u64, u64); 9] = [
    (false, "nothing", PORTS, 1),
    (false, "one port in use", 1, 1),
    (false, "rows take cores twice as long", PORTS, 2),
    (true, "nothing", PORTS, 1),
    (true, "one port in use", 1, 1),
    (true, "rows take cores twice as long", PORTS, 2),
    (true, "rows take cores 3 times as long", PORTS, 3),
    (true, "rows take cores 4 times as long", PORTS, 4),
    (true, "rows take cores 6 times as long", PORTS, 6),
];

/// Figure 4.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(2 * sizes::count(run) + OTHERWISE.len());
    let (mut series, mut compared, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (is_local, name) in [false, true].into_iter().zip(NAMES) {
        let points = sizes::all(run, &mut steps, is_local, seen);
        series.push(sizes::curve(&points, name.to_owned(), |seen| seen.new_orders_per_s() / 1e6));
        series.push(sizes::published(is_local));
        let Some((machines, last)) = points.last() else { continue };
        notes.push(last.sentence(name, *machines));
        notes.extend(last.sentences());
        if *machines != PUBLISHED_MACHINES {
            continue;
        }
        let (what, ours) = (format!("new orders of 56 machines, {name}"), last.new_orders_per_s());
        let why = if is_local { WHY_LOCAL } else { WHY_APART };
        compared.push(millions(what, PUBLISHED[usize::from(is_local)], ours, why));
        if is_local {
            let what = "transactions of all types, with locality".to_owned();
            compared.push(millions(what, PUBLISHED_ALL, last.committed_per_s(), WHY_LOCAL));
        }
    }
    let rows = OTHERWISE.map(|otherwise| sensitivity(run, &mut steps, otherwise));
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: vec![Table {
            shows: format!(
                "Influences on the printed numbers, with {FEW_MACHINES} machines; none is fitted to them"
            ),
            columns: SENSITIVITY_COLUMNS.map(str::to_owned).to_vec(),
            rows: rows.to_vec(),
        }],
        series,
        compared,
        notes,
    }
}

const SENSITIVITY_COLUMNS: [&str; 6] = [
    "",
    "changed",
    "million new orders/s",
    "if each machine did as much among 56",
    "printed of 56",
    "busiest",
];

fn sensitivity(
    run: &mut Run<'_>,
    steps: &mut Steps,
    (is_local, what, ports, row_times): (bool, &str, u64, u64),
) -> Vec<String> {
    let name = NAMES[usize::from(is_local)];
    steps.next(run, &format!("{name}, changed: {what}"));
    let plan = Plan { ports, row_times, ..standard(run, FEW_MACHINES, is_local) };
    let seen = published::run(&plan);
    let here = seen.new_orders_per_s() / 1e6;
    let more = f64::from(PUBLISHED_MACHINES) / f64::from(FEW_MACHINES);
    vec![
        name.to_owned(),
        what.to_owned(),
        format!("{here:.2}"),
        format!("{:.2}", more * here),
        format!("{:.2}", PUBLISHED[usize::from(is_local)]),
        seen.busiest,
    ]
}

fn millions(what: String, published: f64, ours_per_s: f64, why: &'static str) -> Compared {
    let (unit, role, ours) = ("M/s", Role::Prediction, ours_per_s / 1e6);
    Compared { what, unit, published, ours, role, why: Some(why) }
}

/// Figure 5a.
pub fn latency(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(2 * sizes::count(run));
    let mut series = Vec::new();
    for (is_local, locality) in [false, true].into_iter().zip(NAMES) {
        let points = sizes::all(run, &mut steps, is_local, seen);
        for percent in [50, 99] {
            let name = format!("{percent} % of new orders within, {locality}");
            series.push(sizes::curve(&points, name, |seen| seen.new_orders().latency_us(percent)));
        }
    }
    let notes =
        vec!["The text prints no latency: NAM-DB's stays almost constant there.".to_owned()];
    sizes::microseconds(parameters(run), series, notes)
}

/// Figure 5b.
pub fn steps(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(sizes::count(run));
    let seen = sizes::all(run, &mut steps, false, seen);
    let of_step = |step: Step| {
        sizes::curve(&seen, step.name().to_owned(), |seen| seen.new_orders().step_us(step))
    };
    let mut series: Vec<Series> = Step::ALL.into_iter().map(of_step).collect();
    let aborted = "attempts that were aborted".to_owned();
    series.push(sizes::curve(&seen, aborted, |seen| seen.new_orders().aborted_us()));
    let notes = vec![
        "Mean times of new orders without locality; those that are committed at last, by the steps of that attempt."
            .to_owned(),
        "The text prints no number: the latency rises slightly there, mainly because of installing versions, and that \
         of the timestamp does not."
            .to_owned(),
    ];
    sizes::microseconds(parameters(run), series, notes)
}

fn seen(run: &Run<'_>, machines: u16, is_local: bool) -> Seen {
    published::run(&standard(run, machines, is_local))
}

/// The cluster with this many machines.
pub(crate) fn standard(run: &Run<'_>, machines: u16, is_local: bool) -> Plan {
    let (servers, threads) = sizes::servers_and_threads(machines, is_local);
    let placement = match is_local {
        true => Placement::Partitions(WAREHOUSES),
        false => Placement::Hashed,
    };
    Plan {
        seed: run.seed,
        profile: "connect-ib-2xfdr",
        ports: PORTS,
        row_times: 1,
        queue_pairs: 0,
        communicators: 0,
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
        ("ports in use", PORTS.to_string()),
        ("timestamps", "background fetch, one slot per compute server".to_owned()),
        ("warm-up in virtual ns", plan.warm_ns.to_string()),
        ("window in virtual ns", plan.window_ns.to_string()),
    ]
}
