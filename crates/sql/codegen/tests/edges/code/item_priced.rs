//! Procedure `item_priced`, line 1048 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `item_priced`.
pub async fn item_priced<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut two: i64;
    let mut three: Option<i64> = None;
    let mut four: bool;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((
        tables.item,
        KeyBuilder::new().int4(number::int4(number::add(known(x)?, 1)?)? as i32).key(),
    ));
    call.scratch.reads.push((
        tables.item,
        KeyBuilder::new().int4(number::int4(number::add(known(x)?, 2)?)? as i32).key(),
    ));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item = call.txn.row(item_row);
    let price = number::digits(
        number::rescale(
            number::subtract(
                number::rescale(
                    number::add(
                        known((!item.is_null_in(item::PRICE)).then(|| item.int_in(item::PRICE)))?,
                        150,
                    )?,
                    2,
                    4,
                )?,
                item.int_in(item::RATE),
            )?,
            4,
            2,
        )?,
        8,
    )?;
    let mut new_item = call.txn.update(item_row);
    new_item.set_int_in(item::PRICE, price);
    let item = call.txn.row(item_row);
    one = (!item.is_null_in(item::PRICE)).then(|| item.int_in(item::PRICE));
    two = number::multiply(
        known((!item.is_null_in(item::PRICE)).then(|| item.int_in(item::PRICE)))?,
        item.int_in(item::RATE),
    )?;
    three = match one {
        Some(value) => Some(number::int4(number::rescale(value, 2, 0)?)?),
        None => None,
    };
    let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item_2 = call.txn.row(item_row_2);
    four = (number::rescale(
        known((!item_2.is_null_in(item::PRICE)).then(|| item_2.int_in(item::PRICE)))?,
        2,
        3,
    )? > 2005)
        || (item_2.int_in(item::RATE) < 5000);
    if let Some(item_row_3) = call.scratch.found[0] {
        let item_3 = call.txn.row(item_row_3);
        let price_2 = number::digits(
            number::multiply(
                known((!item_3.is_null_in(item::PRICE)).then(|| item_3.int_in(item::PRICE)))?,
                known(y)?,
            )?,
            8,
        )?;
        let mut new_item_2 = call.txn.update(item_row_3);
        new_item_2.set_int_in(item::PRICE, price_2);
    }
    if let Some(item_row_4) = call.scratch.found[1] {
        let item_4 = call.txn.row(item_row_4);
        if known((!item_4.is_null_in(item::PRICE)).then(|| item_4.int_in(item::PRICE)))?
            > number::rescale(known(y)?, 0, 2)?
        {
            let mut new_item_3 = call.txn.update(item_row_4);
            new_item_3.set_int_in(item::PRICE, 235);
        }
    }
    if (number::rescale(known(one)?, 2, 6)? > two) && (known(y)? > 3) {
        if let Some(item_row_5) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
        {
            let mut new_item_4 = call.txn.update(item_row_5);
            new_item_4.set_int_in(item::PRICE, 99999999);
        }
    }
    call.results.row();
    call.results.decimal_or_null(one, 2);
    call.results.decimal(two, 6);
    call.results.int_or_null(three);
    call.results.int(i64::from(four));
    Ok(())
}
