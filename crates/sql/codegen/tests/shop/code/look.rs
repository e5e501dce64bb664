//! Procedure `look`, line 170 of `procedures.sql`.

use super::tables::{Tables, visit};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, known, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_customer`, integer.
    pub p_customer: Option<i64>,
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
    /// `p_seconds`, smallint.
    pub p_seconds: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_customer, p_sku, p_seconds] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_customer: p_customer.or_null(|argument| argument.int4())?,
            p_sku: p_sku.characters()?,
            p_seconds: p_seconds.int2()?,
        })
    }
}

/// Executes the procedure `look`.
pub async fn look<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let p_sku = arguments.p_sku;
    let p_seconds = arguments.p_seconds;
    check(p_seconds >= 0)?;
    if let Some(customer) = p_customer {
        known(
            call.txn.read(tables.customer, &KeyBuilder::new().int4(customer as i32).key()).await?,
        )?;
    }
    let sku = Text::<6>::new(text::fitting(p_sku, 6)?)?;
    let drawn_key = call.drawn_key();
    let visit_row = call.txn.insert(tables.visit, &drawn_key).await?;
    let mut new_visit = call.txn.update(visit_row);
    match p_customer {
        Some(value) => new_visit.set_int_in(visit::CUSTOMER, value),
        None => new_visit.set_null_in(visit::CUSTOMER),
    }
    new_visit.set_bytes_in(visit::SKU, &sku);
    new_visit.set_int_in(visit::SECONDS, p_seconds);
    let seconds = number::int2(number::add(p_seconds, 1)?)?;
    check(seconds >= 0)?;
    if let Some(customer_2) = p_customer {
        known(
            call.txn
                .read(tables.customer, &KeyBuilder::new().int4(customer_2 as i32).key())
                .await?,
        )?;
    }
    let sku_2 = Text::<6>::new(text::fitting(p_sku, 6)?)?;
    let drawn_key_2 = call.drawn_key();
    let visit_row_2 = call.txn.insert(tables.visit, &drawn_key_2).await?;
    let mut new_visit_2 = call.txn.update(visit_row_2);
    match p_customer {
        Some(value) => new_visit_2.set_int_in(visit::CUSTOMER, value),
        None => new_visit_2.set_null_in(visit::CUSTOMER),
    }
    new_visit_2.set_bytes_in(visit::SKU, &sku_2);
    new_visit_2.set_int_in(visit::SECONDS, seconds);
    Ok(())
}
