//! Plots a soak: curves over time, as SVG without any font of this machine.

use crate::bench::text::grouped;
use crate::commands::soak::Sample;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

/// A curve: name, colour, and the value of a sample.
type Curve = (&'static str, RGBColor, fn(&Sample) -> f64);

/// One of the plots, drawn one below the other.
struct Panel {
    name: &'static str,
    /// Whether the logarithm is plotted, since latencies spread over powers of ten.
    is_logarithmic: bool,
    curves: &'static [Curve],
}

const PANELS: [Panel; 5] = [
    Panel {
        name: "transactions committed per second",
        is_logarithmic: false,
        curves: &[("committed", BLUE, |sample| sample.txn_per_s)],
    },
    Panel {
        name: "latency in microseconds",
        is_logarithmic: true,
        curves: &[
            ("slowest", BLACK, |sample| sample.max_us),
            ("99 %", RED, |sample| sample.p99_us),
            ("median", BLUE, |sample| sample.p50_us),
        ],
    },
    Panel {
        name: "memory in MiB",
        is_logarithmic: false,
        curves: &[
            ("process", RED, |sample| mebibytes(sample.process_bytes)),
            ("tables", BLUE, |sample| mebibytes(sample.used_bytes)),
        ],
    },
    Panel {
        name: "version buffers in use",
        is_logarithmic: false,
        curves: &[("in use", BLUE, |sample| sample.buffers_in_use as f64)],
    },
    Panel {
        name: "aborts and upkeep per second",
        is_logarithmic: false,
        curves: &[
            ("aborted attempts", RED, |sample| sample.aborts_per_s),
            ("versions moved", BLUE, |sample| sample.versions_moved_per_s),
            ("version buffers collected", BLACK, |sample| sample.buffers_collected_per_s),
        ],
    },
];

const SIZE: (u32, u32) = (900, 1375);

/// The time axis extends beyond the curves to make room for their names.
const LEGEND_ROOM: f64 = 1.25;

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Plots the samples to a file.
pub fn draw(samples: &[Sample], path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(|error| anyhow!("{error}"))?;
    let panels = area.split_evenly((PANELS.len(), 1));
    for (area, panel) in panels.iter().zip(&PANELS) {
        draw_panel(area, panel, samples).map_err(|error| anyhow!("{error}"))?;
    }
    area.present().map_err(|error| anyhow!("{error}"))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_panel(
    area: &Area<'_>,
    panel: &Panel,
    samples: &[Sample],
) -> Result<(), Box<dyn std::error::Error>> {
    let drawn = |value: f64| {
        if panel.is_logarithmic { libm::log10(value.max(1.0)) } else { value }
    };
    let end = samples.last().map_or(1.0, |sample| sample.at_s);
    let values = panel.curves.iter().flat_map(|(_, _, value)| samples.iter().map(value));
    let top = drawn(values.fold(0.0, f64::max)).max(1.0) * 1.1;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(panel.name, ("sans-serif", 16))
        .x_label_area_size(32)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..end * LEGEND_ROOM, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .x_label_formatter(&|seconds| time_label(*seconds, end))
        .y_label_formatter(&|value| match panel.is_logarithmic {
            true => grouped(libm::pow(10.0, *value).round() as u64),
            false => grouped(value.round() as u64),
        })
        .y_labels(6)
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(WHITE)
        .draw()?;
    for &(name, colour, value) in panel.curves {
        let points = samples.iter().map(|sample| (sample.at_s, drawn(value(sample))));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// A time label on the axis of a run that ends at `end`: with decimals where whole seconds would
/// repeat.
fn time_label(seconds: f64, end: f64) -> String {
    match end {
        end if end < 1.0 => format!("{seconds:.2}"),
        end if end < 10.0 => format!("{seconds:.1}"),
        _ => grouped(seconds.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_short_runs_differ() {
        assert_eq!([0.2, 0.4].map(|at_s| time_label(at_s, 1.8)), ["0.2", "0.4"]);
        assert_eq!(time_label(1199.6, 3600.0), "1,200");
    }

    #[test]
    fn a_picture_has_every_panel_and_curve() {
        let sample = |at_s| Sample { at_s, txn_per_s: 1000.0, max_us: 5e4, ..Sample::default() };
        let folder = std::env::temp_dir().join(format!("namdb-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder is ours");
        let path = folder.join("soak.svg");
        draw(&[sample(1.0), sample(2.0), sample(3.0)], &path).expect("the folder can be written");
        let picture = std::fs::read_to_string(&path).expect("written just now");
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        for panel in &PANELS {
            assert!(picture.contains(panel.name));
            assert!(panel.curves.iter().all(|(name, ..)| picture.contains(name)));
        }
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}
