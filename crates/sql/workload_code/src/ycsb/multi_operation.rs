//! Procedure `multi_operation`, line 83 of `procedures.sql`.

use super::tables::{Tables, usertable};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, element, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `record_keys`, bigint[].
    pub record_keys: &'a [i64],
    /// `is_update`, boolean[].
    pub is_update: &'a [bool],
    /// `content`, character varying.
    pub content: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [record_keys, is_update, content] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            record_keys: record_keys.ints()?,
            is_update: is_update.bools()?,
            content: content.text()?,
        })
    }
}

/// Executes the procedure `multi_operation`.
pub async fn multi_operation<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let record_keys = arguments.record_keys;
    let is_update = arguments.is_update;
    let content = arguments.content;
    let mut seen_counter: i64;
    let mut found_count: i64;
    found_count = 0;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    for operation in 1..=record_keys.len() as i64 {
        call.scratch.reads.push((
            tables.usertable,
            KeyBuilder::new().int8(element(record_keys, operation)?).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for operation in 1..=record_keys.len() as i64 {
        if let Some(usertable_row) = call.scratch.found[0 + (operation - 1) as usize] {
            let usertable = call.txn.row(usertable_row);
            seen_counter = usertable.int_in(usertable::COUNTER);
            found_count = number::int4(number::add(found_count, 1)?)?;
            if element(is_update, operation)? {
                if let Some(usertable_row_2) = call
                    .txn
                    .read(
                        tables.usertable,
                        &KeyBuilder::new().int8(element(record_keys, operation)?).key(),
                    )
                    .await?
                {
                    let counter = number::add(seen_counter, 1)?;
                    let field0 = Text::<100>::new(text::fitting(content, 100)?)?;
                    let mut new_usertable = call.txn.update(usertable_row_2);
                    new_usertable.set_int_in(usertable::COUNTER, counter);
                    new_usertable.set_bytes_in(usertable::FIELD0, &field0);
                }
            }
        } else {
        }
    }
    call.results.row();
    call.results.int(found_count);
    return Ok(());
}
