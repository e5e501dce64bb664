//! Procedure `long_loop`, line 213 of `procedures.sql`.

use super::tables::{Tables, small, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `last`, integer.
    pub last: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [last] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { last: last.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `long_loop`.
pub async fn long_loop<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let last = arguments.last;
    let mut found = false;
    let mut one: i64;
    let mut total: i64;
    total = 0;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    number::few(last)?;
    for i in 1..=last {
        call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(i as i32).key()));
    }
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_wide_a], &mut call.scratch.found)
        .await?;
    let mut has_begun = false;
    for i in 1..=last {
        has_begun = true;
        let Some(wide_row) = call.scratch.found[0 + (i - 1) as usize] else {
            found = false;
            return Err(Stop::Deviates);
        };
        let wide = call.txn.row(wide_row);
        one = wide.int_in(wide::A);
        found = true;
        if !found {
            break;
        }
        total = number::int4(number::modulo(number::int4(number::add(total, one)?)?, 1000)?)?;
        let Some(small_row) = call
            .txn
            .read(
                tables.small,
                &KeyBuilder::new()
                    .int2(1 as i16)
                    .int2(known(if (i >= -32768) && (i <= 32767) {
                        Some(number::int2(i)?)
                    } else {
                        None
                    })? as i16)
                    .key(),
            )
            .await?
        else {
            found = false;
            return Err(Stop::Deviates);
        };
        let small = call.txn.row(small_row);
        one = small.int_in(small::Q);
        found = true;
        if !found {
            break;
        }
        total = number::int4(number::modulo(number::int4(number::add(total, one)?)?, 1000)?)?;
    }
    found = has_begun;
    call.results.row();
    call.results.int(total);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let last = arguments.last;
    for i in (1..=last).take(4) {
        lane.prefetch(&[
            (tables.wide, KeyBuilder::new().int4(i as i32).key()),
            (
                tables.small,
                KeyBuilder::new()
                    .int2(1 as i16)
                    .int2(known(if (i >= -32768) && (i <= 32767) {
                        Some(number::int2(i)?)
                    } else {
                        None
                    })? as i16)
                    .key(),
            ),
        ]);
    }
    Ok(())
}
