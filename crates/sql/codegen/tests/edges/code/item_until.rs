//! Procedure `item_until`, line 1007 of `procedures.sql`.

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

/// Executes the procedure `item_until`.
pub async fn item_until<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut found_id: Option<i64> = None;
    let mut found_grp: Option<i64> = None;
    let mut found = false;
    found_id = x;
    loop {
        if let Some(item_row) = call
            .txn
            .read(tables.item, &KeyBuilder::new().int4(known(found_id)? as i32).key())
            .await?
        {
            let item = call.txn.row(item_row);
            found_grp = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
            found = true;
        } else {
            found = false;
            found_grp = None;
        }
        if !found || found_grp.zip(y).is_some_and(|(left, right)| left == right) {
            break;
        }
        call.results.row();
        call.results.int_or_null(found_id);
        call.results.int_or_null(found_grp);
        let mut is_found = false;
        if let Some(item_row_2) = call
            .txn
            .read(tables.item, &KeyBuilder::new().int4(known(found_id)? as i32).key())
            .await?
        {
            let item_2 = call.txn.row(item_row_2);
            if number::int4(number::modulo(item_2.int_in(item::ID), 3)?)? == 0 {
                let mut new_item = call.txn.update(item_row_2);
                match y {
                    Some(value) => new_item.set_int_in(item::GRP, value),
                    None => new_item.set_null_in(item::GRP),
                }
                found = true;
                is_found = true;
            }
        }
        if !is_found {
            found = false;
        }
        found_id = Some(number::int4(number::add(known(found_id)?, 1)?)?);
        if known(found_id)? > number::int4(number::add(known(x)?, 4)?)? {
            return Ok(());
        }
    }
    found_grp = Some(-1);
    call.results.row();
    call.results.int_or_null(found_id);
    call.results.int_or_null(found_grp);
    Ok(())
}
