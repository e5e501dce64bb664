//! An outcome as a picture: SVG, drawn for reading, without any font of this machine.

use crate::experiment::Experiment;
use crate::outcome::{Axis, Corner, Outcome, Series};
use plotters::prelude::*;
use std::ops::Range;

const SIZE: (u32, u32) = (900, 540);
const COLOURS: [RGBColor; 8] = [
    BLUE,
    RED,
    BLACK,
    RGBColor(0, 128, 64),
    RGBColor(160, 90, 0),
    RGBColor(120, 0, 160),
    RGBColor(0, 160, 180),
    RGBColor(130, 130, 130),
];
/// Room above the highest point, and behind the last.
const ROOM: f64 = 1.08;

/// Draws all series.
///
/// # Errors
/// The drawing library's own.
pub fn svg(experiment: &Experiment, outcome: &Outcome) -> Result<String, String> {
    let mut text = String::new();
    draw(experiment, outcome, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn is_shown(axis: Axis, value: f64) -> bool {
    value > 0.0 || !axis.is_logarithmic
}

/// Where a value is on its axis: powers of ten have equal distances.
fn place(axis: Axis, value: f64) -> f64 {
    if axis.is_logarithmic { libm::log10(value) } else { value }
}

/// What an axis reaches over; nothing that is 0 has a place among powers of ten.
fn range(axis: Axis, values: impl Iterator<Item = f64>) -> Range<f64> {
    let shown = values.filter(|value| is_shown(axis, *value));
    let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match axis.is_logarithmic {
        true => place(axis, low).floor()..place(axis, high).ceil(),
        false => 0.0..high * ROOM,
    }
}

fn label(axis: Axis, place: f64) -> String {
    let value = if axis.is_logarithmic { libm::pow(10.0, place) } else { place };
    match value.abs() {
        size if size >= 9.95 => grouped(value.round() as u64),
        size if size >= 0.995 || size == 0.0 => {
            format!("{value:.1}").trim_end_matches(".0").to_owned()
        }
        size if size >= 0.0095 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// 1234567 as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn draw(
    experiment: &Experiment,
    outcome: &Outcome,
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let points = || outcome.series.iter().flat_map(|series| series.points.iter());
    let (x, y) = (outcome.x, outcome.y);
    let caption = format!("{} ({})", experiment.shows, experiment.figure);
    let mut chart = ChartBuilder::on(&area)
        .margin(14)
        .margin_right(44)
        .caption(caption, ("sans-serif", 17))
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(
            range(x, points().map(|point| point.0)),
            range(y, points().map(|point| point.1)),
        )?;
    chart
        .configure_mesh()
        .x_desc(x.title)
        .y_desc(y.title)
        .x_label_formatter(&|place| label(x, *place))
        .y_label_formatter(&|place| label(y, *place))
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(WHITE)
        .draw()?;
    for (index, series) in outcome.series.iter().enumerate() {
        let colour = colour(&outcome.series, index);
        let places = || {
            let shown =
                series.points.iter().filter(|point| is_shown(x, point.0) && is_shown(y, point.1));
            shown.map(|point| (place(x, point.0), place(y, point.1)))
        };
        if series.is_published {
            chart
                .draw_series(places().map(|place| Circle::new(place, 5, colour.stroke_width(2))))?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 9, y), 5, colour.stroke_width(2)));
            continue;
        }
        chart
            .draw_series(LineSeries::new(places(), colour.stroke_width(2)))?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(places().map(|place| Circle::new(place, 2, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(match outcome.legend {
            Corner::UpperLeft => SeriesLabelPosition::UpperLeft,
            Corner::UpperRight => SeriesLabelPosition::UpperRight,
            Corner::LowerRight => SeriesLabelPosition::LowerRight,
        })
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

/// Published points have the colour of the curve before them.
fn colour(series: &[Series], index: usize) -> RGBColor {
    let curves = series[..=index].iter().filter(|series| !series.is_published).count();
    COLOURS[curves.saturating_sub(1) % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_labelled_by_values() {
        let powers = Axis { title: "bytes", is_logarithmic: true };
        assert_eq!(range(powers, [30.0, 0.0, 4000.0].into_iter()), 1.0..4.0);
        assert_eq!(label(powers, 4.0), "10,000");
        let plain = Axis { title: "bytes", is_logarithmic: false };
        assert_eq!([0.0, 2.5, 0.25].map(|value| label(plain, value)), ["0", "2.5", "0.25"]);
    }
}
