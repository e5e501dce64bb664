//! A soak as a picture: four curves over time, as SVG, without any font of this machine.

use crate::commands::soak::Sample;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

/// A curve: what its panel is called, and the number that a sample contributes.
type Curve = (&'static str, RGBColor, fn(&Sample) -> f64);

/// The panels from top to bottom, each with its curves.
const PANELS: [(&str, &[Curve]); 4] = [
    (
        "transactions per second",
        &[("committed", BLUE, |sample| sample.txn_per_s)],
    ),
    (
        "latency, microseconds",
        &[
            ("99 %", RED, |sample| sample.p99_us),
            ("median", BLUE, |sample| sample.p50_us),
        ],
    ),
    (
        "memory, MiB",
        &[
            ("process", RED, |sample| mebibytes(sample.process_bytes)),
            ("tables", BLUE, |sample| mebibytes(sample.used_bytes)),
        ],
    ),
    (
        "per second",
        &[
            ("aborted attempts", RED, |sample| sample.aborts_per_s),
            ("versions moved", BLUE, |sample| sample.versions_moved_per_s),
            ("buffers collected", BLACK, |sample| {
                sample.buffers_collected_per_s
            }),
        ],
    ),
];

const SIZE: (u32, u32) = (900, 1100);

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Draws the samples into a file.
pub fn draw(samples: &[Sample], path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(|error| anyhow!("{error}"))?;
    let panels = area.split_evenly((PANELS.len(), 1));
    for (area, (name, curves)) in panels.iter().zip(PANELS) {
        draw_panel(area, name, curves, samples).map_err(|error| anyhow!("{error}"))?;
    }
    area.present().map_err(|error| anyhow!("{error}"))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_panel(
    area: &Area<'_>,
    name: &str,
    curves: &[Curve],
    samples: &[Sample],
) -> Result<(), Box<dyn std::error::Error>> {
    let end = samples.last().map_or(1.0, |sample| sample.at_s);
    let values = curves
        .iter()
        .flat_map(|(_, _, value)| samples.iter().map(value));
    let top = values.fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.1 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(name, ("sans-serif", 16))
        .x_label_area_size(28)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .light_line_style(WHITE)
        .draw()?;
    for &(curve, colour, value) in curves {
        let points = samples.iter().map(|sample| (sample.at_s, value(sample)));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(curve)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
