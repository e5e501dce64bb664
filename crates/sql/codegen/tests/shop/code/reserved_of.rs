//! Procedure `reserved_of`, line 192 of `procedures.sql`.

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

/// Executes the procedure `reserved_of`.
pub async fn reserved_of<E: Env>(
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
        ((!product_2.is_null_in(product::RESERVED)).then(|| product_2.int_in(product::RESERVED)))
            != Some(7)
    });
    product_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(
            &((!right.is_null_in(product::RESERVED)).then(|| right.int_in(product::RESERVED))),
            &((!left.is_null_in(product::RESERVED)).then(|| left.int_in(product::RESERVED))),
        )
        .then_with(|| {
            Ord::cmp(
                &*text::of_key::<6>(left, product::SKU),
                &*text::of_key::<6>(right, product::SKU),
            )
        })
    });
    for &product_row in product_rows.iter() {
        let product = call.txn.row(product_row);
        call.results.row();
        call.results.text(&text::of_key::<6>(product, product::SKU));
        call.results.int_or_null(
            (!product.is_null_in(product::RESERVED)).then(|| product.int_in(product::RESERVED)),
        );
        call.results.int(i64::from(
            !(((!product.is_null_in(product::RESERVED))
                .then(|| product.int_in(product::RESERVED)))
                != Some(product.int_in(product::STOCK))),
        ));
    }
    call.scratch.give_rows(product_rows);
    Ok(())
}
