//! Draws a record as a figure: SVG that uses no font of this machine.

use crate::outcome::Series;
use crate::record::Record;
use crate::ruler::{Ruler, is_shown};
use plotters::prelude::*;

const SIZE: (u32, u32) = (1080, 540);
/// The horizontal position of the names of the series: beside the curves, where they hide nothing.
const NAMES_FROM: u32 = 770;
/// The largest number of characters in a line of a name.
const NAME_LINE: usize = 34;
const LINE_PIXELS: i32 = 19;
const FONT: (&str, u32) = ("sans-serif", 17);
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 70, 200),
    RGBColor(210, 30, 30),
    BLACK,
    RGBColor(0, 135, 70),
    RGBColor(205, 120, 0),
    RGBColor(125, 0, 165),
    RGBColor(0, 150, 175),
    RGBColor(125, 125, 125),
];

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws all series.
///
/// # Errors
/// Those of the drawing library.
pub fn svg(record: &Record) -> Result<String, String> {
    let mut text = String::new();
    draw(record, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(record: &Record, text: &mut String) -> Drawn {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let caption = format!("{} ({})", capital(&record.shows), record.figure);
    let area = area.margin(8, 4, 6, 6).titled(&caption, ("sans-serif", 20))?;
    let (left, right) = area.split_horizontally(NAMES_FROM);
    curves(record, &left)?;
    names(&record.series, &right)?;
    area.present()?;
    Ok(())
}

fn curves(record: &Record, area: &Area<'_>) -> Drawn {
    let points = || record.series.iter().flat_map(|series| series.points.iter());
    let (x, y) = (&record.x, &record.y);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(52)
        .y_label_area_size(80)
        .build_cartesian_2d(
            Ruler::of(x, points().map(|point| point.0)),
            Ruler::of(y, points().map(|point| point.1)),
        )?;
    chart
        .configure_mesh()
        .x_desc(capital(&x.title))
        .y_desc(capital(&y.title))
        .axis_desc_style(FONT)
        .label_style(FONT)
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, series) in record.series.iter().enumerate() {
        let colour = colour(&record.series, index);
        let shown = || {
            let points = series.points.iter().copied();
            points.filter(|point| is_shown(x, point.0) && is_shown(y, point.1))
        };
        if series.is_published {
            chart.draw_series(shown().map(|point| published(point, colour)))?;
        } else {
            chart.draw_series(LineSeries::new(shown(), colour.stroke_width(2)))?;
            chart.draw_series(shown().map(|point| Circle::new(point, 3, colour.filled())))?;
        }
    }
    Ok(())
}

fn published<Place>(place: Place, colour: RGBColor) -> Circle<Place, u32> {
    Circle::new(place, 6, colour.stroke_width(2))
}

/// The names of the series, one below the other, each with a piece of its curve.
fn names(series: &[Series], area: &Area<'_>) -> Drawn {
    let mut y = 24;
    for (index, one) in series.iter().enumerate() {
        let colour = colour(series, index);
        if one.is_published {
            area.draw(&published((14, y), colour))?;
        } else {
            area.draw(&PathElement::new([(2, y), (26, y)], colour.stroke_width(2)))?;
            area.draw(&Circle::new((14, y), 3, colour.filled()))?;
        }
        for line in lines(&one.name) {
            area.draw(&Text::new(line, (36, y - 7), FONT.into_font()))?;
            y += LINE_PIXELS;
        }
        y += LINE_PIXELS / 3;
    }
    Ok(())
}

/// A name in lines, broken between words.
fn lines(name: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in name.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.len() + 1 + word.len() <= NAME_LINE {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The colour of a series; published points have that of the curve before them.
fn colour(series: &[Series], index: usize) -> RGBColor {
    let curves = series[..=index].iter().filter(|series| !series.is_published).count();
    COLOURS[curves.saturating_sub(1) % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::small;

    #[test]
    fn every_series_has_its_name_beside_the_curves() {
        let picture = svg(&small()).expect("it can be drawn");
        let captions =
            ["8 bytes, one", "as printed", "Queue pairs", "Reads a second of one server"];
        for caption in captions {
            assert!(picture.contains(caption), "{caption}: {picture}");
        }
    }

    #[test]
    fn long_names_have_several_lines() {
        let name = "Trad-SI, 1 Gbit/s Ethernet, all servers told of each commit";
        assert_eq!(lines(name), ["Trad-SI, 1 Gbit/s Ethernet, all", "servers told of each commit"]);
    }
}
