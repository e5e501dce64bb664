//! Procedure `update_record`, line 16 of `procedures.sql`.

use super::tables::{Tables, usertable};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `record_key`, bigint.
    pub record_key: i64,
    /// `field`, integer.
    pub field: i64,
    /// `content`, character varying.
    pub content: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [record_key, field, content] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { record_key: record_key.int()?, field: field.int4()?, content: content.text()? })
    }
}

/// Executes the procedure `update_record`.
pub async fn update_record<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let record_key = arguments.record_key;
    let field = arguments.field;
    let content = arguments.content;
    let mut new_counter: i64;
    let mut case: i64;
    case = field;
    if case == 0 {
        let Some(usertable_row) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable = call.txn.row(usertable_row);
        let counter = number::add(usertable.int_in(usertable::COUNTER), 1)?;
        let field0 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable = call.txn.update(usertable_row);
        new_usertable.set_int_in(usertable::COUNTER, counter);
        new_usertable.set_bytes_in(usertable::FIELD0, &field0);
        let usertable = call.txn.row(usertable_row);
        new_counter = usertable.int_in(usertable::COUNTER);
    } else if case == 1 {
        let Some(usertable_row_2) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_2 = call.txn.row(usertable_row_2);
        let counter_2 = number::add(usertable_2.int_in(usertable::COUNTER), 1)?;
        let field1 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_2 = call.txn.update(usertable_row_2);
        new_usertable_2.set_int_in(usertable::COUNTER, counter_2);
        new_usertable_2.set_bytes_in(usertable::FIELD1, &field1);
        let usertable_2 = call.txn.row(usertable_row_2);
        new_counter = usertable_2.int_in(usertable::COUNTER);
    } else if case == 2 {
        let Some(usertable_row_3) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_3 = call.txn.row(usertable_row_3);
        let counter_3 = number::add(usertable_3.int_in(usertable::COUNTER), 1)?;
        let field2 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_3 = call.txn.update(usertable_row_3);
        new_usertable_3.set_int_in(usertable::COUNTER, counter_3);
        new_usertable_3.set_bytes_in(usertable::FIELD2, &field2);
        let usertable_3 = call.txn.row(usertable_row_3);
        new_counter = usertable_3.int_in(usertable::COUNTER);
    } else if case == 3 {
        let Some(usertable_row_4) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_4 = call.txn.row(usertable_row_4);
        let counter_4 = number::add(usertable_4.int_in(usertable::COUNTER), 1)?;
        let field3 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_4 = call.txn.update(usertable_row_4);
        new_usertable_4.set_int_in(usertable::COUNTER, counter_4);
        new_usertable_4.set_bytes_in(usertable::FIELD3, &field3);
        let usertable_4 = call.txn.row(usertable_row_4);
        new_counter = usertable_4.int_in(usertable::COUNTER);
    } else if case == 4 {
        let Some(usertable_row_5) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_5 = call.txn.row(usertable_row_5);
        let counter_5 = number::add(usertable_5.int_in(usertable::COUNTER), 1)?;
        let field4 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_5 = call.txn.update(usertable_row_5);
        new_usertable_5.set_int_in(usertable::COUNTER, counter_5);
        new_usertable_5.set_bytes_in(usertable::FIELD4, &field4);
        let usertable_5 = call.txn.row(usertable_row_5);
        new_counter = usertable_5.int_in(usertable::COUNTER);
    } else if case == 5 {
        let Some(usertable_row_6) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_6 = call.txn.row(usertable_row_6);
        let counter_6 = number::add(usertable_6.int_in(usertable::COUNTER), 1)?;
        let field5 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_6 = call.txn.update(usertable_row_6);
        new_usertable_6.set_int_in(usertable::COUNTER, counter_6);
        new_usertable_6.set_bytes_in(usertable::FIELD5, &field5);
        let usertable_6 = call.txn.row(usertable_row_6);
        new_counter = usertable_6.int_in(usertable::COUNTER);
    } else if case == 6 {
        let Some(usertable_row_7) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_7 = call.txn.row(usertable_row_7);
        let counter_7 = number::add(usertable_7.int_in(usertable::COUNTER), 1)?;
        let field6 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_7 = call.txn.update(usertable_row_7);
        new_usertable_7.set_int_in(usertable::COUNTER, counter_7);
        new_usertable_7.set_bytes_in(usertable::FIELD6, &field6);
        let usertable_7 = call.txn.row(usertable_row_7);
        new_counter = usertable_7.int_in(usertable::COUNTER);
    } else if case == 7 {
        let Some(usertable_row_8) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_8 = call.txn.row(usertable_row_8);
        let counter_8 = number::add(usertable_8.int_in(usertable::COUNTER), 1)?;
        let field7 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_8 = call.txn.update(usertable_row_8);
        new_usertable_8.set_int_in(usertable::COUNTER, counter_8);
        new_usertable_8.set_bytes_in(usertable::FIELD7, &field7);
        let usertable_8 = call.txn.row(usertable_row_8);
        new_counter = usertable_8.int_in(usertable::COUNTER);
    } else if case == 8 {
        let Some(usertable_row_9) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_9 = call.txn.row(usertable_row_9);
        let counter_9 = number::add(usertable_9.int_in(usertable::COUNTER), 1)?;
        let field8 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_9 = call.txn.update(usertable_row_9);
        new_usertable_9.set_int_in(usertable::COUNTER, counter_9);
        new_usertable_9.set_bytes_in(usertable::FIELD8, &field8);
        let usertable_9 = call.txn.row(usertable_row_9);
        new_counter = usertable_9.int_in(usertable::COUNTER);
    } else if case == 9 {
        let Some(usertable_row_10) =
            call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
        else {
            return Err(Stop::Deviates);
        };
        let usertable_10 = call.txn.row(usertable_row_10);
        let counter_10 = number::add(usertable_10.int_in(usertable::COUNTER), 1)?;
        let field9 = Text::<100>::new(text::fitting(content, 100)?)?;
        let mut new_usertable_10 = call.txn.update(usertable_row_10);
        new_usertable_10.set_int_in(usertable::COUNTER, counter_10);
        new_usertable_10.set_bytes_in(usertable::FIELD9, &field9);
        let usertable_10 = call.txn.row(usertable_row_10);
        new_counter = usertable_10.int_in(usertable::COUNTER);
    } else {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int(new_counter);
    return Ok(());
}
