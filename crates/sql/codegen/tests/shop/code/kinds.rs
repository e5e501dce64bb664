//! Procedure `kinds`, line 137 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// No arguments.
    pub nothing: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { nothing: std::marker::PhantomData })
    }
}

/// Executes the procedure `kinds`.
pub async fn kinds<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let mut product_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Index(tables.product_by_product_kind),
        low: KeyBuilder::new().padded(b"A", 3).prefix_low(3),
        high: KeyBuilder::new().padded(b"Z", 3).prefix_high(3),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut product_rows).await?;
    let mut rest = product_rows.as_slice();
    while let Some(&product_row) = rest.first() {
        let alike = rest
            .iter()
            .take_while(|&&b| {
                let (left, right) = (call.txn.row(product_row), call.txn.row(b));
                *left.bytes_in(product::KIND) == *right.bytes_in(product::KIND)
            })
            .count();
        let group;
        (group, rest) = rest.split_at(alike);
        let mut counted = 0_i64;
        let mut sum = None::<i64>;
        for &product_row_2 in group {
            counted += 1;
            let product_2 = call.txn.row(product_row_2);
            sum = Some(number::add(sum.unwrap_or(0), product_2.int_in(product::STOCK))?);
        }
        let product = call.txn.row(product_row);
        call.results.row();
        call.results.text(product.bytes_in(product::KIND));
        call.results.int(counted);
        call.results.int_or_null(sum);
    }
    call.scratch.give_rows(product_rows);
    Ok(())
}
