//! Stored statistics of tables: one row for the table, and one for each column.

use super::version::Analyzed;
use planner::{ColumnStatistics, Constant, TableStatistics};

/// A table or a column: its number among the table's columns from 1, 0 for the table itself.
pub(crate) type StoredPart = (i64, String);

/// The stored form of statistics.
pub(crate) fn stored(statistics: &TableStatistics) -> Vec<StoredPart> {
    let rows = statistics.rows.map(|rows| (0, rows.to_string()));
    let columns = statistics.columns.iter().enumerate();
    rows.into_iter().chain(columns.map(|(at, column)| (at as i64 + 1, text(column)))).collect()
}

/// Adds a stored part to the statistics of a table. Text of another form is left out: statistics
/// are advice.
pub(crate) fn add(analyzed: &mut Analyzed, table: i64, part: i64, body: &str) {
    let statistics = analyzed.entry(table).or_default();
    match usize::try_from(part) {
        Ok(0) => statistics.rows = body.parse().ok().filter(|rows: &f64| *rows >= 0.0),
        Ok(part) => {
            if statistics.columns.len() < part {
                statistics.columns.resize_with(part, ColumnStatistics::default);
            }
            statistics.columns[part - 1] = read(body).unwrap_or_default();
        }
        Err(_) => {}
    }
}

/// The first line has the number of distinct values and the fraction of nulls; then each common
/// value with its fraction, and each bound of the histogram, has a line.
fn text(column: &ColumnStatistics) -> String {
    let distinct = column.distinct.map_or_else(|| "-".to_owned(), |distinct| distinct.to_string());
    let mut text = format!("{distinct} {}", column.null_fraction);
    for (value, fraction) in &column.common {
        text += &format!("\nc {fraction} {}", constant(value));
    }
    for bound in &column.histogram {
        text += &format!("\nh {}", constant(bound));
    }
    text
}

fn read(text: &str) -> Option<ColumnStatistics> {
    let mut lines = text.split('\n');
    let (distinct, nulls) = lines.next()?.split_once(' ')?;
    let mut column = ColumnStatistics {
        distinct: distinct.parse().ok(),
        null_fraction: nulls.parse().ok()?,
        ..ColumnStatistics::default()
    };
    for line in lines {
        match line.split_at_checked(2)? {
            ("c ", rest) => {
                let (fraction, value) = rest.split_once(' ')?;
                column.common.push((read_constant(value)?, fraction.parse().ok()?));
            }
            ("h ", rest) => column.histogram.push(read_constant(rest)?),
            _ => return None,
        }
    }
    Some(column)
}

fn constant(value: &Constant) -> String {
    match value {
        Constant::Number(number) => format!("n{number}"),
        Constant::Text(text) => format!("t{}", text.replace('\\', "\\\\").replace('\n', "\\n")),
    }
}

fn read_constant(text: &str) -> Option<Constant> {
    match text.split_at_checked(1)? {
        ("n", number) => number.parse().ok().map(Constant::Number),
        ("t", text) => {
            let (mut value, mut letters) = (String::new(), text.chars());
            while let Some(letter) = letters.next() {
                value.push(match letter {
                    '\\' => match letters.next()? {
                        'n' => '\n',
                        other => other,
                    },
                    letter => letter,
                });
            }
            Some(Constant::Text(value))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_as_they_were_stored() {
        let text = |text: &str| Constant::Text(text.to_owned());
        let column = ColumnStatistics {
            distinct: Some(12.5),
            null_fraction: 0.25,
            common: vec![(text("a\n\\n b"), 0.5), (Constant::Number(-1.5e300), 0.1)],
            histogram: vec![text(""), text("z \u{f6}")],
        };
        let columns = vec![column, ColumnStatistics::default()];
        let statistics = TableStatistics { rows: Some(7.0), columns, ..TableStatistics::default() };
        let mut analyzed = Analyzed::new();
        for (part, body) in stored(&statistics) {
            add(&mut analyzed, 9, part, &body);
        }
        assert_eq!(analyzed[&9], statistics);
        for damaged in ["", "x", "- 0\nq", "- 0\nc 1", "- 0\nh x", "- 0\nh t\\", "1 y"] {
            add(&mut analyzed, 9, 1, damaged);
            assert_eq!(analyzed[&9].columns[0], ColumnStatistics::default(), "{damaged:?}");
        }
    }
}
