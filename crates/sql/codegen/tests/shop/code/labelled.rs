//! Procedure `labelled`, line 254 of `procedures.sql`.

use super::tables::{Tables, product};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, text};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_kind`, bpchar.
    pub p_kind: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_kind] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_kind: p_kind.characters()? })
    }
}

/// Executes the procedure `labelled`.
pub async fn labelled<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_kind = arguments.p_kind;
    let mut product_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Index(tables.product_by_product_kind),
        low: KeyBuilder::new().padded(text::fitting(p_kind, 3)?, 3).prefix_low(3),
        high: KeyBuilder::new().padded(text::fitting(p_kind, 3)?, 3).prefix_high(3),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut product_rows).await?;
    product_rows.retain(|&product_row_2| {
        let product_2 = call.txn.row(product_row_2);
        (!product_2.bytes_in(product::LABEL).starts_with(b"b"))
            && (((product_2.bytes_in(product::LABEL).starts_with(b"a"))
                || (product_2.bytes_in(product::LABEL).ends_with(b"e")))
                || (const { &text::Part::new(b"o") }.is_in(product_2.bytes_in(product::LABEL))))
    });
    product_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&*text::of_key::<6>(left, product::SKU), &*text::of_key::<6>(right, product::SKU))
    });
    for &product_row in product_rows.iter() {
        let product = call.txn.row(product_row);
        call.results.row();
        call.results
            .texts(&[&text::of_key::<6>(product, product::SKU), product.bytes_in(product::LABEL)]);
    }
    call.scratch.give_rows(product_rows);
    Ok(())
}
