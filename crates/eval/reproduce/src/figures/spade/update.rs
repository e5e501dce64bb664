//! [SPADE 4.2, figure 6]: updates of one field of a row on another machine, by one-sided verbs with
//! the commit protocol, and executed where the row is; three copies.

use super::inlined::{COLUMNS, row};
use super::{prediction, sizes};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::symmetric::{self, Plan, RowOperations, Work};
use layout::Storage;

const WAYS: [(bool, &str); 2] = [(false, "one-sided"), (true, "shipped")];
/// Rows of each machine: so many that two clients rarely conflict, and that no row is updated again
/// while its old version is needed.
const ROWS_EACH: u64 = 8_000;

/// Figure 6a. The text prints no number of it.
pub fn small(run: &mut Run<'_>) -> Outcome {
    updates(run, 16, None)
}

/// Figure 6b.
pub fn large(run: &mut Run<'_>) -> Outcome {
    updates(run, 256, Some(1.16))
}

/// Updates of rows of this size, and the printed ratio of shipped to one-sided on 50 machines.
fn updates(run: &mut Run<'_>, row_bytes: u32, published: Option<f64>) -> Outcome {
    let sizes = sizes(run);
    let mut steps = Steps::of(WAYS.len() * sizes.len());
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for (is_shipped, name) in WAYS {
        let mut points = Vec::new();
        for &machines in sizes {
            steps.next(run, &format!("{name}, {machines} machines"));
            // The bucket size that is best for lookups of such rows.
            let neighbourhood = if row_bytes > 64 { 2 } else { 8 };
            let design = (Storage::HashInlined, row_bytes, neighbourhood);
            let work = Work::Updates { is_shipped };
            let load = RowOperations::new((run.seed, machines, ROWS_EACH), work, design);
            let seen = symmetric::run(&plan(run, machines), &load);
            points.push((f64::from(machines), seen.committed_per_s() / 1e6));
            if sizes.last() == Some(&machines) {
                rows.push(
                    [row(name, &seen), vec![format!("{:.1} %", seen.abort_percent())]].concat(),
                );
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let last = |place: usize| {
        let series: &Series = &series[place];
        series.points.last().map_or(f64::NAN, |point| point.1)
    };
    let compare = |published| {
        let what = "shipped over one-sided, 50 machines".to_owned();
        prediction(what, "x", published, last(1) / last(0), WHY)
    };
    let compared = published.filter(|_| !run.is_quick).map(compare);
    let machines = *sizes.last().expect("there are sizes");
    Outcome {
        parameters: parameters(run, row_bytes),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million updates per second", is_logarithmic: false },
        compared: compared.into_iter().collect(),
        series,
        tables: vec![Table {
            shows: format!("Updates on {machines} machines"),
            columns: [&COLUMNS[..], &["attempts made again"]]
                .concat()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            rows,
        }],
        notes: Vec::new(),
    }
}

const WHY: &str = "a one-sided commit of ours takes eight to nine verbs with the copies, and engines of two cards for each; where the row \
                   is, a core writes it, and cards carry the swap and the copies alone";

fn plan(run: &Run<'_>, machines: u16) -> Plan {
    Plan {
        clients: 32,
        warm_ns: run.quick_or(50_000, 100_000),
        window_ns: run.quick_or(50_000, 150_000),
        ..Plan::new(run.seed, machines)
    }
}

fn parameters(run: &Run<'_>, row_bytes: u32) -> Vec<(&'static str, String)> {
    let mut parameters = plan(run, 2).parameters();
    parameters.push(("rows of each machine", ROWS_EACH.to_string()));
    parameters.push(("bytes of a row beside its key", row_bytes.to_string()));
    parameters
}
