//! Amounts: numbers that may depend on the scale, as `"3000 * units"` and `"subscriber.rows"`.

use crate::near::meant;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;

/// Maximum length of an amount in bytes.
const AMOUNT_BYTES_MAX: usize = 200;

/// A whole number, or a formula over the units of scale and the row counts of tables.
///
/// A formula has integers, `units`, `TABLE.rows` for tables with a given row count, and the
/// operators `+ - * /` (division rounds down), left-associative and with the usual precedence. It
/// has no parentheses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Amount {
    /// The summands.
    pub(crate) terms: Vec<Term>,
}

/// Factors, multiplied or divided from left to right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    negative: bool,
    pub(crate) factors: Vec<(bool, Factor)>,
}

/// One operand of a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Factor {
    Number(i64),
    Units,
    Rows(String),
}

impl Amount {
    pub fn constant(number: i64) -> Self {
        Self {
            terms: vec![Term { negative: false, factors: vec![(false, Factor::Number(number))] }],
        }
    }

    /// The value at `units` of scale; `rows` returns the row count of a table. `None` for overflow
    /// beyond 63 bits, division by zero, and tables without a row count.
    pub fn evaluate(&self, units: u64, rows: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        self.terms.iter().try_fold(0_i64, |sum, term| {
            let product = term.factors.iter().try_fold(1_i64, |product, (divides, factor)| {
                let value = match factor {
                    Factor::Number(number) => *number,
                    Factor::Units => i64::try_from(units).ok()?,
                    Factor::Rows(table) => rows(table)?,
                };
                if *divides {
                    product.checked_div_euclid(value)
                } else {
                    product.checked_mul(value)
                }
            })?;
            if term.negative { sum.checked_sub(product) } else { sum.checked_add(product) }
        })
    }

    /// The tables whose row counts the formula uses.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        let factors = self.terms.iter().flat_map(|term| &term.factors);
        factors.filter_map(|(_, factor)| match factor {
            Factor::Rows(table) => Some(&**table),
            _ => None,
        })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > AMOUNT_BYTES_MAX {
            return Err(format!("an amount has at most {AMOUNT_BYTES_MAX} characters"));
        }
        let spaced = ["+", "-", "*", "/"].iter().fold(text.to_owned(), |text, operator| {
            text.replace(operator, &format!(" {operator} "))
        });
        let mut words = spaced.split_whitespace().peekable();
        let mut negative = words.next_if_eq(&"-").is_some();
        let mut terms = Vec::new();
        loop {
            let mut factors = vec![(false, factor(words.next())?)];
            while let Some(operator) = words.next_if(|word| matches!(*word, "*" | "/")) {
                factors.push((operator == "/", factor(words.next())?));
            }
            terms.push(Term { negative, factors });
            negative = match words.next() {
                None => return Ok(Self { terms }),
                Some("+") => false,
                Some("-") => true,
                Some(word) => return Err(format!("an operator is missing before `{word}`")),
            };
        }
    }
}

fn factor(word: Option<&str>) -> Result<Factor, String> {
    let word = word.ok_or("a number, `units` or `TABLE.rows` is missing")?;
    if word == "units" {
        return Ok(Factor::Units);
    }
    if let Some(table) = word.strip_suffix(".rows") {
        return Ok(Factor::Rows(table.to_owned()));
    }
    let number = word.replace('_', "").parse();
    number.map(Factor::Number).map_err(|_| {
        let rows = word.split_once('.').map(|(table, _)| format!("{table}.rows"));
        let hint = match meant(word, rows.as_deref().into_iter().chain(["units"])) {
            none if none.is_empty() => {
                "an amount has integers, `units`, `TABLE.rows` and + - * /".to_owned()
            }
            meant => meant,
        };
        format!("`{word}` is not a number; {hint}")
    })
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an integer, or a formula such as \"10 * units\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        Ok(Amount::constant(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        Amount::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Option<i64>, String> {
        let rows = |table: &str| (table == "item").then_some(1000);
        Amount::parse(text).map(|amount| amount.evaluate(7, &rows))
    }

    #[test]
    fn formulas_are_evaluated_with_precedence() {
        assert_eq!(value("1 + 10*units - 2"), Ok(Some(69)));
        assert_eq!(value("-units + 5 * units / 2"), Ok(Some(10)));
        assert_eq!(value("item.rows / 3"), Ok(Some(333)));
        assert_eq!(value("100_000"), Ok(Some(100_000)));
    }

    #[test]
    fn amounts_without_a_value_are_reported() {
        assert_eq!(value("stock.rows"), Ok(None));
        assert_eq!(value("units / 0"), Ok(None));
        assert_eq!(value("9223372036854775807 * units"), Ok(None));
        assert!(value("10 units").is_err_and(|problem| problem.contains("operator")));
        assert!(value("units +").is_err_and(|problem| problem.contains("missing")));
        assert!(value("w").is_err_and(|problem| problem.contains("not a number")));
    }
}
