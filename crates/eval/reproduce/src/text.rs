//! A record as text: the points as CSV, the comparison and the tables as columns.

use crate::outcome::Table;
use crate::record::{Comparison, Record, digits};
use std::fmt::Write;

/// All points, one per line, with the name of the series.
pub fn csv(record: &Record) -> String {
    let mut text =
        format!("series,{},{},published\n", quoted(&record.x.title), quoted(&record.y.title));
    for series in &record.series {
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

/// The published numbers compared with ours, with errors; then the tables, and the notes.
pub fn comparison(record: &Record) -> String {
    let mut text = String::new();
    if record.compared.is_empty() {
        let why = match record.made_of.is_quick {
            true => {
                "quick runs are not held against published numbers that are of more than they measure"
            }
            false => "no published number in hand",
        };
        let _ = writeln!(text, "  {why}");
    } else {
        let head = ["", "paper", "ours", "error", ""].map(str::to_owned).to_vec();
        let rows = record.compared.iter().map(Comparison::cells);
        columns(&mut text, std::iter::once(head).chain(rows).collect());
    }
    for compared in record.compared.iter().filter(|compared| !compared.is_near()) {
        let why = compared.why.as_deref().unwrap_or("the reason is not known");
        let _ = writeln!(text, "  {}: {why}", compared.what);
    }
    for Table { shows, columns: head, rows } in &record.tables {
        let _ = writeln!(text, "  {shows}:");
        columns(&mut text, std::iter::once(head).chain(rows).cloned().collect());
    }
    for note in &record.notes {
        let _ = writeln!(text, "  {note}");
    }
    text
}

impl Comparison {
    fn cells(&self) -> Vec<String> {
        let unit = &self.unit;
        vec![
            self.what.clone(),
            format!("{} {unit}", short(self.published)),
            format!("{} {unit}", short(self.ours)),
            format!("{:+.0} %", self.error_percent()),
            self.role.name().to_owned(),
        ]
    }
}

/// Aligns the cells of lines in columns: cells that begin with a digit or a sign on the right.
fn columns(text: &mut String, lines: Vec<Vec<String>>) {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let of_column = |column| lines.iter().filter_map(move |line: &Vec<String>| line.get(column));
    let widths: Vec<usize> =
        (0..count).map(|column| of_column(column).map(String::len).max().unwrap_or(0)).collect();
    let is_number = |cell: &String| {
        cell.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
    };
    let are_numbers: Vec<bool> =
        (0..count).map(|column| of_column(column).skip(1).all(is_number)).collect();
    for line in &lines {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if are_numbers[column] { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        });
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// Three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// 1234567 as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::small;

    #[test]
    fn points_have_six_digits_and_names_are_quoted() {
        let expected = "series,queue pairs,reads,published\n\
            \"8 bytes, one\",140,112.36,false\n\"8 bytes, one\",0.08,1234568,false\n\
            as printed,140,120,true\n";
        assert_eq!(csv(&small()), expected);
    }

    #[test]
    fn nothing_published_is_said_to_be_missing() {
        let nothing = Record { compared: Vec::new(), tables: Vec::new(), ..small() };
        assert_eq!(comparison(&nothing), "  no published number in hand\n  A note.\n");
    }

    #[test]
    fn a_point_that_misses_says_why_and_tables_follow() {
        let text = comparison(&small());
        assert!(text.contains("2.00 M/s  2.50 M/s  +25 %  prediction\n"), "{text}");
        assert!(text.contains("  drop: because\n") && text.ends_with("  A note.\n"), "{text}");
        assert!(text.contains("  type     verbs\n  payment   12.5\n"), "{text}");
    }
}
