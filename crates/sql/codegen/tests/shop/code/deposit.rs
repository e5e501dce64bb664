//! Procedure `deposit`, line 12 of `procedures.sql`.

use super::tables::{Tables, customer};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_amount`, numeric, in units of 10^-2.
    pub p_amount: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_amount] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_id: p_id.int4()?,
            p_amount: p_amount.decimal(2)?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `deposit`.
pub async fn deposit<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_amount = arguments.p_amount;
    let mut rest: i64;
    let Some(customer_row) =
        call.txn.read(tables.customer, &KeyBuilder::new().int4(p_id as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let customer = call.txn.row(customer_row);
    let balance = number::digits(number::add(customer.int_in(customer::BALANCE), p_amount)?, 10)?;
    check(balance >= -10000)?;
    check(
        customer.is_null_in(customer::CREDIT)
            || (balance
                >= number::negate(known(
                    (!customer.is_null_in(customer::CREDIT))
                        .then(|| customer.int_in(customer::CREDIT)),
                )?)?),
    )?;
    let mut new_customer = call.txn.update(customer_row);
    new_customer.set_int_in(customer::BALANCE, balance);
    let customer = call.txn.row(customer_row);
    rest = customer.int_in(customer::BALANCE);
    call.results.row();
    call.results.decimal(rest, 2);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    lane.prefetch(&[(tables.customer, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
