//! Procedure `fewer_columns`, line 947 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `of_i`, integer.
    pub of_i: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, of_i] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, of_i: of_i.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `fewer_columns`.
pub async fn fewer_columns<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    let mut one: i64;
    let mut two: Option<Text<12>> = None;
    let mut three: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.cell, KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    three = Some(7);
    let Some(cell_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let cell = call.txn.row(cell_row);
    one = cell.int_in(cell::Q);
    two = ((!cell.is_null_in(cell::LABEL)).then(|| cell.bytes_in(cell::LABEL)))
        .map(Text::new)
        .transpose()?;
    if one > 10 {
        call.results.row();
        call.results.int(one);
        call.results.text_or_null(two.as_deref());
        call.results.int_or_null(three);
        return Ok(());
    }
    if let Some(cell_row_2) = call.scratch.found[0] {
        two = None;
        let cell_2 = call.txn.row(cell_row_2);
        three = (!cell_2.is_null_in(cell::R)).then(|| cell_2.int_in(cell::R));
    } else {
        two = None;
        three = None;
    }
    call.results.row();
    call.results.int(one);
    call.results.text_or_null(two.as_deref());
    call.results.int_or_null(three);
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
