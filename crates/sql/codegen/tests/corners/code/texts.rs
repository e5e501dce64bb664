//! Procedure `texts`, line 787 of `procedures.sql`.

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

/// Executes the procedure `texts`.
pub async fn texts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Text<128>;
    let mut two: bool;
    let mut three: Text<23> = Default::default();
    one = Text::new(text::left(known(x)?, known(y)?)?)?;
    two = (*known(x)? == b"ab"[..]) || (const { &text::Part::new(b"b ") }.is_in(known(x)?));
    three.set(&Text::<23>::of(&[text::left(known(x)?, 3)?, &text::number(known(y)?, 0)])?)?;
    call.results.row();
    call.results.text(&one);
    call.results.int(i64::from(two));
    call.results.text(&three);
    Ok(())
}
