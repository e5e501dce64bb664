//! Procedure `branches_that_fail`, line 1043 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `branches_that_fail`.
pub async fn branches_that_fail<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut other: Option<i64> = None;
    if y != 0 && number::int4(number::divide(x, y)?)? > 1 {
        if let Some(wide_row) = call
            .txn
            .read(
                tables.wide,
                &KeyBuilder::new().int4(number::int4(number::divide(x, y)?)? as i32).key(),
            )
            .await?
        {
            let wide = call.txn.row(wide_row);
            one = Some(wide.int_in(wide::A));
        } else {
            one = None;
        }
        if let Some(wide_row_2) = call
            .txn
            .read(
                tables.wide,
                &KeyBuilder::new().int4(number::int4(number::subtract(x, y)?)? as i32).key(),
            )
            .await?
        {
            let wide_2 = call.txn.row(wide_row_2);
            other = Some(wide_2.int_in(wide::A));
        } else {
            other = None;
        }
    } else if y == 0 || number::int4(number::modulo(x, y)?)? == 1 {
        if let Some(wide_row_3) =
            call.txn.read(tables.wide, &KeyBuilder::new().int4(x as i32).key()).await?
        {
            let wide_3 = call.txn.row(wide_row_3);
            one = Some(wide_3.int_in(wide::Z));
        } else {
            one = None;
        }
        if let Some(wide_row_4) =
            call.txn.read(tables.wide, &KeyBuilder::new().int4(y as i32).key()).await?
        {
            let wide_4 = call.txn.row(wide_row_4);
            other = Some(wide_4.int_in(wide::Z));
        } else {
            other = None;
        }
    }
    call.results.row();
    call.results.int(number::int4(number::add(
        number::int4(number::multiply(known(one)?, 10)?)?,
        known(other)?,
    )?)?);
    return Ok(());
}
