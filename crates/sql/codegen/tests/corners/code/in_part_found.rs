//! Procedure `in_part_found`, line 359 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// `of_z`, integer.
    pub of_z: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, of_z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            y: y.int4()?,
            of_z: of_z.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `in_part_found`.
pub async fn in_part_found<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let of_z = arguments.of_z;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(y as i32).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    if let Some(wide_row) = call.scratch.found[0] {
    } else {
    }
    if let Some(wide_row_2) = call.scratch.found[1] {
    } else {
    }
    let mut wide_rows = call.scratch.take_rows();
    call.txn
        .lookup(tables.wide_by_wide_z, &KeyBuilder::new().int4(of_z as i32).key(), &mut wide_rows)
        .await?;
    wide_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(wide::K), &right.int_in(wide::K))
    });
    for &wide_row_3 in wide_rows.iter() {
        let wide_3 = call.txn.row(wide_row_3);
        call.results.row();
        call.results.int(wide_3.int_in(wide::K));
        call.results
            .text_or_null((!wide_3.is_null_in(wide::TAIL)).then(|| wide_3.bytes_in(wide::TAIL)));
    }
    call.scratch.give_rows(wide_rows);
    if let Some(wide_row_4) =
        call.txn.read(tables.wide, &KeyBuilder::new().int4(x as i32).key()).await?
    {
        let wide_4 = call.txn.row(wide_row_4);
        call.results.row();
        call.results.int(wide_4.int_in(wide::K));
        call.results
            .text_or_null((!wide_4.is_null_in(wide::TAIL)).then(|| wide_4.bytes_in(wide::TAIL)));
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    lane.prefetch(&[
        (tables.wide, KeyBuilder::new().int4(x as i32).key()),
        (tables.wide, KeyBuilder::new().int4(y as i32).key()),
    ]);
    Ok(())
}
