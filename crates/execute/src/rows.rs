//! Rows on their way between the nodes of a plan.

use txn::RowId;
use value::Value;

/// Rows of equal width in one list of values, and the rows of a table that they come from where a statement changes those.
#[derive(Default, Debug)]
pub struct Rows {
    width: usize,
    count: usize,
    values: Vec<Value>,
    ids: Vec<RowId>,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Empty, for rows of this width, in the memory that is there.
    pub(crate) fn reset(&mut self, width: usize) {
        self.width = width;
        self.count = 0;
        self.ids.clear();
        self.values.clear();
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A row.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[inline]
    pub fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, at: usize) -> &mut [Value] {
        &mut self.values[at * self.width..(at + 1) * self.width]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.count).map(|at| self.row(at))
    }

    /// Of which row of the table that is changed a row is made.
    #[inline]
    pub(crate) fn id(&self, at: usize) -> Option<RowId> {
        self.ids.get(at).copied()
    }

    /// The next value of the row that is being added; [`Rows::end_row`] ends it.
    #[inline]
    pub(crate) fn push(&mut self, value: Value) {
        value.append_to(&mut self.values);
    }

    /// The list that it is added to.
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

    pub(crate) fn push_row(&mut self, row: &[Value], id: Option<RowId>) {
        self.values.extend_from_slice(row);
        self.end_row(id);
    }

    /// Leaves out the first rows, and those beyond a number.
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

    /// The same rows in another order.
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

    /// Adds all rows of another list of the same width, which is empty then.
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
