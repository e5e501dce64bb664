//! Procedure `product_of`, line 133 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_sku] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_sku: p_sku.characters()? })
    }
}

/// Executes the procedure `product_of`.
pub async fn product_of<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_sku = arguments.p_sku;
    if let Some(product_row) = call
        .txn
        .read(tables.product, &KeyBuilder::new().padded(text::fitting(p_sku, 6)?, 6).key())
        .await?
    {
        let product = call.txn.row(product_row);
        call.results.row();
        call.results.texts(&[
            &text::of_key::<6>(product, product::SKU),
            product.bytes_in(product::LABEL),
            product.bytes_in(product::KIND),
        ]);
        call.results.int(number::int4(number::subtract(
            product.int_in(product::STOCK),
            ((!product.is_null_in(product::RESERVED)).then(|| product.int_in(product::RESERVED)))
                .unwrap_or(0),
        )?)?);
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
