//! The rows that the nodes of a plan pass to each other.

use sql_value::Value;
use txn::RowId;

/// Rows of equal width in one list of values, with the ids of the table's rows if the statement
/// changes them.
#[derive(Default, Debug)]
pub struct Rows {
    width: usize,
    count: usize,
    values: Vec<Value>,
    ids: Vec<RowId>,
}

impl Rows {
    /// No rows yet, of this width.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Empties it for rows of this width, keeping its memory.
    pub(crate) fn reset(&mut self, width: usize) {
        self.width = width;
        self.count = 0;
        self.ids.clear();
        self.values.clear();
    }

    pub fn width(&self) -> usize {
        self.width
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns a row.
    ///
    /// # Panics
    ///
    /// If `at` is out of bounds.
    #[inline]
    pub fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, at: usize) -> &mut [Value] {
        &mut self.values[at * self.width..(at + 1) * self.width]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.count).map(|at| self.row(at))
    }

    /// Returns the row of the changed table that a row was made from.
    #[inline]
    pub(crate) fn id(&self, at: usize) -> Option<RowId> {
        self.ids.get(at).copied()
    }

    /// Makes them rows of no table.
    pub(crate) fn forget_ids(&mut self) {
        self.ids.clear();
    }

    /// Adds the next value of the current row; [`Rows::end_row`] ends the row.
    #[inline]
    pub(crate) fn push(&mut self, value: Value) {
        value.append_to(&mut self.values);
    }

    /// The list of the current row's values.
    #[inline]
    pub(crate) fn list(&mut self) -> &mut Vec<Value> {
        &mut self.values
    }

    #[inline]
    pub(crate) fn end_row(&mut self, id: Option<RowId>) {
        self.count += 1;
        debug_assert_eq!(self.values.len(), self.count * self.width);
        self.ids.extend(id);
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it does not have the width of the others.
    pub fn push_values(&mut self, row: &[Value]) {
        assert_eq!(row.len(), self.width, "rows have equal widths");
        self.push_row(row, None);
    }

    pub(crate) fn push_row(&mut self, row: &[Value], id: Option<RowId>) {
        self.values.extend_from_slice(row);
        self.end_row(id);
    }

    /// Drops the first `skipped` rows, and keeps at most `most` of the others.
    pub(crate) fn keep(&mut self, skipped: usize, most: usize) {
        let skipped = skipped.min(self.count);
        let kept = (self.count - skipped).min(most);
        self.values.truncate((skipped + kept) * self.width);
        self.values.drain(..skipped * self.width);
        if !self.ids.is_empty() {
            self.ids.truncate(skipped + kept);
            self.ids.drain(..skipped);
        }
        self.count = kept;
    }

    pub(crate) fn reordered(mut self, order: &[usize]) -> Self {
        let mut rows = Self::new(self.width);
        rows.values.reserve(self.values.len());
        for &at in order {
            let id = self.id(at);
            for value in self.row_mut(at) {
                rows.values.push(std::mem::replace(value, Value::Null));
            }
            rows.end_row(id);
        }
        rows
    }

    /// Moves all rows of another list of the same width to the end.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.count += std::mem::take(&mut other.count);
        self.values.append(&mut other.values);
        self.ids.append(&mut other.ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[i64]) -> Rows {
        let mut rows = Rows::new(1);
        numbers.iter().for_each(|number| rows.push_row(&[Value::Int(*number)], None));
        rows
    }

    #[test]
    fn rows_are_cut_at_both_ends_and_reordered() {
        let mut some = rows(&[1, 2, 3, 4]);
        some.keep(1, 2);
        let mut some = some.reordered(&[1, 0]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [&[Value::Int(3)], &[Value::Int(2)]]);
        let mut all = rows(&[1]);
        all.append(&mut some);
        assert_eq!((all.len(), all.row(2)), (3, &[Value::Int(2)][..]));
        all.keep(5, 1);
        assert!(all.is_empty());
    }
}
