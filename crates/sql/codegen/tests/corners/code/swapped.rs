//! Procedure `swapped`, line 871 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `of_d`, smallint.
    pub of_d: i64,
    /// `x`, integer.
    pub x: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, of_d, x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_w: of_w.int2()?,
            of_d: of_d.int2()?,
            x: x.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `swapped`.
pub async fn swapped<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    let x = arguments.x;
    let mut new_q: i64 = Default::default();
    let mut new_r: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.small, KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    if let Some(small_row) = call.scratch.found[0] {
        call.txn.update(small_row);
    }
    let mut is_found = false;
    if let Some(small_row_2) = call.scratch.found[0] {
        let small_2 = call.txn.row(small_row_2);
        if small_2.int_in(small::Q) != x {
            let small_2 = call.txn.row(small_row_2);
            let q = known((!small_2.is_null_in(small::R)).then(|| small_2.int_in(small::R)))?;
            let r = small_2.int_in(small::Q);
            let mut new_small = call.txn.update(small_row_2);
            new_small.set_int_in(small::Q, q);
            new_small.set_int_in(small::R, r);
            new_small.set_null_in(small::LABEL);
            if is_found {
                return Err(Stop::Deviates);
            }
            let small_2 = call.txn.row(small_row_2);
            new_q = small_2.int_in(small::Q);
            new_r = (!small_2.is_null_in(small::R)).then(|| small_2.int_in(small::R));
            is_found = true;
        }
    }
    if !is_found {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int(new_q);
    call.results.int_or_null(new_r);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    lane.prefetch(&[(tables.small, KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).key())]);
    Ok(())
}
