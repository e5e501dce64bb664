//! Procedure `regift`, line 99 of `procedures.sql`.

use super::tables::{Tables, line};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_purchase`, integer.
    pub p_purchase: i64,
    /// `p_number`, smallint.
    pub p_number: i64,
    /// `p_gift`, integer.
    pub p_gift: Option<i64>,
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_purchase, p_number, p_gift, p_sku] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_purchase: p_purchase.int4()?,
            p_number: p_number.int2()?,
            p_gift: p_gift.or_null(|argument| argument.int4())?,
            p_sku: p_sku.characters()?,
        })
    }
}

/// Executes the procedure `regift`.
pub async fn regift<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_purchase = arguments.p_purchase;
    let p_number = arguments.p_number;
    let p_gift = arguments.p_gift;
    let p_sku = arguments.p_sku;
    if let Some(line_row) = call
        .txn
        .read(tables.line, &KeyBuilder::new().int4(p_purchase as i32).int2(p_number as i16).key())
        .await?
    {
        let sku = text::fitting(p_sku, 6)?;
        // The rows that it refers to are read together.
        call.scratch.reads.clear();
        call.scratch.reads.push((tables.product, KeyBuilder::new().padded(sku, 6).key()));
        if let Some(gift_for) = p_gift {
            call.scratch
                .reads
                .push((tables.customer, KeyBuilder::new().int4(gift_for as i32).key()));
        }
        let mut referred_to = call.scratch.take_found();
        call.txn
            .read_columns(&call.scratch.reads, &[tables.columns_of_customer], &mut referred_to)
            .await?;
        check(referred_to.iter().all(Option::is_some))?;
        call.scratch.give_found(referred_to);
        let mut new_line = call.txn.update(line_row);
        new_line.set_bytes_in(line::SKU, sku);
        match p_gift {
            Some(value) => new_line.set_int_in(line::GIFT_FOR, value),
            None => new_line.set_null_in(line::GIFT_FOR),
        }
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_purchase = arguments.p_purchase;
    let p_number = arguments.p_number;
    lane.prefetch(&[(
        tables.line,
        KeyBuilder::new().int4(p_purchase as i32).int2(p_number as i16).key(),
    )]);
    Ok(())
}
