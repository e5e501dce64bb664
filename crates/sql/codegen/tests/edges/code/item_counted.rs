//! Procedure `item_counted`, line 1113 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `q`, bigint.
    pub q: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, q] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            q: q.or_null(|argument| argument.int())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `item_counted`.
pub async fn item_counted<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let q = arguments.q;
    let mut one: i64;
    let mut two: i64;
    let mut three: Option<i64> = None;
    let mut four: i64;
    let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item = call.txn.row(item_row);
    one = number::int4(number::multiply(
        known((!item.is_null_in(item::QTY)).then(|| item.int_in(item::QTY)))?,
        item.int_in(item::TAG),
    )?)?;
    two = number::add(
        known((!item.is_null_in(item::QTY)).then(|| item.int_in(item::QTY)))?,
        known(q)?,
    )?;
    three = q.map(number::int2).transpose()?;
    four = number::modulo(known(q)?, known(x)?)?;
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_2 = call.txn.row(item_row_2);
        let tag = number::int2(number::add(item_2.int_in(item::TAG), known(q)?)?)?;
        let mut new_item = call.txn.update(item_row_2);
        new_item.set_int_in(item::TAG, tag);
    }
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_3 = call.txn.row(item_row_3);
        let tag_2 = number::int2(number::subtract(item_3.int_in(item::TAG), known(q)?)?)?;
        let mut new_item_2 = call.txn.update(item_row_3);
        new_item_2.set_int_in(item::TAG, tag_2);
    }
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int_or_null(three);
    call.results.int(four);
    Ok(())
}
