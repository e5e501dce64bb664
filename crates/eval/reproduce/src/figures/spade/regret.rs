//! Regret and forecast errors, on simulated clusters: the distance of SPADE's designs from the best
//! of all designs of a sweep, which were all built and measured, and the distance of forecasts from
//! measurements.
//!
//! For each workload and hardware the experiment compares the tuner's design with all of
//! [`spade::tune::sweep`]. Each is forecast, and measured on tables of its own; candidates for the
//! best design are measured with more calls and seeds ([`crate::verify::study`]). Regret is the
//! throughput that the tuner's design lacks compared with the best.

use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::verify::cell::{Cell, Setting, StudyError};
use crate::verify::jobs::Bench;
use crate::verify::kept::MeasurementCache;
use crate::verify::study::{Extent, study};
use crate::verify::swept::{self, DEVIATIONS, DIFFERS, Swept, median};
use crate::verify::{Counted, small};

/// The hardware, with the measurements of it.
const SETTINGS: [Setting; 3] = [
    Setting { profile: "connectx3-fdr", machines: 4, measurements: "connectx3-fdr-4.json" },
    Setting { profile: "connectx5-100g", machines: 4, measurements: "connectx5-100g-4.json" },
    Setting { profile: "ethernet-10g", machines: 4, measurements: "ethernet-10g-4.json" },
];
/// The number of designs of each sweep: all in a full run, fewer in a quick one.
const DESIGNS: usize = usize::MAX;
const DESIGNS_QUICK: usize = 12;

/// The extent of the measurements of each workload and hardware.
fn extent(run: &Run<'_>) -> Extent {
    Extent {
        seed: run.seed,
        screening: Counted { calls: 4_000, alone: 20 },
        full: Counted { calls: run.quick_or(8_000, 16_000), alone: run.quick_or(100, 400) },
        seeds: run.quick_or(1, 3),
        spread: run.quick_or(4, 16),
        near: run.quick_or(2, 24),
        finalists: run.quick_or(2, 3),
        seeds_last: run.quick_or(1, 5),
    }
}

pub fn run(run: &mut Run<'_>) -> Outcome {
    let settings = run.quick_or(&SETTINGS[..1], &SETTINGS[..]);
    let names = run.quick_or(&small::NAMES[..1], &small::NAMES[..]);
    let extent = extent(run);
    let most = run.quick_or(DESIGNS_QUICK, DESIGNS);
    let each = settings.iter().flat_map(|setting| names.iter().map(move |name| (*name, setting)));
    let cells = each.map(|(name, setting)| {
        Cell::new(name, setting, run.seed, most)
            .expect("shipped workloads can be tuned by shipped measurements")
    });
    let cells: Vec<Cell> = cells.collect();
    // Without a file the whole experiment is repeated after an interruption.
    let kept = run.keep.as_ref().map_or_else(MeasurementCache::default, |keep| {
        MeasurementCache::of(&keep.file, &keep.program).unwrap_or_default()
    });
    let mut bench = Bench {
        threads: run.threads,
        kept,
        progress: run.progress,
        done: 0,
        total: extent.steps_of(&cells),
    };
    let swept = cells.iter().map(|cell| study(cell, &extent, &mut bench));
    let swept: Result<Vec<Swept>, StudyError> = swept.collect();
    let swept = swept.expect("what can be tuned can be measured");
    Outcome {
        parameters: parameters(&extent),
        x: Axis { title: "forecast, calls per second", is_logarithmic: true },
        y: Axis { title: "measured, calls per second", is_logarithmic: true },
        series: swept.iter().map(series).collect(),
        compared: Vec::new(),
        tables: vec![regrets(&swept), forecasts(&swept), designs(&swept)],
        notes: notes(&swept),
    }
}

fn parameters(extent: &Extent) -> Vec<(&'static str, String)> {
    let counted = |of: Counted| format!("{} of one lane, about {} of all", of.alone, of.calls);
    vec![
        ("machines", SETTINGS[0].machines.to_string()),
        ("calls under way on each machine", "as many as were measured with".to_owned()),
        ("calls of each design that is screened", counted(extent.screening)),
        ("calls in full", counted(extent.full)),
        (
            "seeds in full, and further ones at last",
            format!("{} and {}", extent.seeds, extent.seeds_last),
        ),
        ("designs in full beside the tuner's, whatever screening says", extent.spread.to_string()),
        ("near the best, at most", extent.near.to_string()),
        ("at last beside the tuner's", extent.finalists.to_string()),
    ]
}

/// All designs, by screening.
fn series(swept: &Swept) -> Series {
    let mut points = swept.by_screening();
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    Series { name: swept.name.clone(), points, is_published: false }
}

/// The regret of the tuner's design: a line for each workload and hardware.
fn regrets(swept: &[Swept]) -> Table {
    let columns = [
        "workload and hardware",
        "designs",
        "tuned, calls/s",
        "best, calls/s",
        "which is",
        "regret",
        "noise of it",
        "in full",
        "screening is off by",
        "left out that may be the best",
        "by at most",
    ];
    let row = |swept: &Swept| {
        let best = swept.best();
        let (left_out, most) = swept.left_out();
        vec![
            swept.name.clone(),
            swept.candidates.len().to_string(),
            format!("{:.0}", swept.at_last(0)),
            format!("{:.0}", swept.at_last(best)),
            swept.candidates[best].name.clone(),
            percent(swept.regret()),
            percent(swept.regret_noise()),
            swept.full.len().to_string(),
            percent(swept.screening().noise),
            left_out.to_string(),
            percent(most),
        ]
    };
    table("Regret", &columns, swept.iter().map(row).collect())
}

/// The quality of forecasts: a line for each workload and hardware.
fn forecasts(swept: &[Swept]) -> Table {
    let columns = [
        "workload and hardware",
        "designs in full",
        "seeds differ by",
        "median error of forecasts",
        "pairs in the right order",
        "all designs, by screening",
        "median error",
        "pairs in the right order",
    ];
    let row = |swept: &Swept| {
        let (full, all) = (swept.in_full(), swept.by_screening());
        vec![
            swept.name.clone(),
            full.len().to_string(),
            percent(swept.seeds_differ()),
            percent(median(&swept::errors(&full))),
            fraction_text(swept::pairs(&full)),
            all.len().to_string(),
            percent(median(&swept::errors(&all))),
            fraction_text(swept::pairs(&all)),
        ]
    };
    table("Errors of forecasts", &columns, swept.iter().map(row).collect())
}

/// A line for each design that was measured in full independently of screening, or in the last
/// round.
fn designs(swept: &[Swept]) -> Table {
    let columns = [
        "workload and hardware",
        "design",
        "forecast, calls/s",
        "screened, calls/s",
        "measured, calls/s",
        "error",
        "made again",
        "full first, forecast",
        "busiest, measured",
    ];
    let row = |swept: &Swept, design: usize| {
        let (candidate, rates) = (&swept.candidates[design], &swept.full[&design]);
        let measured = swept::mean_rate(rates);
        let retries = rates.iter().map(|rate| rate.retries_percent).sum::<f64>();
        vec![
            swept.name.clone(),
            candidate.name.clone(),
            format!("{:.0}", candidate.forecast_per_s),
            format!("{:.0}", swept.screened[design] / swept.screening().scale),
            format!("{measured:.0}"),
            format!("{:+.1} %", 100.0 * (candidate.forecast_per_s / measured - 1.0)),
            format!("{:.1} %", retries / rates.len() as f64),
            candidate.bottleneck.to_owned(),
            rates[0].busiest.clone(),
        ]
    };
    let shown = |swept: &Swept| {
        let is_shown = |at: &usize| swept.spread.contains(at) || swept.last.contains_key(at);
        swept.full.keys().copied().filter(is_shown).collect::<Vec<_>>()
    };
    let rows = swept.iter().flat_map(|of| shown(of).into_iter().map(move |at| row(of, at)));
    table("Designs that were measured in full", &columns, rows.collect())
}

fn table(shows: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { shows: shows.to_owned(), columns, rows }
}

fn notes(swept: &[Swept]) -> Vec<String> {
    let all = |of: fn(&Swept) -> f64| swept.iter().map(of).collect::<Vec<f64>>();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (regrets, noise) = (all(Swept::regret), all(Swept::regret_noise));
    let designs: usize = swept.iter().map(|swept| swept.candidates.len()).sum();
    let full: usize = swept.iter().map(|swept| swept.full.len()).sum();
    let left_out: usize = swept.iter().map(|swept| swept.left_out().0).sum();
    let missed = all(|swept| swept.left_out().1);
    vec![
        format!(
            "Regret: {} in the median of {} workloads with hardware, {} at worst. Noise of it, a standard error: {} in the median, {} at most.",
            percent(median(&regrets)),
            swept.len(),
            percent(most(&regrets)),
            percent(median(&noise)),
            percent(most(&noise)),
        ),
        format!(
            "All {designs} designs were screened, and {full} measured in full. Of the others {left_out} may be better than the best, by {} at most, if \
             screening is off by {DEVIATIONS} standard deviations.",
            percent(most(&missed)),
        ),
        forecast_note("measured in full, chosen evenly", swept, Swept::in_full),
        forecast_note("screened", swept, Swept::by_screening),
    ]
}

/// The quality of forecasts for some designs of each cell.
fn forecast_note(which: &str, swept: &[Swept], of: fn(&Swept) -> Vec<(f64, f64)>) -> String {
    let points: Vec<Vec<(f64, f64)>> = swept.iter().map(of).collect();
    let errors: Vec<f64> = points.iter().flat_map(|of| swept::errors(of)).collect();
    let sum = |sum: (usize, usize), pairs: (usize, usize)| (sum.0 + pairs.0, sum.1 + pairs.1);
    let pairs = points.iter().map(|of| swept::pairs(of)).fold((0, 0), sum);
    format!(
        "Of designs {which}, {} in number, forecasts of throughput are off by {} in the median; of pairs of the same workload and hardware that differ \
         by more than {} in what was measured, {} ({}) are forecast in the right order.",
        errors.len(),
        percent(median(&errors)),
        percent(DIFFERS),
        fraction_text(pairs),
        percent(pairs.0 as f64 / pairs.1.max(1) as f64),
    )
}

fn fraction_text((right, all): (usize, usize)) -> String {
    format!("{right} of {all}")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
