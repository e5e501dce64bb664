//! Draws one value, one row, or the arguments of one call.

mod integers;

use crate::draw::{Condition, Distribution, Draw, Length, Range, Reference};
use crate::number::{Form, are_equal, is_below};
use crate::order::Orders;
use crate::population::Population;
use crate::text::{digits, last_name, push_random};
use compact_str::CompactString;
use fabric::random::{Random, step};
pub(crate) use integers::{Integers, length_of};
use sql_value::Value;
use std::sync::Arc;

/// Maximum number of attempts to draw a new element of a distinct array; then the array ends.
const DISTINCT_TRIES_MAX: u32 = 1000;
/// Maximum number of elements of an array.
const ARRAY_LENGTH_MAX: i64 = 1024 * 1024;
const DAY_US: i64 = 24 * 3600 * 1_000_000;

/// The context of a row or call for its draws.
pub(crate) struct Site<'a> {
    pub random: Random,
    /// Number of the row or call, from 0.
    pub count: u64,
    /// The group of rows that share a sequence of permutations.
    pub group: u64,
    /// The client's number and the number of clients, for a call.
    pub client: Option<(u64, u64)>,
    pub now_us: i64,
    pub parent: &'a [Value],
}

impl Population {
    /// Draws a value of each distribution into `values`.
    pub(crate) fn draw_all(
        &self,
        distributions: &[Distribution],
        site: &mut Site<'_>,
        orders: &mut Orders,
        values: &mut Vec<Value>,
    ) {
        values.clear();
        for distribution in distributions {
            let value = match integer(distribution, &mut site.random) {
                Some(number) => Value::Int(number),
                None => self.value(distribution, site, orders, values),
            };
            values.push(value);
        }
    }

    pub(crate) fn value(
        &self,
        from: &Distribution,
        site: &mut Site<'_>,
        orders: &mut Orders,
        own: &[Value],
    ) -> Value {
        if from.null > 0.0 && site.random.fraction() < from.null {
            return Value::Null;
        }
        match &from.draw {
            Draw::Uniform { range, except: None } => range.at(site.random.below(range.count())),
            Draw::Uniform { range, except: Some(except) } => {
                let except = site.look(*except, own).clone();
                uniform(range, Some(&except), &mut site.random)
            }
            Draw::Ordered { order, values } => {
                values.at(orders.at(*order, site.group, site.count, values.count()))
            }
            Draw::Nurand { a, c, range } => range.at(nurand(*a, *c, range, &mut site.random)),
            Draw::Zipf { ranks, is_scrambled, range } => {
                let rank = ranks.rank(&mut site.random);
                range.at(if *is_scrambled { step(rank).1 } else { rank })
            }
            Draw::Sequence { range, each } => range.at(site.position(range.count(), *each)),
            Draw::Constant(value) => value.clone(),
            Draw::OneOf { values, shares } => values[shares.draw(&mut site.random)].clone(),
            Draw::Chance(chance) => Value::Bool(site.random.fraction() < *chance),
            Draw::Text { length, alphabet, containing, ending } => {
                let random = &mut site.random;
                let length = random.uniform(i64::from(length.0), i64::from(length.1)) as usize;
                let mut text = CompactString::default();
                let free = length - containing.chars().count().min(length);
                let before = match containing.is_empty() {
                    true => free,
                    false => random.below(free as u64 + 1) as usize,
                };
                push_random(&mut text, *alphabet, before, random);
                text.push_str(containing);
                push_random(&mut text, *alphabet, free - before, random);
                text.push_str(ending);
                Value::Text(text)
            }
            Draw::Mixture { draws, shares } => {
                let draw = &draws[shares.draw(&mut site.random)];
                self.value(draw, site, orders, own)
            }
            Draw::Same { from, form: None | Some(Form::Int) } => site.look(*from, own).clone(),
            Draw::Now { is_date: false } => Value::Timestamp(site.now_us),
            Draw::Now { is_date: true } => Value::Date(site.now_us.div_euclid(DAY_US) as i32),
            _ => self.composed(&from.draw, site, orders, own),
        }
    }

    /// Draws values that consist of other draws.
    fn composed(
        &self,
        draw: &Draw,
        site: &mut Site<'_>,
        orders: &mut Orders,
        own: &[Value],
    ) -> Value {
        let nothing = Value::Null;
        match draw {
            Draw::Digits { of, width } => {
                let number = integer(of, &mut site.random).map(Value::Int);
                match number.unwrap_or_else(|| self.value(of, site, orders, own)) {
                    Value::Int(number) => Value::Text(digits(number, *width)),
                    _ => nothing,
                }
            }
            Draw::LastName(of) => match self.value(of, site, orders, own) {
                Value::Int(number) => Value::Text(last_name(number)),
                _ => nothing,
            },
            Draw::Same { from, form } => converted(site.look(*from, own).clone(), *form),
            Draw::Column { table, column, form, row } => {
                let rows = self.root_rows(*table);
                if rows == 0 {
                    return nothing;
                }
                let row = match row {
                    None => site.random.below(rows),
                    Some(row) => match self.value(row, site, orders, own) {
                        Value::Int(row) => (row.wrapping_sub(1) as u64) % rows,
                        _ => return nothing,
                    },
                };
                let mut values = Vec::new();
                self.counted_row(*table, row, column + 1, orders, &mut values);
                converted(values.swap_remove(*column), *form)
            }
            Draw::Cases { by, cases } => {
                let by = site.look(*by, own);
                let fits = |condition: &Condition| match condition {
                    Condition::Is(value) => are_equal(by, value),
                    Condition::Below(bound) => is_below(by, *bound),
                    Condition::Always => true,
                };
                match cases.iter().find(|(condition, _)| fits(condition)) {
                    Some((_, draw)) => self.value(draw, site, orders, own),
                    None => nothing,
                }
            }
            Draw::Array { of, integers, length, is_distinct } => {
                let length = match length {
                    Length::Drawn(length) => self.value(length, site, orders, own),
                    Length::Same(from) => site.look(*from, own).clone(),
                };
                let drawn = integers.as_ref().and_then(|of| of.array(&length, site, own));
                drawn.unwrap_or_else(|| self.array(of, length, *is_distinct, site, orders, own))
            }
            _ => nothing,
        }
    }

    /// Draws an array whose length is a number or the length of another array.
    fn array(
        &self,
        of: &Distribution,
        length: Value,
        is_distinct: bool,
        site: &mut Site<'_>,
        orders: &mut Orders,
        own: &[Value],
    ) -> Value {
        let Some(length) = length_of(&length) else { return Value::Null };
        if !is_distinct {
            let elements = (0..length).map(|_| self.value(of, site, orders, own));
            return Value::Array(elements.collect());
        }
        let mut elements: Vec<Value> = Vec::with_capacity(length as usize);
        'elements: for _ in 0..length {
            for _ in 0..DISTINCT_TRIES_MAX {
                let element = self.value(of, site, orders, own);
                if !elements.iter().any(|other| are_equal(other, &element)) {
                    elements.push(element);
                    continue 'elements;
                }
            }
            break;
        }
        Value::Array(Arc::from(elements))
    }

    /// The first columns of a row of a table with a given row count.
    pub(crate) fn counted_row(
        &self,
        table: usize,
        row: u64,
        columns: usize,
        orders: &mut Orders,
        values: &mut Vec<Value>,
    ) {
        let mut site = Site {
            random: Random::stream(self.scale.seed, table as u32, row),
            count: row,
            group: 0,
            client: None,
            now_us: self.scale.now_us,
            parent: &[],
        };
        self.draw_all(&self.tables[table].columns[..columns], &mut site, orders, values);
    }
}

impl Site<'_> {
    fn look<'v>(&'v self, at: Reference, own: &'v [Value]) -> &'v Value {
        at.of(self.parent, own)
    }

    /// The position in a sequence over `values` values. Each client cycles through its own part; if
    /// there are fewer values than clients, each client starts at the value of its number.
    fn position(&self, values: u64, each: u64) -> u64 {
        let count = self.count / each;
        let Some((client, clients)) = self.client else { return count };
        let begin =
            |client: u64| (u128::from(values) * u128::from(client) / u128::from(clients)) as u64;
        match begin(client + 1) - begin(client) {
            0 => client + count,
            part => begin(client) + count % part,
        }
    }
}

fn converted(value: Value, form: Option<Form>) -> Value {
    match form {
        Some(form) => form.convert(value),
        None => value,
    }
}

fn uniform(range: &Range, except: Option<&Value>, random: &mut Random) -> Value {
    let count = range.count();
    // Offset of the excluded integer; dates and texts are never excluded.
    let excepted =
        except.filter(|_| count > 1 && count <= 1 << 32).and_then(|except| match except {
            Value::Int(number) => {
                let offset = i128::from(*number) - i128::from(range.low);
                u64::try_from(offset).ok().filter(|offset| *offset < count)
            }
            _ => None,
        });
    match excepted {
        None => range.at(random.below(count)),
        Some(excepted) => {
            let offset = random.below(count - 1);
            range.at(offset + u64::from(offset >= excepted))
        }
    }
}

/// Draws an integer that depends only on the generator, as most arguments of calls do. For other
/// distributions returns `None` and draws nothing.
#[inline(always)]
fn integer(from: &Distribution, random: &mut Random) -> Option<i64> {
    if from.null > 0.0 {
        return None;
    }
    match &from.draw {
        Draw::Uniform { range, except: None } if range.form == Form::Int => {
            Some(range.low.wrapping_add(random.below(range.count()) as i64))
        }
        Draw::Nurand { a, c, range } if range.form == Form::Int => {
            Some(range.number(nurand(*a, *c, range, random)))
        }
        _ => None,
    }
}

/// NURand [TPC-C 2.1.6], as the offset from the lower bound of its range.
#[inline]
fn nurand(a: i64, c: i64, range: &Range, random: &mut Random) -> u64 {
    let first = random.below((a as u64).saturating_add(1));
    let second = range.low.wrapping_add(random.below(range.count()) as i64) as u64;
    let (mixed, c) = (first | second, c as u64);
    match mixed.checked_add(c) {
        Some(sum) => sum,
        None => {
            let sum = u128::from(mixed) + u128::from(c);
            (sum % u128::from(range.count())) as u64
        }
    }
}
