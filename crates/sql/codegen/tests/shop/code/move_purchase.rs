//! Procedure `move_purchase`, line 93 of `procedures.sql`.

use super::tables::{Tables, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_customer] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_id: p_id.int4()?,
            p_customer: p_customer.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `move_purchase`.
pub async fn move_purchase<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_customer = arguments.p_customer;
    if let Some(purchase_row) =
        call.txn.read(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key()).await?
    {
        known(
            call.txn
                .read(tables.customer, &KeyBuilder::new().int4(p_customer as i32).key())
                .await?,
        )?;
        let mut new_purchase = call.txn.update(purchase_row);
        new_purchase.set_int_in(purchase::CUSTOMER, p_customer);
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    lane.prefetch(&[(tables.purchase, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
