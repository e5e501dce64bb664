//! Procedure `insert_record`, line 60 of `procedures.sql`.

use super::tables::{Tables, usertable};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, duplicate, element, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `record_key`, bigint.
    pub record_key: i64,
    /// `contents`, character varying[].
    pub contents: &'a [&'a [u8]],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [record_key, contents] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { record_key: record_key.int()?, contents: contents.texts()? })
    }
}

/// Executes the procedure `insert_record`.
pub async fn insert_record<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let record_key = arguments.record_key;
    let contents = arguments.contents;
    let field0 = Text::<100>::new(text::fitting(element(contents, 1)?, 100)?)?;
    let field1 = Text::<100>::new(text::fitting(element(contents, 2)?, 100)?)?;
    let field2 = Text::<100>::new(text::fitting(element(contents, 3)?, 100)?)?;
    let field3 = Text::<100>::new(text::fitting(element(contents, 4)?, 100)?)?;
    let field4 = Text::<100>::new(text::fitting(element(contents, 5)?, 100)?)?;
    let field5 = Text::<100>::new(text::fitting(element(contents, 6)?, 100)?)?;
    let field6 = Text::<100>::new(text::fitting(element(contents, 7)?, 100)?)?;
    let field7 = Text::<100>::new(text::fitting(element(contents, 8)?, 100)?)?;
    let field8 = Text::<100>::new(text::fitting(element(contents, 9)?, 100)?)?;
    let field9 = Text::<100>::new(text::fitting(element(contents, 10)?, 100)?)?;
    let usertable_row = call
        .txn
        .insert(tables.usertable, &KeyBuilder::new().int8(record_key).key())
        .await
        .map_err(|error| duplicate(error, "usertable_pkey", "ycsb_key", &[record_key]))?;
    let mut new_usertable = call.txn.update(usertable_row);
    new_usertable.set_int_in(usertable::COUNTER, 0);
    new_usertable.set_bytes_in(usertable::FIELD0, &field0);
    new_usertable.set_bytes_in(usertable::FIELD1, &field1);
    new_usertable.set_bytes_in(usertable::FIELD2, &field2);
    new_usertable.set_bytes_in(usertable::FIELD3, &field3);
    new_usertable.set_bytes_in(usertable::FIELD4, &field4);
    new_usertable.set_bytes_in(usertable::FIELD5, &field5);
    new_usertable.set_bytes_in(usertable::FIELD6, &field6);
    new_usertable.set_bytes_in(usertable::FIELD7, &field7);
    new_usertable.set_bytes_in(usertable::FIELD8, &field8);
    new_usertable.set_bytes_in(usertable::FIELD9, &field9);
    Ok(())
}
