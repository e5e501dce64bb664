//! Parts of a record as Markdown.

use crate::outcome::{Series, Table};
use crate::record::{Comparison, Record, digits};
use crate::text::{grouped, short};
use std::fmt::Write;

/// The command of a record, and its parameters.
pub(super) fn run(record: &Record) -> String {
    let quick = if record.made_of.is_quick { " --quick" } else { "" };
    let mut text = format!(
        "`namdb reproduce {}{quick}`, on `{}`, seed {}.",
        record.experiment, record.profile, record.made_of.seed
    );
    if record.made_of.is_quick {
        text.push_str(" **Few points, short windows.**");
    }
    let parameters = record.parameters.iter().map(|(name, value)| format!("{name}: {value}"));
    let parameters: Vec<String> = parameters.collect();
    if !parameters.is_empty() {
        let _ = write!(text, " With {}.", parameters.join("; "));
    }
    text
}

pub(super) fn picture(record: &Record) -> String {
    format!("![{}]({}.svg)", record.shows, record.experiment)
}

/// Published numbers compared with ours, with the reason for a miss in the same row.
pub(super) fn compared(record: &Record) -> String {
    if record.compared.is_empty() {
        return "No published number is in hand.".to_owned();
    }
    let head = ["", "published", "ours", "error", "role", "why it misses"].map(str::to_owned);
    let rows = record.compared.iter().map(|compared| {
        let why = compared.why.as_deref().unwrap_or("not known");
        vec![
            compared.what.clone(),
            with_unit(compared.published, &compared.unit),
            with_unit(compared.ours, &compared.unit),
            error(compared),
            compared.role.name().to_owned(),
            if compared.is_near() { String::new() } else { why.to_owned() },
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// The deviation of ours from the published number, in percent.
pub(super) fn error(compared: &Comparison) -> String {
    let percent = compared.error_percent().round();
    let sign = match percent {
        above if above > 0.0 => "+",
        below if below < 0.0 => "-",
        _ => "",
    };
    format!("{sign}{} %", grouped(percent.abs() as u64))
}

/// A row for each curve, a column for each position on the axis.
pub(super) fn points(record: &Record) -> String {
    let all = record.series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
    let mut places: Vec<f64> = all.collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let title = format!("{} \\ {}", record.y.title, record.x.title);
    let mut head = vec![title];
    head.extend(places.iter().map(|place| at(*place)));
    let row = |series: &Series| {
        let name =
            if series.is_published { format!("*{}*", series.name) } else { series.name.clone() };
        let cells = places.iter().map(|place| {
            let point = series.points.iter().find(|point| point.0 == *place);
            point.map_or(String::new(), |point| brief(point.1))
        });
        std::iter::once(name).chain(cells).collect()
    };
    table(&head, &record.series.iter().map(row).collect::<Vec<_>>())
}

pub(super) fn tables(record: &Record) -> String {
    let all = record
        .tables
        .iter()
        .map(|Table { shows, columns, rows }| format!("**{shows}**\n\n{}", table(columns, rows)));
    all.collect::<Vec<_>>().join("\n\n")
}

pub(super) fn notes(record: &Record) -> String {
    record.notes.iter().map(|note| format!("- {note}")).collect::<Vec<_>>().join("\n")
}

/// Formats a table; columns of numbers are aligned right.
pub(super) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>();
        format!("| {} |", cells.join(" | "))
    };
    let is_number = |cell: &String| {
        cell.is_empty()
            || cell.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
    };
    let below = (0..head.len()).map(|column| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        if column > 0 && cells.all(is_number) { "---:" } else { "---" }
    });
    let rule = format!("|{}|", below.collect::<Vec<_>>().join("|"));
    let lines = rows.iter().map(|row| line(row));
    [line(head), rule].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// A number with its unit.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    let number =
        if value.abs() < 999.5 { short(value) } else { grouped(value.abs().round() as u64) };
    format!("{number} {unit}")
}

/// Three digits, with letters for thousands and millions.
pub(super) fn brief(value: f64) -> String {
    match value.abs() {
        size if size >= 999_500.0 => format!("{} M", short(value / 1e6)),
        size if size >= 9_995.0 => format!("{} k", short(value / 1e3)),
        size if size >= 99.95 => grouped(size.round() as u64),
        size if size >= 0.0995 || size == 0.0 => short(value),
        _ => format!("{value:.4}"),
    }
}

/// A position on an axis.
pub(super) fn at(place: f64) -> String {
    match place.fract() == 0.0 && place >= 0.0 {
        true => grouped(place as u64),
        false => digits(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::small;

    #[test]
    fn numbers_are_short() {
        let briefly = [0.0, 0.0123, 0.55, 26.94, 1351.2, 87_000.0, 4_870_000.0].map(brief);
        assert_eq!(briefly, ["0.00", "0.0123", "0.55", "26.9", "1,351", "87.0 k", "4.87 M"]);
        assert_eq!(
            [with_unit(3.64, "M/s"), with_unit(345_624.2, "/s")],
            ["3.64 M/s", "345,624 /s"]
        );
        assert_eq!([at(0.08), at(1400.0)], ["0.08", "1,400"]);
    }

    #[test]
    fn a_comparison_has_a_reason_where_it_misses() {
        let mut record = small();
        let missed = "| drop | 2.00 M/s | 2.50 M/s | +25 % | prediction | because |";
        assert!(compared(&record).ends_with(missed), "{}", compared(&record));
        record.compared[0].ours = 2.0;
        let near = "| drop | 2.00 M/s | 2.00 M/s | 0 % | prediction |  |";
        assert!(compared(&record).ends_with(near), "{}", compared(&record));
        record.compared.clear();
        assert_eq!(compared(&record), "No published number is in hand.");
    }

    #[test]
    fn points_of_all_curves_stand_below_each_other() {
        let expected = "| reads \\ queue pairs | 0.08 | 140 |\n|---|---:|---:|\n\
            | 8 bytes, one | 1.23 M | 112 |\n| *as printed* |  | 120 |";
        assert_eq!(points(&small()), expected);
    }

    #[test]
    fn tables_have_headers_and_notes_are_listed() {
        let expected = "**verbs of each type**\n\n| type | verbs |\n|---|---:|\n| payment | 12.5 |";
        assert_eq!(tables(&small()), expected);
        assert_eq!(notes(&small()), "- A note.");
    }

    #[test]
    fn a_run_is_described_by_its_command() {
        let told =
            "`namdb reproduce queue-pairs`, on `connect-ib-2xfdr`, seed 1. With machines: 8.";
        assert_eq!(run(&small()), told);
        let mut quick = small();
        quick.made_of.is_quick = true;
        assert!(run(&quick).starts_with("`namdb reproduce queue-pairs --quick`"));
        assert!(run(&quick).contains("**Few points, short windows.**"));
    }
}
