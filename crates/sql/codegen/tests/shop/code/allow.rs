//! Procedure `allow`, line 25 of `procedures.sql`.

use super::tables::{Tables, customer};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_credit`, numeric, in units of 10^-2.
    pub p_credit: Option<i64>,
    /// `p_balance`, numeric, in units of 10^-2.
    pub p_balance: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_credit, p_balance] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_id: p_id.int4()?,
            p_credit: p_credit.or_null(|argument| argument.decimal(2))?,
            p_balance: p_balance.decimal(2)?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `allow`.
pub async fn allow<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_credit = arguments.p_credit;
    let p_balance = arguments.p_balance;
    if let Some(customer_row) =
        call.txn.read(tables.customer, &KeyBuilder::new().int4(p_id as i32).key()).await?
    {
        let balance = number::digits(p_balance, 10)?;
        let credit = p_credit.map(|value| number::digits(value, 10)).transpose()?;
        check(balance >= -10000)?;
        check(credit.is_none_or(|value| value > 0))?;
        check(credit.is_none() || (balance >= number::negate(known(credit)?)?))?;
        let mut new_customer = call.txn.update(customer_row);
        new_customer.set_int_in(customer::BALANCE, balance);
        match credit {
            Some(value) => new_customer.set_int_in(customer::CREDIT, value),
            None => new_customer.set_null_in(customer::CREDIT),
        }
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
    lane.prefetch(&[(tables.customer, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
