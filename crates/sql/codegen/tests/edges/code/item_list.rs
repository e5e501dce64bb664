//! Procedure `item_list`, line 1225 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, element, known};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: Option<&'a [i64]>,
    /// `y`, integer.
    pub y: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            list: list.or_null(|argument| argument.ints())?,
            y: y.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `item_list`.
pub async fn item_list<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let y = arguments.y;
    let mut found_id: Option<i64> = None;
    let mut found_grp: Option<i64> = None;
    let mut element_value: i64;
    for &element_value_2 in known(list)? {
        element_value = element_value_2;
        if let Some(item_row) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(element_value as i32).key()).await?
        {
            let item = call.txn.row(item_row);
            found_id = Some(item.int_in(item::ID));
            found_grp = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
            if let Some(item_row_2) = call
                .txn
                .read(tables.item, &KeyBuilder::new().int4(element_value as i32).key())
                .await?
            {
                let mut new_item = call.txn.update(item_row_2);
                match y {
                    Some(value) => new_item.set_int_in(item::GRP, value),
                    None => new_item.set_null_in(item::GRP),
                }
            }
        } else {
            found_id = None;
            found_grp = None;
            found_grp = Some(element_value);
        }
        call.results.row();
        call.results.int_or_null(found_id);
        call.results.int_or_null(found_grp);
    }
    found_id = Some(element(known(list)?, 1)?);
    found_grp = Some(element(known(list)?, known(y)?)?);
    call.results.row();
    call.results.int_or_null(found_id);
    call.results.int_or_null(found_grp);
    Ok(())
}
