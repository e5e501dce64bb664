//! Procedure `read_record`, line 4 of `procedures.sql`.

use super::tables::{Tables, usertable};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `record_key`, bigint.
    pub record_key: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [record_key] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { record_key: record_key.int()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `read_record`.
pub async fn read_record<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let record_key = arguments.record_key;
    if let Some(usertable_row) =
        call.txn.read(tables.usertable, &KeyBuilder::new().int8(record_key).key()).await?
    {
        let usertable = call.txn.row(usertable_row);
        call.results.record(
            &usertable,
            &[
                Column::Int(usertable::YCSB_KEY),
                Column::Int(usertable::COUNTER),
                Column::Bytes(usertable::FIELD0),
                Column::Bytes(usertable::FIELD1),
                Column::Bytes(usertable::FIELD2),
                Column::Bytes(usertable::FIELD3),
                Column::Bytes(usertable::FIELD4),
                Column::Bytes(usertable::FIELD5),
                Column::Bytes(usertable::FIELD6),
                Column::Bytes(usertable::FIELD7),
                Column::Bytes(usertable::FIELD8),
                Column::Bytes(usertable::FIELD9),
            ],
        );
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let record_key = arguments.record_key;
    lane.prefetch(&[(tables.usertable, KeyBuilder::new().int8(record_key).key())]);
    Ok(())
}
