//! Procedure `reserve`, line 118 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
    /// `p_count`, integer.
    pub p_count: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_sku, p_count] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_sku: p_sku.characters()?,
            p_count: p_count.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `reserve`.
pub async fn reserve<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_sku = arguments.p_sku;
    let p_count = arguments.p_count;
    let mut present: i64;
    let Some(product_row) = call
        .txn
        .read(tables.product, &KeyBuilder::new().padded(text::fitting(p_sku, 6)?, 6).key())
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let product = call.txn.row(product_row);
    check(
        p_count.is_none_or(|value| value >= 0)
            && p_count.is_none_or(|value| value <= product.int_in(product::STOCK)),
    )?;
    let mut new_product = call.txn.update(product_row);
    match p_count {
        Some(value) => new_product.set_int_in(product::RESERVED, value),
        None => new_product.set_null_in(product::RESERVED),
    }
    let product = call.txn.row(product_row);
    present = product.int_in(product::STOCK);
    call.results.row();
    call.results.int(present);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_sku = arguments.p_sku;
    lane.prefetch(&[(tables.product, KeyBuilder::new().padded(text::fitting(p_sku, 6)?, 6).key())]);
    Ok(())
}
