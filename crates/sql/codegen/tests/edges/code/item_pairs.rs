//! Procedure `item_pairs`, line 1243 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, element, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: Option<&'a [i64]>,
    /// `other`, integer[].
    pub other: Option<&'a [i64]>,
    /// `y`, integer.
    pub y: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list, other, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            list: list.or_null(|argument| argument.ints())?,
            other: other.or_null(|argument| argument.ints())?,
            y: y.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `item_pairs`.
pub async fn item_pairs<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let other = arguments.other;
    let y = arguments.y;
    let mut kept: i64;
    let mut total: i64;
    total = 0;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    number::few(known(y)?)?;
    for i in 1..=known(y)? {
        call.scratch
            .reads
            .push((tables.item, KeyBuilder::new().int4(element(known(list)?, i)? as i32).key()));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for i in 1..=known(y)? {
        let Some(item_row) = call.scratch.found[0 + (i - 1) as usize] else {
            return Err(Stop::Deviates);
        };
        let item = call.txn.row(item_row);
        kept = item.int_in(item::TAG);
        if let Some(item_row_2) = call.scratch.found[0 + (i - 1) as usize] {
            let tag = number::int2(element(known(other)?, i)?)?;
            let mut new_item = call.txn.update(item_row_2);
            new_item.set_int_in(item::TAG, tag);
            total = number::int4(number::add(
                total,
                number::int4(number::multiply(kept, element(known(other)?, i)?)?)?,
            )?)?;
        } else {
        }
        if {
            let _ = element(known(list)?, i)?;
            false
        } {
            break;
        }
    }
    call.results.row();
    call.results.int(total);
    return Ok(());
}
