//! The rows that a call gives, in one piece of memory that calls use again.

/// A value of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// Null.
    Null,
    /// A number, a truth value, a date or a time.
    Int(i64),
    /// The units of a decimal, and its digits behind the point.
    Decimal(i64, u8),
    /// A float.
    Float(f64),
    /// A text; `character` without the blanks at its end.
    Text(&'a [u8]),
}

/// Rows of values. What types they have, the procedure's signature tells.
///
/// Values stand one behind the other, each behind a byte that tells its kind.
#[derive(Clone, Debug, Default)]
pub struct Results {
    bytes: Vec<u8>,
    rows: usize,
}

/// Kinds of values.
const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const TEXT: u8 = 3;
/// Of a decimal without digits behind the point; one more for each of those.
const DECIMAL: u8 = 4;

impl Results {
    /// Forgets everything and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }

    /// How many rows there are.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a row; its values follow.
    #[inline]
    pub fn row(&mut self) {
        self.rows += 1;
    }

    /// A null.
    #[inline]
    pub fn null(&mut self) {
        self.bytes.push(NULL);
    }

    /// A number, a truth value, a date or a time.
    #[inline]
    pub fn int(&mut self, value: i64) {
        let mut cell = [INT; 9];
        cell[1..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    /// The units of a decimal, which has so many digits behind the point.
    ///
    /// # Panics
    /// If those are more than 200.
    #[inline]
    pub fn decimal(&mut self, units: i64, scale: u8) {
        assert!(scale <= 200, "numbers of 64 bits have fewer digits");
        let mut cell = [DECIMAL + scale; 9];
        cell[1..].copy_from_slice(&units.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    /// The units of a decimal, or null.
    #[inline]
    pub fn decimal_or_null(&mut self, units: Option<i64>, scale: u8) {
        match units {
            Some(units) => self.decimal(units, scale),
            None => self.null(),
        }
    }

    /// A float.
    #[inline]
    pub fn float(&mut self, value: f64) {
        let mut cell = [FLOAT; 9];
        cell[1..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    /// A text.
    #[inline]
    pub fn text(&mut self, value: &[u8]) {
        let length = u32::try_from(value.len()).expect("columns are shorter");
        let mut head = [TEXT; 5];
        head[1..].copy_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(value);
    }

    /// A number, or null.
    #[inline]
    pub fn int_or_null(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.int(value),
            None => self.null(),
        }
    }

    /// A float, or null.
    #[inline]
    pub fn float_or_null(&mut self, value: Option<f64>) {
        match value {
            Some(value) => self.float(value),
            None => self.null(),
        }
    }

    /// A text, or null.
    #[inline]
    pub fn text_or_null(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// All values, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (cell, next) = self.read(at)?;
            at = next;
            Some(cell)
        })
    }

    /// Notes where each value begins, row by row, for [`Results::cell`].
    pub fn places(&self, places: &mut Vec<usize>) {
        places.clear();
        let mut at = 0;
        while let Some((_, next)) = self.read(at) {
            places.push(at);
            at = next;
        }
    }

    /// The value that begins at one of [`Results::places`].
    ///
    /// # Panics
    /// If none begins there.
    pub fn cell(&self, place: usize) -> Cell<'_> {
        self.read(place).expect("it is one of the places").0
    }

    /// The value at a place, and where the next one begins; none behind the last.
    fn read(&self, at: usize) -> Option<(Cell<'_>, usize)> {
        let (&kind, behind) = self.bytes[at..].split_first()?;
        let number = || <[u8; 8]>::try_from(&behind[..8]).expect("eight bytes");
        let (cell, length) = match kind {
            NULL => (Cell::Null, 0),
            INT => (Cell::Int(i64::from_le_bytes(number())), 8),
            FLOAT => (Cell::Float(f64::from_le_bytes(number())), 8),
            TEXT => {
                let length = <[u8; 4]>::try_from(&behind[..4]).expect("four bytes");
                let length = u32::from_le_bytes(length) as usize;
                (Cell::Text(&behind[4..4 + length]), 4 + length)
            }
            decimal => (Cell::Decimal(i64::from_le_bytes(number()), decimal - DECIMAL), 8),
        };
        Some((cell, at + 1 + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_order() {
        let mut results = Results::default();
        results.row();
        results.int(-5);
        results.text(b"seven");
        results.null();
        results.row();
        results.float(1.5);
        results.text_or_null(None);
        results.int_or_null(Some(i64::MAX));
        results.decimal(-120, 2);
        let cells: Vec<Cell<'_>> = results.cells().collect();
        let expected = [
            Cell::Int(-5),
            Cell::Text(b"seven"),
            Cell::Null,
            Cell::Float(1.5),
            Cell::Null,
            Cell::Int(i64::MAX),
            Cell::Decimal(-120, 2),
        ];
        assert_eq!((results.rows(), cells), (2, expected.to_vec()));
        let mut places = vec![7];
        results.places(&mut places);
        let cells: Vec<Cell<'_>> = places.iter().map(|&place| results.cell(place)).collect();
        assert_eq!(cells, expected);
        results.clear();
        assert_eq!((results.rows(), results.cells().count()), (0, 0));
    }
}
