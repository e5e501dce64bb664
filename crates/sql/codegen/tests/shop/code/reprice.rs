//! Procedure `reprice`, line 112 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, known, number, text};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_kind`, bpchar.
    pub p_kind: &'a [u8],
    /// `p_by`, numeric, in units of 10^-2.
    pub p_by: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_kind, p_by] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_kind: p_kind.characters()?, p_by: p_by.decimal(2)? })
    }
}

/// Executes the procedure `reprice`.
pub async fn reprice<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_kind = arguments.p_kind;
    let p_by = arguments.p_by;
    let mut product_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Index(tables.product_by_product_kind),
        low: KeyBuilder::new().padded(text::fitting(p_kind, 3)?, 3).prefix_low(3),
        high: KeyBuilder::new()
            .padded(text::fitting(p_kind, 3)?, 3)
            .int8(known(if 5000_i64 < -99999999 {
                None
            } else if 5000_i64 > 99999999 {
                Some(99999999)
            } else {
                Some(5000)
            })?)
            .prefix_high(3),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut product_rows).await?;
    for &product_row in product_rows.iter() {
        let product = call.txn.row(product_row);
        if product.int_in(product::PRICE) < 5000 {
            let product = call.txn.row(product_row);
            let price = number::digits(number::add(product.int_in(product::PRICE), p_by)?, 8)?;
            check(price > 0)?;
            let mut new_product = call.txn.update(product_row);
            new_product.set_int_in(product::PRICE, price);
        }
    }
    call.scratch.give_rows(product_rows);
    Ok(())
}
