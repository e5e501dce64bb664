//! An outcome as text: the points as CSV, the comparison as a table.

use crate::outcome::Outcome;
use std::fmt::Write;

/// All points: a line for each, with the name of its series.
pub fn csv(outcome: &Outcome) -> String {
    let mut text =
        format!("series,{},{},published\n", quoted(outcome.x.title), quoted(outcome.y.title));
    for series in &outcome.series {
        for (x, y) in &series.points {
            let name = quoted(&series.name);
            let _ = writeln!(text, "{name},{},{},{}", digits(*x), digits(*y), series.is_published);
        }
    }
    text
}

fn quoted(name: &str) -> String {
    match name.contains([',', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

/// Six digits and no more: what is beyond them is noise.
fn digits(value: f64) -> String {
    let whole = libm::log10(value.abs().max(1e-9)).floor() as i32 + 1;
    let decimals = (6 - whole).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The published numbers beside ours, with errors; then the notes.
pub fn comparison(outcome: &Outcome) -> String {
    let mut text = String::new();
    let rows: Vec<[String; 5]> = outcome
        .compared
        .iter()
        .map(|compared| {
            let unit = compared.unit;
            [
                compared.what.clone(),
                format!("{} {unit}", short(compared.published)),
                format!("{} {unit}", short(compared.ours)),
                format!("{:+.0} %", compared.error_percent()),
                compared.role.name().to_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        text.push_str("  no published number in hand\n");
    }
    let head = ["", "paper", "ours", "error", ""].map(str::to_owned);
    let head = (!rows.is_empty()).then_some(&head);
    let lines: Vec<&[String; 5]> = head.into_iter().chain(&rows).collect();
    let widths: Vec<usize> = (0..5)
        .map(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0))
        .collect();
    for line in lines {
        let cells =
            line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 | 4 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            });
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    for compared in outcome.compared.iter().filter(|compared| !compared.is_near()) {
        let why = compared.why.unwrap_or("the reason is not known");
        let _ = writeln!(text, "  {}: {why}", compared.what);
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "  {note}");
    }
    text
}

/// Three digits.
fn short(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Axis, Compared, Corner, Role, Series};

    fn outcome() -> Outcome {
        let axis = |title| Axis { title, is_logarithmic: false };
        let compared = Compared {
            what: "drop".to_owned(),
            unit: "M/s",
            published: 2.0,
            ours: 2.5,
            role: Role::Prediction,
            why: Some("because"),
        };
        let series = Series {
            name: "8 bytes, one".to_owned(),
            points: vec![(140.0, 112.359_550_5), (0.08, 1_234_567.8)],
            is_published: false,
        };
        Outcome {
            parameters: Vec::new(),
            x: axis("queue pairs"),
            y: axis("reads"),
            legend: Corner::UpperLeft,
            series: vec![series],
            compared: vec![compared],
            notes: vec!["A note.".to_owned()],
        }
    }

    #[test]
    fn points_have_six_digits_and_names_are_quoted() {
        let expected = "series,queue pairs,reads,published\n\
            \"8 bytes, one\",140,112.36,false\n\"8 bytes, one\",0.08,1234568,false\n";
        assert_eq!(csv(&outcome()), expected);
    }

    #[test]
    fn nothing_published_is_said_to_be_missing() {
        let nothing = Outcome { compared: Vec::new(), ..outcome() };
        assert_eq!(comparison(&nothing), "  no published number in hand\n  A note.\n");
    }

    #[test]
    fn a_point_that_misses_says_why() {
        let text = comparison(&outcome());
        assert!(text.contains("2.00 M/s  2.50 M/s  +25 %  prediction\n"), "{text}");
        assert!(text.contains("  drop: because\n") && text.ends_with("  A note.\n"), "{text}");
    }
}
