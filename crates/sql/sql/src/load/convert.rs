//! Checks a draw of `workload.toml` against the type of the drawn value.

use super::Amount;
use super::distribution::{Alphabet, ArrayLength, Condition, Distribution, Draw, Literal, Range};
use super::raw::{RawCase, RawDistribution, RawShare};
use super::read::LoadReader;
use crate::error::{Error, Result};
use crate::near::meant;
use crate::resolve::coerce::converts_implicitly;
use crate::types::SqlType;
use toml::Spanned;

/// Maximum length of drawn text in characters, and of a drawn array in elements.
const LENGTH_MAX: u32 = 1024 * 1024;
/// Maximum number of distinct values that are shuffled.
const DISTINCT_MAX: i64 = 1024 * 1024;

/// Converts the draws of one row or call.
pub(super) struct Converter<'a> {
    pub(super) reader: &'a LoadReader<'a>,
    /// Names and types of the arguments or columns that are drawn before.
    pub(super) earlier: Vec<(String, SqlType)>,
    /// Whether rows are drawn; only rows have a running number.
    pub(super) counts_rows: bool,
}

/// A draw as written, with its position.
type Raw = Spanned<RawDistribution>;

impl Converter<'_> {
    pub(super) fn distribution(&self, raw: &Raw, sql_type: &SqlType) -> Result<Distribution> {
        let written = raw.get_ref();
        let kind = self.kind(raw)?;
        self.check_companions(raw, kind)?;
        let null = written.null.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&null) {
            return Err(self.error(raw, "the share of nulls must be from 0 to 1"));
        }
        let draw = match kind {
            "uniform" | "nurand" | "zipf" | "sequence" => self.number(raw, sql_type)?,
            "constant" | "one_of" | "chance" | "now" => self.simple(raw, kind, sql_type)?,
            "text" | "digits" | "last_name" => self.text(raw, kind, sql_type)?,
            "array" => self.array(raw, sql_type)?,
            _ => self.dependent(raw, sql_type)?,
        };
        Ok(Distribution { null, draw })
    }

    fn error(&self, raw: &Raw, sentence: impl Into<String>) -> Error {
        self.reader.error(raw.span(), sentence)
    }

    /// The key that names the kind of draw; there must be exactly one.
    fn kind(&self, raw: &Raw) -> Result<&'static str> {
        let written = raw.get_ref();
        let kinds = [
            ("uniform", written.uniform.is_some()),
            ("nurand", written.nurand.is_some()),
            ("zipf", written.zipf.is_some()),
            ("sequence", written.sequence.is_some()),
            ("constant", written.constant.is_some()),
            ("one_of", written.one_of.is_some()),
            ("chance", written.chance.is_some()),
            ("text", written.text.is_some()),
            ("digits", written.digits.is_some()),
            ("last_name", written.last_name.is_some()),
            ("same", written.same.is_some()),
            ("column", written.column.is_some()),
            ("mixture", written.mixture.is_some()),
            ("cases", written.cases.is_some()),
            ("array", written.array.is_some()),
            ("now", written.now.is_some()),
        ];
        let mut given = kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind);
        match (given.next(), given.next()) {
            (Some(kind), None) => Ok(kind),
            (Some(first), Some(second)) => {
                Err(self.error(raw, format!("`{first}` and `{second}` cannot be combined")))
            }
            (None, _) => {
                let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
                let error = self.error(raw, "this has no draw");
                Err(error.advise(format!("write one of {}", names.join(", "))))
            }
        }
    }

    /// Refuses keys that belong to another kind of draw.
    fn check_companions(&self, raw: &Raw, kind: &str) -> Result<()> {
        let written = raw.get_ref();
        let companions = [
            ("decimals", written.decimals.is_some(), ["uniform"].as_slice()),
            ("except", written.except.is_some(), &["uniform"]),
            ("each", written.each.is_some(), &["sequence"]),
            ("weights", written.weights.is_some(), &["one_of"]),
            ("alphabet", written.alphabet.is_some(), &["text"]),
            ("containing", written.containing.is_some(), &["text"]),
            ("ending", written.ending.is_some(), &["text"]),
            ("width", written.width.is_some(), &["digits"]),
            ("row", written.row.is_some(), &["column"]),
            ("by", written.by.is_some(), &["cases"]),
            ("length", written.length.is_some(), &["array"]),
            ("length_of", written.length_of.is_some(), &["array"]),
            ("distinct", written.distinct.is_some(), &["array", "uniform", "one_of"]),
        ];
        match companions.iter().find(|(_, given, owners)| *given && !owners.contains(&kind)) {
            Some((key, _, owners)) => {
                let owners = owners.join("`, `");
                Err(self.error(raw, format!("`{key}` belongs to `{owners}`")))
            }
            None => Ok(()),
        }
    }

    fn wrong_type(&self, raw: &Raw, what: &str, sql_type: &SqlType) -> Error {
        self.error(raw, format!("this draws {what}, but {sql_type} is required"))
    }

    /// Checks that the tables of a formula exist.
    fn check_tables(&self, raw: &Raw, amount: &Amount) -> Result<()> {
        let is_unknown = |table: &&str| self.reader.program.catalog.position(table).is_none();
        match amount.tables().find(is_unknown) {
            Some(table) => Err(self.reader.no_table(raw.span(), table)),
            None => Ok(()),
        }
    }

    fn range(&self, raw: &Raw, bounds: &[Amount; 2]) -> Result<Range> {
        let [low, high] = bounds.clone();
        self.check_tables(raw, &low)?;
        self.check_tables(raw, &high)?;
        let drawn = low.tables().chain(high.tables()).find(|table| self.reader.is_drawn(table));
        if let Some(table) = drawn {
            let sentence =
                format!("the row count of `{table}` is drawn, so a formula cannot use it");
            return Err(self.error(raw, sentence));
        }
        match (self.reader.value(&low), self.reader.value(&high)) {
            (Some(least), Some(greatest)) if least <= greatest => Ok(Range { low, high }),
            (Some(_), Some(_)) => {
                Err(self.error(raw, "the lower bound is greater than the upper bound"))
            }
            _ => Err(self.error(raw, "a bound has no value at the default scale")),
        }
    }

    fn number(&self, raw: &Raw, sql_type: &SqlType) -> Result<Draw> {
        if !sql_type.is_number() {
            return Err(self.wrong_type(raw, "numbers", sql_type));
        }
        let written = raw.get_ref();
        if let Some(bounds) = &written.uniform {
            let decimals = written.decimals.unwrap_or(0);
            if decimals > 18 || decimals > 0 && sql_type.is_integer() {
                return Err(self.error(raw, format!("{sql_type} has fewer decimal places")));
            }
            if let Some(name) = &written.except {
                self.earlier_type(raw, name)?;
            }
            let range = self.range(raw, bounds)?;
            let distinct = written.distinct.unwrap_or(false);
            if distinct {
                let width = self.width(&range).unwrap_or(i64::MAX);
                self.check_distinct(raw, width, written.except.is_some(), "except")?;
            }
            return Ok(Draw::Uniform { range, decimals, except: written.except.clone(), distinct });
        }
        if let Some(nurand) = &written.nurand {
            if nurand.a < 0 || nurand.c < 0 {
                return Err(self.error(raw, "`a` and `c` must be at least 0"));
            }
            return Ok(Draw::Nurand {
                a: nurand.a,
                c: nurand.c,
                range: self.range(raw, &nurand.range)?,
            });
        }
        if let Some(zipf) = &written.zipf {
            if !(0.0..1.0).contains(&zipf.theta) {
                return Err(self.error(raw, "`theta` must be at least 0 and less than 1"));
            }
            let range = self.range(raw, &zipf.range)?;
            return Ok(Draw::Zipf { range, theta: zipf.theta, scrambled: zipf.scrambled });
        }
        let Some(bounds) = &written.sequence else {
            return Err(self.error(raw, "this has no draw"));
        };
        let each = written.each.clone().unwrap_or_else(|| Amount::constant(1));
        self.check_tables(raw, &each)?;
        if self.reader.value(&each).is_none_or(|each| each < 1) {
            return Err(self.error(raw, "`each` must be at least 1"));
        }
        Ok(Draw::Sequence { range: self.range(raw, bounds)?, each })
    }

    fn simple(&self, raw: &Raw, kind: &str, sql_type: &SqlType) -> Result<Draw> {
        let written = raw.get_ref();
        if let Some(literal) = &written.constant {
            self.check_literal(raw, literal, sql_type)?;
            return Ok(Draw::Constant(literal.clone()));
        }
        if let Some(values) = &written.one_of {
            for value in values {
                self.check_literal(raw, value, sql_type)?;
            }
            let weights = written.weights.clone().unwrap_or_else(|| vec![1.0; values.len()]);
            self.check_weights(raw, &weights, values.len())?;
            let distinct = written.distinct.unwrap_or(false);
            if distinct {
                self.check_distinct(
                    raw,
                    values.len() as i64,
                    written.weights.is_some(),
                    "weights",
                )?;
            }
            return Ok(Draw::OneOf { values: values.clone(), weights, distinct });
        }
        if let Some(chance) = written.chance {
            if *sql_type != SqlType::Bool {
                return Err(self.wrong_type(raw, "booleans", sql_type));
            }
            if !(0.0..=1.0).contains(&chance) {
                return Err(self.error(raw, "a chance must be from 0 to 1"));
            }
            return Ok(Draw::Chance(chance));
        }
        if kind == "now" && written.now == Some(true) && sql_type.is_time() {
            return Ok(Draw::Now);
        }
        match written.now {
            Some(true) => Err(self.wrong_type(raw, "times", sql_type)),
            _ => Err(self.error(raw, "write `now = true`")),
        }
    }

    /// The number of integers in a range at the default scale.
    fn width(&self, range: &Range) -> Option<i64> {
        let (low, high) = (self.reader.value(&range.low)?, self.reader.value(&range.high)?);
        high.checked_sub(low)?.checked_add(1)
    }

    fn check_distinct(&self, raw: &Raw, count: i64, excluded: bool, key: &str) -> Result<()> {
        if !self.counts_rows {
            let sentence = "`distinct` applies only to columns of rows and to arrays";
            return Err(self.error(raw, sentence));
        }
        if excluded {
            return Err(self.error(raw, format!("`distinct` and `{key}` cannot be combined")));
        }
        if count > DISTINCT_MAX {
            let sentence = format!("`distinct` allows at most {DISTINCT_MAX} values");
            return Err(self.error(raw, sentence));
        }
        Ok(())
    }

    fn check_weights(&self, raw: &Raw, weights: &[f64], count: usize) -> Result<()> {
        let fit = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        if count == 0 || weights.len() != count || !fit || weights.iter().sum::<f64>() <= 0.0 {
            let sentence =
                "write one weight of at least 0 for each value, and at least one above 0";
            return Err(self.error(raw, sentence));
        }
        Ok(())
    }

    fn check_literal(&self, raw: &Raw, literal: &Literal, sql_type: &SqlType) -> Result<()> {
        let (fits, what) = match literal {
            Literal::Bool(_) => (*sql_type == SqlType::Bool, "a boolean"),
            Literal::Integer(number) => (integer_fits(*number, sql_type), "a whole number"),
            Literal::Float(_) => {
                (matches!(sql_type, SqlType::Float8 | SqlType::Numeric(_)), "a number with a point")
            }
            Literal::Text(text) => (text_fits(text, sql_type), "text"),
        };
        if fits {
            Ok(())
        } else {
            Err(self.error(raw, format!("this is {what}, but {sql_type} is required")))
        }
    }

    fn text(&self, raw: &Raw, kind: &str, sql_type: &SqlType) -> Result<Draw> {
        if !sql_type.is_text() {
            return Err(self.wrong_type(raw, "text", sql_type));
        }
        let written = raw.get_ref();
        if let Some([least, most]) = written.text {
            if least > most || most > LENGTH_MAX {
                return Err(self.error(
                    raw,
                    format!("lengths must be in ascending order and at most {LENGTH_MAX}"),
                ));
            }
            let alphabet = written.alphabet.unwrap_or(Alphabet::Alphanumeric);
            let containing = written.containing.clone().unwrap_or_default();
            if containing.chars().count() > least as usize {
                return Err(self.error(raw, "the minimum length is too short for `containing`"));
            }
            let ending = written.ending.clone().unwrap_or_default();
            return Ok(Draw::Text { length: (least, most), alphabet, containing, ending });
        }
        let inner = if kind == "digits" { &written.digits } else { &written.last_name };
        let Some(inner) = inner else {
            return Err(self.error(raw, "this has no draw"));
        };
        let number = Box::new(self.distribution(inner, &SqlType::Int8)?);
        if kind == "last_name" {
            return Ok(Draw::LastName(number));
        }
        let width = written.width.unwrap_or(1);
        if width > LENGTH_MAX {
            return Err(self.error(raw, format!("a width must be at most {LENGTH_MAX}")));
        }
        Ok(Draw::Digits { of: number, width })
    }

    fn array(&self, raw: &Raw, sql_type: &SqlType) -> Result<Draw> {
        let SqlType::Array(element) = sql_type else {
            return Err(self.wrong_type(raw, "arrays", sql_type));
        };
        let written = raw.get_ref();
        let Some(inner) = &written.array else {
            return Err(self.error(raw, "this has no draw"));
        };
        let of = Box::new(self.distribution(inner, element)?);
        let length = match (&written.length, &written.length_of) {
            (Some(length), None) => {
                ArrayLength::Drawn(Box::new(self.distribution(length, &SqlType::Int4)?))
            }
            (None, Some(name)) => {
                let earlier = self.earlier_type(raw, name)?;
                if !matches!(earlier, SqlType::Array(_)) && !earlier.is_integer() {
                    return Err(
                        self.error(raw, format!("`{name}` is neither an array nor a whole number"))
                    );
                }
                ArrayLength::Same(name.clone())
            }
            _ => return Err(self.error(raw, "write either `length` or `length_of`")),
        };
        Ok(Draw::Array { of, length, distinct: written.distinct.unwrap_or(false) })
    }

    fn dependent(&self, raw: &Raw, sql_type: &SqlType) -> Result<Draw> {
        let written = raw.get_ref();
        if let Some(name) = &written.same {
            let found = self.earlier_type(raw, name)?;
            if !converts_implicitly(found, sql_type) {
                return Err(
                    self.error(raw, format!("`{name}` is {found}, but {sql_type} is required"))
                );
            }
            return Ok(Draw::Same(name.clone()));
        }
        if let Some(path) = &written.column {
            return self.column(raw, path, sql_type);
        }
        if let Some(shares) = &written.mixture {
            return self.mixture(raw, shares, sql_type);
        }
        let (Some(cases), Some(by)) = (&written.cases, &written.by) else {
            return Err(self.error(raw, "`cases` needs `by` with the name of an earlier argument"));
        };
        let by_type = self.earlier_type(raw, by)?.clone();
        let convert = |case: &RawCase| {
            Ok((self.condition(case, &by_type)?, self.distribution(&case.draw, sql_type)?))
        };
        let converted: Vec<_> = cases.iter().map(convert).collect::<Result<_>>()?;
        let always = converted.iter().position(|(condition, _)| *condition == Condition::Always);
        match always {
            Some(at) if at + 1 < cases.len() => {
                let sentence = "this case is unreachable: the case before it has no condition";
                Err(self.error(&cases[at + 1].draw, sentence))
            }
            _ => Ok(Draw::Cases { by: by.clone(), cases: converted }),
        }
    }

    fn condition(&self, case: &RawCase, by_type: &SqlType) -> Result<Condition> {
        match (&case.is, &case.below) {
            (Some(literal), None) => {
                self.check_literal(&case.draw, literal, by_type)?;
                Ok(Condition::Is(literal.clone()))
            }
            (None, Some(bound)) => {
                if !by_type.is_number() {
                    let sentence = format!("`below` compares numbers, but this is {by_type}");
                    return Err(self.error(&case.draw, sentence));
                }
                let bounds = [bound.clone(), bound.clone()];
                Ok(Condition::Below(self.range(&case.draw, &bounds)?.low))
            }
            (None, None) => Ok(Condition::Always),
            (Some(_), Some(_)) => {
                Err(self.error(&case.draw, "`is` and `below` cannot be combined"))
            }
        }
    }

    fn earlier_type(&self, raw: &Raw, name: &str) -> Result<&SqlType> {
        let found = self.earlier.iter().find(|(earlier, _)| earlier == name);
        found.map(|(_, sql_type)| sql_type).ok_or_else(|| {
            let error =
                self.error(raw, format!("`{name}` is not among the values drawn before this"));
            match self.earlier.is_empty() {
                true => error,
                false => {
                    let names: Vec<&str> = self.earlier.iter().map(|(name, _)| &**name).collect();
                    let advice = match meant(name, names.iter().copied()) {
                        none if none.is_empty() => {
                            format!("drawn before it: {}", names.join(", "))
                        }
                        meant => meant,
                    };
                    error.advise(advice)
                }
            }
        })
    }

    fn column(&self, raw: &Raw, path: &str, sql_type: &SqlType) -> Result<Draw> {
        let catalog = &self.reader.program.catalog;
        let found = path.split_once('.').and_then(|(table, column)| {
            let table = catalog.table(table)?;
            Some((table, &table.columns[table.column(column)?]))
        });
        let Some((table, column)) = found else {
            let paths: Vec<String> = catalog
                .tables
                .iter()
                .flat_map(|table| {
                    table.columns.iter().map(|column| format!("{}.{}", table.name, column.name))
                })
                .collect();
            let error = self.error(raw, format!("schema.sql has no column `{path}`"));
            return Err(error.advise(meant(path, paths.iter().map(String::as_str))));
        };
        if !converts_implicitly(&column.sql_type.base(), &sql_type.base()) {
            return Err(self.error(
                raw,
                format!("`{path}` is {}, but {sql_type} is required", column.sql_type),
            ));
        }
        if self.reader.is_drawn(&table.name) {
            let sentence = format!(
                "the row count of `{}` is drawn, so `column` cannot choose one of its rows",
                table.name
            );
            return Err(self.error(raw, sentence));
        }
        let row = match &raw.get_ref().row {
            Some(row) => Some(Box::new(self.distribution(row, &SqlType::Int8)?)),
            None => None,
        };
        Ok(Draw::Column { table: table.name.clone(), column: column.name.clone(), row })
    }

    fn mixture(&self, raw: &Raw, shares: &[RawShare], sql_type: &SqlType) -> Result<Draw> {
        let weights: Vec<f64> = shares.iter().map(|share| share.weight).collect();
        self.check_weights(raw, &weights, shares.len())?;
        let convert =
            |share: &RawShare| Ok((share.weight, self.distribution(&share.draw, sql_type)?));
        Ok(Draw::Mixture(shares.iter().map(convert).collect::<Result<_>>()?))
    }
}

fn integer_fits(number: i64, sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Int2 => i16::try_from(number).is_ok(),
        SqlType::Int4 => i32::try_from(number).is_ok(),
        sql_type => sql_type.is_number(),
    }
}

fn text_fits(text: &str, sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => {
            text.chars().count() <= *length as usize
        }
        SqlType::Numeric(_) => text.parse::<f64>().is_ok(),
        sql_type => sql_type.is_text() || sql_type.is_time(),
    }
}
