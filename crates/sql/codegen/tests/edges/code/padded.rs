//! Procedure `padded`, line 534 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, Text, known, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, character varying.
    pub x: Option<&'a [u8]>,
    /// `y`, bpchar.
    pub y: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.text())?,
            y: y.or_null(|argument| argument.characters())?,
        })
    }
}

/// Executes the procedure `padded`.
pub async fn padded<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: bool;
    let mut two: bool;
    let mut three: i64;
    let mut four: Text<8> = Default::default();
    let mut five: bool;
    let mut own: Text<5> = Default::default();
    own.set(text::trimmed(text::left(known(x)?, 5)?))?;
    one = *own == *known(y)?;
    two = *own == *text::trimmed(known(x)?);
    three = number::int4(number::add(
        number::int4(number::add(
            text::length(&own),
            number::int4(number::multiply(text::length(known(y)?), 10)?)?,
        )?)?,
        number::int4(number::multiply(text::length(known(x)?), 100)?)?,
    )?)?;
    four.set(&Text::<8>::of(&[&own, b"|", text::left(known(y)?, 2)?])?)?;
    five = (*known(y)? < *own) || (known(y)?.starts_with(b"a"));
    call.results.row();
    call.results.int(i64::from(one));
    call.results.int(i64::from(two));
    call.results.int(three);
    call.results.text(&four);
    call.results.int(i64::from(five));
    Ok(())
}
