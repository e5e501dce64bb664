//! Procedure `wants`, line 213 of `procedures.sql`.

use super::tables::{Tables, wish};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, text};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_customer] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_customer: p_customer.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `wants`.
pub async fn wants<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let mut wish_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.wish),
        low: KeyBuilder::new().int4(p_customer as i32).prefix_low(2),
        high: KeyBuilder::new().int4(p_customer as i32).prefix_high(2),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut wish_rows).await?;
    for &wish_row in wish_rows.iter() {
        let wish = call.txn.row(wish_row);
        call.results.row();
        call.results.text(&text::of_key::<6>(wish, wish::SKU));
        call.results.int(wish.int_in(wish::STRENGTH));
    }
    call.scratch.give_rows(wish_rows);
    Ok(())
}
