//! Procedure `too_soon`, line 57 of `procedures.sql`.

use super::tables::{Tables, line, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, duplicate, known};

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

/// Executes the procedure `too_soon`.
pub async fn too_soon<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_customer = arguments.p_customer;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.product, KeyBuilder::new().padded(b"A1", 6).key()));
    call.scratch.reads.push((tables.customer, KeyBuilder::new().int4(p_customer as i32).key()));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_customer], &mut call.scratch.found)
        .await?;
    known(call.scratch.found[0])?;
    known(call.txn.read(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key()).await?)?;
    let line_row = call
        .txn
        .insert(tables.line, &KeyBuilder::new().int4(p_id as i32).int2(9 as i16).key())
        .await
        .map_err(|error| duplicate(error, "line_pkey", "purchase, number", &[p_id, 9]))?;
    let mut new_line = call.txn.update(line_row);
    new_line.set_bytes_in(line::SKU, b"A1");
    new_line.set_int_in(line::QUANTITY, 1);
    new_line.set_int_in(line::AMOUNT, 100);
    new_line.set_null_in(line::GIFT_FOR);
    known(call.scratch.found[1])?;
    let placed = call.now_us();
    let purchase_row = call
        .txn
        .insert(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key())
        .await
        .map_err(|error| duplicate(error, "purchase_pkey", "id", &[p_id]))?;
    let mut new_purchase = call.txn.update(purchase_row);
    new_purchase.set_int_in(purchase::CUSTOMER, p_customer);
    new_purchase.set_bytes_in(purchase::STATE, b"N");
    new_purchase.set_int_in(purchase::PLACED, placed);
    new_purchase.set_null_in(purchase::PAID);
    Ok(())
}
