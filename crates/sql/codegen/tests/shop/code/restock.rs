//! Procedure `restock`, line 127 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
    /// `p_by`, integer.
    pub p_by: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_sku, p_by] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_sku: p_sku.characters()?, p_by: p_by.int4()? })
    }
}

/// Executes the procedure `restock`.
pub async fn restock<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_sku = arguments.p_sku;
    let p_by = arguments.p_by;
    if let Some(product_row) = call
        .txn
        .read(tables.product, &KeyBuilder::new().padded(text::fitting(p_sku, 6)?, 6).key())
        .await?
    {
        let product = call.txn.row(product_row);
        let stock = number::int4(number::add(product.int_in(product::STOCK), p_by)?)?;
        check(
            (product.is_null_in(product::RESERVED) || product.int_in(product::RESERVED) >= 0)
                && (product.is_null_in(product::RESERVED)
                    || product.int_in(product::RESERVED) <= stock),
        )?;
        check(stock >= 0)?;
        let mut new_product = call.txn.update(product_row);
        new_product.set_int_in(product::STOCK, stock);
    }
    Ok(())
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
