//! Procedure `item_nested`, line 981 of `procedures.sql`.

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

/// Executes the procedure `item_nested`.
pub async fn item_nested<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut found = false;
    let mut one: Option<i64> = None;
    let mut total: i64;
    total = 0;
    let mut has_begun = false;
    'rows: for i in 1..=known(x)? {
        has_begun = true;
        if i > 6 {
            break;
        }
        let mut has_begun_2 = false;
        for j in (i..=known(y)?).rev() {
            has_begun_2 = true;
            if let Some(item_row) =
                call.txn.read(tables.item, &KeyBuilder::new().int4(j as i32).key()).await?
            {
                let item = call.txn.row(item_row);
                one = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
                found = true;
            } else {
                found = false;
                one = None;
            }
            if !found {
                continue 'rows;
            }
            let Some(item_row_2) = call
                .txn
                .read(
                    tables.item,
                    &KeyBuilder::new().int4(number::int4(number::add(j, 1)?)? as i32).key(),
                )
                .await?
            else {
                found = false;
                total = number::int4(number::add(total, 1)?)?;
                continue;
            };
            let item_2 = call.txn.row(item_row_2);
            let grp = number::int4(number::modulo(
                number::int4(number::add(
                    known((!item_2.is_null_in(item::GRP)).then(|| item_2.int_in(item::GRP)))?,
                    i,
                )?)?,
                8,
            )?)?;
            let mut new_item = call.txn.update(item_row_2);
            new_item.set_int_in(item::GRP, grp);
            found = true;
            total = number::int4(number::add(total, one.unwrap_or(3))?)?;
            if total > 30 {
                break 'rows;
            }
            if number::int4(number::modulo(total, 5)?)? == 4 {
                break;
            }
        }
        found = has_begun_2;
        total = number::int4(number::add(total, 1)?)?;
    }
    found = has_begun;
    call.results.row();
    call.results.int(total);
    return Ok(());
}
