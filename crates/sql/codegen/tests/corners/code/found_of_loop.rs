//! Procedure `found_of_loop`, line 852 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `last`, integer.
    pub last: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, last] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int2()?, last: last.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `found_of_loop`.
pub async fn found_of_loop<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let last = arguments.last;
    let mut found = false;
    let mut one: i64;
    one = 0;
    let mut has_begun = false;
    for i in 1..=number::int4(number::modulo(last, 20)?)? {
        has_begun = true;
        one = i;
    }
    found = has_begun;
    if found {
        one = number::int4(number::add(one, 100)?)?;
    }
    if let Some(small_row) = call
        .txn
        .read(
            tables.small,
            &KeyBuilder::new()
                .int2(of_w as i16)
                .int2(known(if (last >= -32768) && (last <= 32767) {
                    Some(number::int2(last)?)
                } else {
                    None
                })? as i16)
                .key(),
        )
        .await?
    {
        let small = call.txn.row(small_row);
        let q = small.int_in(small::Q);
        let mut new_small = call.txn.update(small_row);
        new_small.set_int_in(small::Q, q);
        found = true;
    } else {
        found = false;
    }
    if found && (one > 101) {
        call.results.row();
        call.results.int(number::int4(number::negate(one)?)?);
        return Ok(());
    }
    call.results.row();
    call.results.int(one);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let last = arguments.last;
    lane.prefetch(&[(
        tables.small,
        KeyBuilder::new()
            .int2(of_w as i16)
            .int2(known(if (last >= -32768) && (last <= 32767) {
                Some(number::int2(last)?)
            } else {
                None
            })? as i16)
            .key(),
    )]);
    Ok(())
}
