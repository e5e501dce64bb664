//! Procedure `cancel_all`, line 80 of `procedures.sql`.

use super::tables::{Tables, line, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_id: p_id.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `cancel_all`.
pub async fn cancel_all<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let mut line_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.line_by_line_of_purchase,
            &KeyBuilder::new().int4(p_id as i32).key(),
            &mut line_rows,
        )
        .await?;
    for &line_row in line_rows.iter() {
        let line = call.txn.row(line_row);
        let mut review_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.review_by_review_line,
                &KeyBuilder::new()
                    .unsigned(0, 1)
                    .int4(line.int_in(line::PURCHASE) as i32)
                    .unsigned(0, 1)
                    .int2(line.int_in(line::NUMBER_VALUE) as i16)
                    .key(),
                &mut review_rows,
            )
            .await?;
        check(review_rows.is_empty())?;
        call.scratch.give_rows(review_rows);
        call.txn.delete(line_row);
    }
    call.scratch.give_rows(line_rows);
    if let Some(purchase_row) =
        call.txn.read(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key()).await?
    {
        let purchase = call.txn.row(purchase_row);
        let mut line_rows_2 = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.line_by_line_of_purchase,
                &KeyBuilder::new().int4(purchase.int_in(purchase::ID) as i32).key(),
                &mut line_rows_2,
            )
            .await?;
        check(line_rows_2.is_empty())?;
        call.scratch.give_rows(line_rows_2);
        call.txn.delete(purchase_row);
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    lane.prefetch(&[(tables.purchase, KeyBuilder::new().int4(p_id as i32).key())]);
    lane.prefetch_lookup(
        tables.line_by_line_of_purchase,
        &KeyBuilder::new().int4(p_id as i32).key(),
    );
    Ok(())
}
