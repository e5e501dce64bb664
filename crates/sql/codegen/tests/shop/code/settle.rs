//! Procedure `settle`, line 64 of `procedures.sql`.

use super::tables::{Tables, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_paid`, numeric, in units of 10^-2.
    pub p_paid: Option<i64>,
    /// `p_state`, bpchar.
    pub p_state: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_paid, p_state] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_id: p_id.int4()?,
            p_paid: p_paid.or_null(|argument| argument.decimal(2))?,
            p_state: p_state.characters()?,
        })
    }
}

/// Executes the procedure `settle`.
pub async fn settle<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_paid = arguments.p_paid;
    let p_state = arguments.p_state;
    if let Some(purchase_row) =
        call.txn.read(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key()).await?
    {
        let state = text::fitting(p_state, 1)?;
        let paid = p_paid.map(|value| number::digits(value, 10)).transpose()?;
        check(*state == b"N"[..] || paid.is_some())?;
        check(paid.is_none_or(|value| value >= 0))?;
        let mut new_purchase = call.txn.update(purchase_row);
        new_purchase.set_bytes_in(purchase::STATE, state);
        match paid {
            Some(value) => new_purchase.set_int_in(purchase::PAID, value),
            None => new_purchase.set_null_in(purchase::PAID),
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
    lane.prefetch(&[(tables.purchase, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
