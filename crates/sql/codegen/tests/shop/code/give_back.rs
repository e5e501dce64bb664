//! Procedure `give_back`, line 218 of `procedures.sql`.

use super::tables::{Tables, line, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_most`, integer.
    pub p_most: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_most] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_id: p_id.int4()?, p_most: p_most.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `give_back`.
pub async fn give_back<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_most = arguments.p_most;
    let mut gone_sku: Text<6> = Default::default();
    let mut gone_quantity: i64;
    let mut given: i64;
    given = 0;
    let mut line_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.line),
        low: KeyBuilder::new().int4(p_id as i32).prefix_low(1),
        high: KeyBuilder::new().int4(p_id as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut line_rows).await?;
    for &line_row in line_rows.iter() {
        let line = call.txn.row(line_row);
        gone_sku.set(line.bytes_in(line::SKU))?;
        gone_quantity = line.int_in(line::QUANTITY);
        if given >= p_most {
            break;
        }
        if gone_quantity == 3 {
            continue;
        }
        if let Some(product_row) =
            call.txn.read(tables.product, &KeyBuilder::new().padded(&gone_sku, 6).key()).await?
        {
            let product = call.txn.row(product_row);
            let stock = number::int4(number::add(product.int_in(product::STOCK), gone_quantity)?)?;
            check(
                (product.is_null_in(product::RESERVED) || product.int_in(product::RESERVED) >= 0)
                    && (product.is_null_in(product::RESERVED)
                        || product.int_in(product::RESERVED) <= stock),
            )?;
            check(stock >= 0)?;
            let mut new_product = call.txn.update(product_row);
            new_product.set_int_in(product::STOCK, stock);
        }
        given = number::int4(number::add(given, 1)?)?;
    }
    call.scratch.give_rows(line_rows);
    let mut line_rows_2 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.line),
        low: KeyBuilder::new().int4(p_id as i32).prefix_low(1),
        high: KeyBuilder::new()
            .int4(p_id as i32)
            .int2(known(if given < -32768 {
                None
            } else if given > 32767 {
                Some(32767)
            } else {
                Some(number::int2(given)?)
            })? as i16)
            .prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut line_rows_2).await?;
    for &line_row_2 in line_rows_2.iter() {
        let line_2 = call.txn.row(line_row_2);
        let mut review_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.review_by_review_line,
                &KeyBuilder::new()
                    .unsigned(0, 1)
                    .int4(line_2.int_in(line::PURCHASE) as i32)
                    .unsigned(0, 1)
                    .int2(line_2.int_in(line::NUMBER_VALUE) as i16)
                    .key(),
                &mut review_rows,
            )
            .await?;
        check(review_rows.is_empty())?;
        call.scratch.give_rows(review_rows);
        call.txn.delete(line_row_2);
    }
    call.scratch.give_rows(line_rows_2);
    call.results.row();
    call.results.int(given);
    return Ok(());
}
