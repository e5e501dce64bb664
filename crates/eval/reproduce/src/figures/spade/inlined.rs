//! [SPADE 4.1, figure 4]: lookups by the primary key in inlined tables with rows of 16 and 256
//! bytes, by neighbourhood.

use super::{prediction, sizes};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Series, Table};
use crate::symmetric::{self, Plan, RowOperations, Seen, Work};
use layout::Storage;

const ROW_BYTES: [u32; 2] = [16, 256];
/// Slots of a bucket, as in the paper.
const NEIGHBOURHOODS: [u32; 4] = [1, 2, 4, 8];
/// Rows of each machine.
pub(super) const ROWS_EACH: u64 = 2_000;
/// Reads of one random row.
const LOOKUPS: Work = Work::Lookups { secondary_percent: 0 };

/// Runs all neighbourhoods on all numbers of machines.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes = sizes(run);
    let mut steps = Steps::of(ROW_BYTES.len() * NEIGHBOURHOODS.len() * sizes.len());
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for row_bytes in ROW_BYTES {
        for neighbourhood in NEIGHBOURHOODS {
            let name = format!("{row_bytes} bytes, H = {neighbourhood}");
            let mut points = Vec::new();
            for &machines in sizes {
                steps.next(run, &format!("{name}, {machines} machines"));
                let design = (Storage::HashInlined, row_bytes, neighbourhood);
                let seen = lookups(run, machines, LOOKUPS, design);
                points.push((f64::from(machines), seen.committed_per_s() / 1e6));
                if sizes.last() == Some(&machines) {
                    rows.push(row(&name, &seen));
                }
            }
            series.push(Series { name, points, is_published: false });
        }
    }
    let machines = *sizes.last().expect("there are sizes");
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million lookups per second", is_logarithmic: false },
        compared: if run.is_quick { Vec::new() } else { compared(&series) },
        series,
        tables: vec![Table {
            shows: format!("Lookups on {machines} machines"),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes: Vec::new(),
    }
}

/// The columns of the tables of lookups.
pub(super) const COLUMNS: [&str; 6] = [
    "design",
    "million/s",
    "verbs of one",
    "bytes of one",
    "median, us",
    "busiest stage; 0 has the oracle",
];

/// A row of such a table.
pub(super) fn row(name: &str, seen: &Seen) -> Vec<String> {
    let [_, verbs, bytes] = seen.all().traffic();
    vec![
        name.to_owned(),
        format!("{:.1}", seen.committed_per_s() / 1e6),
        format!("{verbs:.2}"),
        format!("{bytes:.0}"),
        format!("{:.1}", seen.us(50)),
        seen.busiest.to_string(),
    ]
}

/// The result of a cluster for rows of a design.
pub(super) fn lookups(
    run: &Run<'_>,
    machines: u16,
    work: Work,
    design: (Storage, u32, u32),
) -> Seen {
    let rows = RowOperations::new((run.seed, machines, ROWS_EACH), work, design);
    symmetric::run(&plan(run, machines), &rows)
}

/// The cluster. Nothing is written, so copies do not matter.
fn plan(run: &Run<'_>, machines: u16) -> Plan {
    Plan {
        clients: CLIENTS,
        warm_ns: run.quick_or(30_000, 50_000),
        window_ns: run.quick_or(30_000, 100_000),
        ..Plan::new(run.seed, machines)
    }
}

/// Clients of a compute server: three per hardware thread, so that cards are the limit.
const CLIENTS: u32 = 48;

pub(super) fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let mut parameters = plan(run, 2).parameters();
    parameters.push(("rows of each machine", ROWS_EACH.to_string()));
    parameters
}

/// The last point of a curve.
fn last(series: &[Series], name: &str) -> f64 {
    let of = series.iter().find(|series| series.name == name);
    of.and_then(|series| series.points.last()).map_or(f64::NAN, |point| point.1)
}

fn compared(series: &[Series]) -> Vec<Compared> {
    let best = |row_bytes: u32| {
        let rate = |h: &u32| last(series, &format!("{row_bytes} bytes, H = {h}"));
        let best =
            NEIGHBOURHOODS.into_iter().max_by(|one, other| rate(one).total_cmp(&rate(other)));
        best.map_or(f64::NAN, f64::from)
    };
    let gain = last(series, "256 bytes, H = 2") / last(series, "256 bytes, H = 8");
    [(16, 8.0), (256, 2.0)]
        .map(|(row_bytes, published)| {
            let what = format!("the best neighbourhood of rows of {row_bytes} bytes");
            prediction(what, "slots", published, best(row_bytes), BEST_WHY)
        })
        .into_iter()
        .chain([prediction(
            "256 bytes, 50 machines: H = 2 over H = 8".to_owned(),
            "x",
            1.7,
            gain,
            GAIN_WHY,
        )])
        .collect()
}

const BEST_WHY: &str = "a slot of ours has 46 bytes around a row of 16, so that eight slots are beyond the 256 bytes up to \
                        which a read costs the same; of rows of 256 bytes, fewer chains outweigh more bytes up to four";
const GAIN_WHY: &str = "a bucket of two is as often full as its planned load says, and then a second read follows: 1.3 of them for \
                        each lookup, where FaRM's buckets overflow into their neighbours";
