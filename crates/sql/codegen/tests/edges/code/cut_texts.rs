//! Procedure `cut_texts`, line 1464 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, Text, known, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, character varying.
    pub x: Option<&'a [u8]>,
    /// `y`, integer.
    pub y: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.text())?,
            y: y.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `cut_texts`.
pub async fn cut_texts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<Text<2>> = None;
    let mut two: Text<4> = Default::default();
    let mut three: i64;
    let mut four: bool;
    let mut five: Text<3> = Default::default();
    let mut six: Text<133>;
    let mut seven: Text<7> = Default::default();
    one = (x.map(|value| text::left(value, 2)).transpose()?).map(Text::new).transpose()?;
    two.set(&Text::<4>::of(&[
        text::left(known(x)?, 2)?,
        b"|",
        text::left(&text::number(known(y)?, 0), 1)?,
    ])?)?;
    three = text::length(text::left(known(x)?, 3)?);
    four = (text::left(known(x)?, 2)?.ends_with(b"b"))
        || (*text::left(known(x)?, 2)? == b"ab"[..] || *text::left(known(x)?, 2)? == b"A_"[..]);
    five.set(&text::upper::<3>(text::left(known(x)?, 3)?)?)?;
    six = Text::new(&Text::<133>::of(&[
        known(if *text::left(known(x)?, 2)? == b"ab"[..] {
            None
        } else {
            x.map(|value| text::left(value, 2)).transpose()?
        })?,
        known(match x {
            Some(value) => Some(text::trimmed(text::left(value, 3)?)),
            None => None,
        })?,
        text::left(
            known(
                (match x {
                    Some(value) => Some(text::trimmed(text::left(value, 3)?)),
                    None => None,
                }),
            )?,
            2,
        )?,
    ])?)?;
    seven.set(&Text::<7>::of(&[
        text::from(text::left(known(x)?, 3)?, 2)?,
        &text::filled_left::<4>(text::left(known(x)?, 2)?, b"*")?,
    ])?)?;
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.text(&two);
    call.results.int(three);
    call.results.int(i64::from(four));
    call.results.texts(&[&five, &six, &seven]);
    Ok(())
}
