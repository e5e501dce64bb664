//! [SPADE 4.1, figure 5]: lookups of rows of 256 bytes, nine of ten through the primary index or
//! through a secondary one, with rows inlined and outside.

use super::inlined::{COLUMNS, lookups, parameters, row};
use super::{prediction, sizes};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::symmetric::Work;
use layout::Storage;

const ROW_BYTES: u32 = 256;
/// Percentages of lookups through the secondary index, and their names.
const MIXES: [(u32, &str); 2] = [(10, "90 % primary"), (90, "90 % secondary")];
/// The paper's two designs.
const DESIGNS: [(Storage, u32, &str); 2] =
    [(Storage::HashInlined, 2, "inlined, H = 2"), (Storage::HashOutside, 16, "outside, H = 16")];

/// Runs both mixes on both designs.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes = sizes(run);
    let mut steps = Steps::of(MIXES.len() * DESIGNS.len() * sizes.len());
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for (secondary_percent, mix) in MIXES {
        for (storage, neighbourhood, design) in DESIGNS {
            let name = format!("{mix}: {design}");
            let mut points = Vec::new();
            for &machines in sizes {
                steps.next(run, &format!("{name}, {machines} machines"));
                let work = Work::Lookups { secondary_percent };
                let seen = lookups(run, machines, work, (storage, ROW_BYTES, neighbourhood));
                points.push((f64::from(machines), seen.committed_per_s() / 1e6));
                if sizes.last() == Some(&machines) {
                    rows.push(row(&name, &seen));
                }
            }
            series.push(Series { name, points, is_published: false });
        }
    }
    let last = |place: usize| {
        let series: &Series = &series[place];
        series.points.last().map_or(f64::NAN, |point| point.1)
    };
    let what = "90 % secondary: inlined of outside, 50 machines".to_owned();
    let compared = prediction(what, "%", 100.0 - 12.4, 100.0 * last(2) / last(3), WHY);
    let machines = *sizes.last().expect("there are sizes");
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million lookups per second", is_logarithmic: false },
        compared: if run.is_quick { Vec::new() } else { vec![compared] },
        series,
        tables: vec![Table {
            shows: format!("Lookups on {machines} machines"),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes: Vec::new(),
    }
}

const WHY: &str = "a lookup through the index takes five verbs in either design, so that one bucket more or less matters little, \
                   and rows outside cost by primary key what they save here";
