//! A witness as a picture: transactions as boxes in a ring, with an arrow for each reason.

use super::{Link, Witness, title, words};
use crate::graph::Relation;
use crate::history::History;
use std::io::{self, Write};

/// Width of two characters of text in pixels, and height of a line.
const CHARACTERS_2: usize = 15;
const LINE: usize = 18;
/// Space around everything, inside boxes, and between boxes for an arrow with its label.
const MARGIN: usize = 24;
const PADDING: usize = 10;
const GAP_X: usize = 110;
const GAP_Y: usize = 64;
/// The largest number of operations shown in a box.
const OPERATIONS_MAX: usize = 8;
/// Half of the distance between the two arrows of two boxes.
const APART: isize = 14;

/// Writes the witnesses one below the other.
pub fn write_svg(
    history: &History,
    witnesses: &[&Witness],
    output: &mut dyn Write,
) -> io::Result<()> {
    let figures: Vec<Figure> =
        witnesses.iter().map(|witness| Figure::new(history, witness)).collect();
    let width = figures.iter().map(Figure::width).max().unwrap_or(0) + 2 * MARGIN;
    let height = figures.iter().map(|figure| figure.height() + MARGIN).sum::<usize>() + MARGIN;
    writeln!(
        output,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">"
    )?;
    writeln!(output, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")?;
    let mut top = MARGIN;
    for figure in &figures {
        figure.draw(top, output)?;
        top += figure.height() + MARGIN;
    }
    writeln!(output, "</svg>")
}

/// One witness, laid out.
struct Figure<'a> {
    title: String,
    summary: &'a str,
    links: &'a [Link],
    boxes: Vec<Vec<String>>,
    box_width: usize,
    box_height: usize,
}

/// A point of the picture.
type Point = (isize, isize);

impl<'a> Figure<'a> {
    fn new(history: &History, witness: &'a Witness) -> Self {
        let boxes: Vec<Vec<String>> = witness
            .transactions
            .iter()
            .enumerate()
            .map(|(place, &id)| {
                let mut lines =
                    vec![format!("T{}", place + 1), words::transaction_in_words(history, id)];
                let told = words::operations_in_words(history, id, &witness.keys);
                lines.extend(told.iter().take(OPERATIONS_MAX).cloned());
                if told.len() > OPERATIONS_MAX {
                    lines.push(format!("and {} more", told.len() - OPERATIONS_MAX));
                }
                lines
            })
            .collect();
        let longest = boxes.iter().flatten().map(|line| text_width(line)).max().unwrap_or(0);
        let lines = boxes.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            title: title(witness),
            summary: &witness.summary,
            links: &witness.links,
            boxes,
            box_width: longest + 2 * PADDING,
            box_height: lines * LINE + 2 * PADDING,
        }
    }

    fn columns(&self) -> usize {
        match self.boxes.len() {
            count @ 0..3 => count,
            count => count.div_ceil(2),
        }
    }

    fn rows(&self) -> usize {
        if self.boxes.len() < 3 { 1 } else { 2 }
    }

    fn width(&self) -> usize {
        let ring = self.columns() * (self.box_width + GAP_X);
        let sentences = self.links.iter().map(|link| text_width(&sentence(link)));
        let texts = [text_width(&self.title), text_width(self.summary)];
        sentences.chain(texts).chain([ring]).max().unwrap_or(0)
    }

    fn ring_top(&self) -> usize {
        LINE * 5 / 2
    }

    fn height(&self) -> usize {
        let ring = self.rows() * (self.box_height + GAP_Y);
        self.ring_top() + LINE + ring - GAP_Y + (self.links.len() + 1) * LINE + PADDING / 2
    }

    /// The upper left corner of a box: left to right along the upper row, and back along the lower
    /// one.
    fn corner(&self, place: usize, top: usize) -> Point {
        let (count, columns) = (self.boxes.len(), self.columns());
        // In halves of a column: a shorter lower row is centred.
        let (halves, row) = match place < columns {
            true => (2 * place, 0),
            false => (2 * (count - 1 - place) + (2 * columns - count), 1),
        };
        let x = MARGIN + halves * (self.box_width + GAP_X) / 2;
        let y = top + self.ring_top() + LINE + row * (self.box_height + GAP_Y);
        (x as isize, y as isize)
    }

    fn draw(&self, top: usize, output: &mut dyn Write) -> io::Result<()> {
        let line = |number: usize| (MARGIN as isize, (top + number * LINE) as isize);
        write_text(line(1), "font-size=\"16\" font-weight=\"bold\"", &self.title, output)?;
        write_text(line(2), "fill=\"#444\"", self.summary, output)?;
        for link in self.links {
            self.draw_arrow(link, top, output)?;
        }
        for (place, lines) in self.boxes.iter().enumerate() {
            self.draw_box(self.corner(place, top), lines, output)?;
        }
        let below = top + self.height() - self.links.len() * LINE;
        for (number, link) in self.links.iter().enumerate() {
            let at = (MARGIN as isize, (below + number * LINE) as isize);
            write_text(at, "fill=\"#222\"", &sentence(link), output)?;
        }
        Ok(())
    }

    fn draw_box(&self, (x, y): Point, lines: &[String], output: &mut dyn Write) -> io::Result<()> {
        writeln!(
            output,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"7\" fill=\"#f6f8fa\" \
             stroke=\"#57606a\"/>",
            self.box_width, self.box_height
        )?;
        for (number, text) in lines.iter().enumerate() {
            let style = match number {
                0 => "font-weight=\"bold\"",
                1 => "fill=\"#57606a\" font-size=\"12\"",
                _ => "font-family=\"monospace\" font-size=\"12\"",
            };
            let at = (x + PADDING as isize, y + (PADDING + LINE * (number + 1)) as isize - 5);
            write_text(at, style, text, output)?;
        }
        Ok(())
    }

    fn draw_arrow(&self, link: &Link, top: usize, output: &mut dyn Write) -> io::Result<()> {
        let (from, to) = self.ends(link, top);
        let colour = colour(link.relation);
        let (dx, dy) = ((to.0 - from.0) as f64, (to.1 - from.1) as f64);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (ux, uy) = (dx / length, dy / length);
        writeln!(
            output,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>",
            from.0,
            from.1,
            to.0 as f64 - 8.0 * ux,
            to.1 as f64 - 8.0 * uy
        )?;
        let (bx, by) = (to.0 as f64 - 11.0 * ux, to.1 as f64 - 11.0 * uy);
        writeln!(
            output,
            "<polygon points=\"{},{} {:.1},{:.1} {:.1},{:.1}\" fill=\"{colour}\"/>",
            to.0,
            to.1,
            bx - 5.0 * uy,
            by + 5.0 * ux,
            bx + 5.0 * uy,
            by - 5.0 * ux
        )?;
        // The label is above a horizontal arrow, and beside any other.
        let middle = ((from.0 + to.0) / 2, (from.1 + to.1) / 2);
        let name = link.relation.name();
        let at = match from.1 == to.1 {
            true => (middle.0 - (text_width(name) / 2) as isize, middle.1 - 6),
            false => (middle.0 + 8, middle.1 + 4),
        };
        writeln!(
            output,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{LINE}\" fill=\"white\" opacity=\"0.85\"/>",
            at.0 - 2,
            at.1 - 13,
            text_width(name) - 4
        )?;
        write_text(at, &format!("fill=\"{colour}\" font-weight=\"bold\""), name, output)
    }

    /// The points where an arrow leaves a box and reaches the other.
    fn ends(&self, link: &Link, top: usize) -> (Point, Point) {
        let (width, height) = (self.box_width as isize, self.box_height as isize);
        let (from, to) = (self.corner(link.from, top), self.corner(link.to, top));
        if from.1 == to.1 {
            // Two arrows between two boxes run side by side.
            let aside = match self.boxes.len() {
                2 if from.0 < to.0 => -APART,
                2 => APART,
                _ => 0,
            };
            let y = from.1 + height / 2 + aside;
            return match from.0 < to.0 {
                true => ((from.0 + width, y), (to.0, y)),
                false => ((from.0, y), (to.0 + width, y)),
            };
        }
        let (from_x, to_x) = (from.0 + width / 2, to.0 + width / 2);
        match from.1 < to.1 {
            true => ((from_x, from.1 + height), (to_x, to.1)),
            false => ((from_x, from.1), (to_x, to.1 + height)),
        }
    }
}

fn sentence(link: &Link) -> String {
    format!("T{} \u{2192} T{}  {}: {}", link.from + 1, link.to + 1, link.relation.name(), link.why)
}

fn colour(relation: Relation) -> &'static str {
    match relation {
        Relation::WriteWrite => "#8250df",
        Relation::WriteRead => "#1a7f37",
        Relation::ReadWrite => "#cf222e",
        Relation::Session => "#9a6700",
        Relation::RealTime => "#0969da",
    }
}

fn text_width(text: &str) -> usize {
    text.chars().count() * CHARACTERS_2 / 2 + 8
}

fn write_text((x, y): Point, style: &str, text: &str, output: &mut dyn Write) -> io::Result<()> {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(output, "<text x=\"{x}\" y=\"{y}\" {style} xml:space=\"preserve\">{escaped}</text>")
}
