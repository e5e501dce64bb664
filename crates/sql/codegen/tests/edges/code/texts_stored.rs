//! Procedure `texts_stored`, line 581 of `procedures.sql`.

use super::tables::{Tables, acct};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, character varying.
    pub y: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.text())?,
        })
    }
}

/// Executes the procedure `texts_stored`.
pub async fn texts_stored<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut kept: Text<8> = Default::default();
    let mut other: Option<Text<8>> = None;
    let Some(acct_row) =
        call.txn.read(tables.acct, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let acct = call.txn.row(acct_row);
    kept.set(acct.bytes_in(acct::NAME))?;
    other = ((!acct.is_null_in(acct::NOTE)).then(|| acct.bytes_in(acct::NOTE)))
        .map(Text::new)
        .transpose()?;
    if let Some(acct_row_2) =
        call.txn.read(tables.acct, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let name = Text::<6>::new(text::trimmed(text::left(known(y)?, 6)?))?;
        let note = Text::<6>::new(text::left(known(y)?, 6)?)?;
        let mut new_acct = call.txn.update(acct_row_2);
        new_acct.set_bytes_in(acct::NAME, &name);
        new_acct.set_bytes_in(acct::NOTE, &note);
    }
    if let Some(acct_row_3) =
        call.txn.read(tables.acct, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let acct_3 = call.txn.row(acct_row_3);
        text::set(
            &mut other,
            text::fitting(
                &Text::<18>::of(&[
                    known((!acct_3.is_null_in(acct::NOTE)).then(|| acct_3.bytes_in(acct::NOTE)))?,
                    b"<",
                    acct_3.bytes_in(acct::NAME),
                    b">",
                ])?,
                8,
            )?,
        )?;
    } else {
        other = None;
    }
    if let Some(acct_row_4) =
        call.txn.read(tables.acct, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let mut new_acct_2 = call.txn.update(acct_row_4);
        new_acct_2.set_bytes_in(acct::NAME, &kept);
    }
    call.results.row();
    call.results.text_or_null(other.as_deref());
    return Ok(());
}
