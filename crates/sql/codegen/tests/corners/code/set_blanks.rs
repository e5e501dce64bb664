//! Procedure `set_blanks`, line 1008 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `of_i`, integer.
    pub of_i: i64,
    /// `x`, character varying.
    pub x: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, of_i, x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, of_i: of_i.int4()?, x: x.text()? })
    }
}

/// Executes the procedure `set_blanks`.
pub async fn set_blanks<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    let x = arguments.x;
    let mut new_code: Text<6> = Default::default();
    let mut new_label: Option<Text<12>> = None;
    let Some(cell_row) = call
        .txn
        .read(tables.cell, &KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key())
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let label = Text::<9>::new(&Text::<9>::of(&[text::left(x, 8)?, b"y"])?)?;
    let code = Text::<5>::new(text::trimmed(text::left(x, 5)?))?;
    let mut new_cell = call.txn.update(cell_row);
    new_cell.set_bytes_in(cell::LABEL, &label);
    new_cell.set_bytes_in(cell::CODE, &code);
    let cell = call.txn.row(cell_row);
    new_code.set(cell.bytes_in(cell::CODE))?;
    new_label = ((!cell.is_null_in(cell::LABEL)).then(|| cell.bytes_in(cell::LABEL)))
        .map(Text::new)
        .transpose()?;
    call.results.row();
    call.results.text(&new_code);
    call.results.text_or_null(new_label.as_deref());
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    lane.prefetch(&[(tables.cell, KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key())]);
    Ok(())
}
