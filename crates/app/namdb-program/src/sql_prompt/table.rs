//! Results as aligned columns, as psql draws them.

/// Rows of a result.
pub struct Table {
    /// Names, and whether the column is aligned to the right.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<Option<String>>>,
    is_expanded: bool,
}

impl Table {
    pub fn new(columns: impl Iterator<Item = (String, bool)>, is_expanded: bool) -> Self {
        Self { columns: columns.collect(), rows: Vec::new(), is_expanded }
    }

    /// Adds a row of values in text format.
    pub fn push(&mut self, values: Vec<Option<Vec<u8>>>) {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        self.rows.push(values.into_iter().map(|value| value.map(text)).collect());
    }

    pub fn draw(&self) -> String {
        if self.is_expanded { self.draw_expanded() } else { self.draw_aligned() }
    }

    fn draw_aligned(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let own = width(&self.columns[at].0);
                let values = self.rows.iter().map(|row| lines(row, at).map(width).max());
                values.flatten().fold(own, usize::max)
            })
            .collect();
        let mut drawn = String::new();
        let header = self.columns.iter().zip(&widths).map(|((name, _), wide)| centred(name, *wide));
        push_line(&mut drawn, header);
        let rule: Vec<String> = widths.iter().map(|wide| "-".repeat(wide + 2)).collect();
        drawn.push_str(&rule.join("+"));
        drawn.push('\n');
        for row in &self.rows {
            self.draw_row(row, &widths, &mut drawn);
        }
        drawn.push_str(&count(self.rows.len()));
        drawn
    }

    /// A value with several lines makes a row with several lines, `+` at their ends.
    fn draw_row(&self, row: &[Option<String>], widths: &[usize], drawn: &mut String) {
        let height = (0..widths.len()).map(|at| lines(row, at).count()).max().unwrap_or(1).max(1);
        for line in 0..height {
            let cells = widths.iter().enumerate().map(|(at, wide)| {
                let text = lines(row, at).nth(line).unwrap_or_default();
                let goes_on = lines(row, at).nth(line + 1).is_some();
                let space = " ".repeat(wide - width(text));
                let end = if goes_on { '+' } else { ' ' };
                match self.columns[at].1 {
                    true => format!(" {space}{text}{end}"),
                    false => format!(" {text}{space}{end}"),
                }
            });
            push_line(drawn, cells);
        }
    }

    fn draw_expanded(&self) -> String {
        let wide = self.columns.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        let mut drawn = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            drawn.push_str(&format!("-[ RECORD {} ]-\n", number + 1));
            for ((name, _), value) in self.columns.iter().zip(row) {
                let space = " ".repeat(wide - width(name));
                let value = value.as_deref().unwrap_or_default();
                drawn.push_str(format!("{name}{space} | {value}").trim_end());
                drawn.push('\n');
            }
        }
        drawn.push_str(&count(self.rows.len()));
        drawn
    }
}

fn push_line(drawn: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    drawn.push_str(cells.join("|").trim_end());
    drawn.push('\n');
}

fn lines(row: &[Option<String>], at: usize) -> impl Iterator<Item = &str> {
    row.get(at).and_then(Option::as_deref).unwrap_or_default().split('\n')
}

/// Columns of a terminal that a text takes.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn centred(name: &str, wide: usize) -> String {
    let space = wide - width(name);
    let left = space / 2;
    format!(" {}{name}{} ", " ".repeat(left), " ".repeat(space - left))
}

fn count(rows: usize) -> String {
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    format!("({rows})\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(is_expanded: bool) -> Table {
        let columns = [("id".to_owned(), true), ("town".to_owned(), false)];
        let mut table = Table::new(columns.into_iter(), is_expanded);
        table.push(vec![Some(b"7".to_vec()), Some(b"Ghent".to_vec())]);
        table.push(vec![Some(b"100".to_vec()), None]);
        table.push(vec![Some(b"1".to_vec()), Some("a\nL\u{fc}beck".into())]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let expected = " id  |  town\n-----+--------\n   7 | Ghent\n 100 |\n   1 | a     +\n     \
                        | L\u{fc}beck\n(3 rows)\n\n";
        assert_eq!(table(false).draw(), expected);
    }

    #[test]
    fn a_wide_row_is_shown_by_lines() {
        let drawn = table(true).draw();
        assert!(drawn.starts_with("-[ RECORD 1 ]-\nid   | 7\ntown | Ghent\n"), "{drawn}");
    }
}
