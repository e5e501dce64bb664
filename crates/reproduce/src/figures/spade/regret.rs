//! Regret and errors of forecasts: how far SPADE's designs are from the best of many that were all built and measured, and
//! how far forecasts are from what was measured, on simulated clusters.
//!
//! For each workload and hardware there is the tuner's design, and beside it those of [`spade::tune::sweep`], evenly picked. Each is
//! forecast and measured, on tables of its own and by several seeds, of which the mean is taken. Regret is what the tuner's design lacks of
//! the best throughput.

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::verify::small;
use crate::verify::study::{self, Extent, Point, Setting, Swept};

/// The hardware, with the measurements of it.
const SETTINGS: [Setting; 3] = [
    Setting { profile: "connectx3-fdr", machines: 4, measurements: "connectx3-fdr-4.json" },
    Setting { profile: "connectx5-100g", machines: 4, measurements: "connectx5-100g-4.json" },
    Setting { profile: "ethernet-10g", machines: 4, measurements: "ethernet-10g-4.json" },
];
/// Designs beside the tuner's, of each workload and hardware; and when it is to be quick.
const DESIGNS: usize = 16;
const DESIGNS_QUICK: usize = 6;
/// Seeds by which each is measured.
const SEEDS: u64 = 3;
/// Calls that are counted of each design, about; and when it is to be quick.
const CALLS: u64 = 16_000;
const CALLS_QUICK: u64 = 8_000;

/// Runs all of them.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let settings = run.quick_or(&SETTINGS[..1], &SETTINGS[..]);
    let names = run.quick_or(&small::NAMES[..1], &small::NAMES[..]);
    let mut steps = Steps::of(settings.len() * names.len());
    let mut swept = Vec::new();
    for setting in settings {
        for &name in names {
            steps.next(run, &format!("{name} on {}", setting.profile));
            let extent = Extent {
                designs: run.quick_or(DESIGNS_QUICK, DESIGNS),
                seed: run.seed,
                seeds: run.quick_or(1, SEEDS),
                calls: run.quick_or(CALLS_QUICK, CALLS),
            };
            let found = study::study(name, setting, extent);
            swept.push(found.expect("shipped workloads can be tuned by shipped measurements"));
        }
    }
    let lanes = "calls under way on each machine";
    Outcome {
        parameters: vec![
            ("machines", SETTINGS[0].machines.to_string()),
            (
                "calls that are counted of each design, about",
                run.quick_or(CALLS_QUICK, CALLS).to_string(),
            ),
            (lanes, "as many as were measured with".to_owned()),
            (
                "designs beside the tuner's, at most",
                run.quick_or(DESIGNS_QUICK, DESIGNS).to_string(),
            ),
            ("seeds of each", run.quick_or(1, SEEDS).to_string()),
        ],
        x: Axis { title: "forecast, calls per second", is_logarithmic: true },
        y: Axis { title: "measured, calls per second", is_logarithmic: true },
        series: swept.iter().map(series).collect(),
        compared: Vec::new(),
        tables: vec![summary(&swept), designs(&swept)],
        notes: notes(&swept),
    }
}

fn series(swept: &Swept) -> Series {
    let point = |point: &Point| (point.forecast_per_s, point.measured_per_s);
    let mut points: Vec<(f64, f64)> = swept.points.iter().map(point).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    Series { name: swept.name(), points, is_published: false }
}

/// A line for each workload and hardware.
fn summary(swept: &[Swept]) -> Table {
    let columns = [
        "workload and hardware",
        "designs",
        "tuned, calls/s",
        "best, calls/s",
        "which is",
        "regret",
        "noise over seeds",
        "median error of forecasts",
        "pairs in the right order",
    ];
    let row = |swept: &Swept| {
        let (tuned, best) = (swept.tuned(), swept.best());
        vec![
            swept.name(),
            swept.points.len().to_string(),
            format!("{:.0}", tuned.measured_per_s),
            format!("{:.0}", best.measured_per_s),
            best.name.clone(),
            percent(swept.regret()),
            percent(swept.noise()),
            percent(swept.median_error()),
            format!("{} of {}", swept.pairs().0, swept.pairs().1),
        ]
    };
    Table {
        shows: "Regret and errors of forecasts".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: swept.iter().map(row).collect(),
    }
}

/// A line for each design.
fn designs(swept: &[Swept]) -> Table {
    let columns = [
        "workload and hardware",
        "design",
        "forecast, calls/s",
        "measured, calls/s",
        "error",
        "made again",
        "full first, forecast",
        "busiest, measured",
    ];
    let row = |swept: &Swept, point: &Point| {
        vec![
            swept.name(),
            point.name.clone(),
            format!("{:.0}", point.forecast_per_s),
            format!("{:.0}", point.measured_per_s),
            format!("{:+.1} %", 100.0 * point.error()),
            format!("{:.1} %", point.retries_percent),
            point.bottleneck.clone(),
            point.busiest.clone(),
        ]
    };
    let rows = swept.iter().flat_map(|swept| swept.points.iter().map(move |of| row(swept, of)));
    Table {
        shows: "All designs that were measured".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn notes(swept: &[Swept]) -> Vec<String> {
    let regrets: Vec<f64> = swept.iter().map(Swept::regret).collect();
    let noise: Vec<f64> = swept.iter().map(Swept::noise).collect();
    let worst = regrets.iter().copied().fold(0.0, f64::max);
    let errors: Vec<f64> = swept.iter().flat_map(Swept::errors).collect();
    let sum = |sum: (usize, usize), pairs: (usize, usize)| (sum.0 + pairs.0, sum.1 + pairs.1);
    let (right, all) = swept.iter().map(Swept::pairs).fold((0, 0), sum);
    vec![
        format!(
            "Regret: {} in the median of {} workloads with hardware, {} at worst.",
            percent(study::median(&regrets)),
            swept.len(),
            percent(worst)
        ),
        format!(
            "Noise: seeds of the same design differ by {} in the median of these, by {} at most.",
            percent(study::median(&noise)),
            percent(noise.iter().copied().fold(0.0, f64::max))
        ),
        format!(
            "Forecasts of throughput are off by {} in the median of {} designs.",
            percent(study::median(&errors)),
            errors.len()
        ),
        format!(
            "Of {all} pairs of designs that differ by more than {} in what was measured, {right} are forecast in the right \
             order.",
            percent(study::DIFFERS)
        ),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
