//! Procedure `scan_records`, line 69 of `procedures.sql`.

use super::tables::{Tables, usertable};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop, count};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `first_key`, bigint.
    pub first_key: i64,
    /// `length`, integer.
    pub length: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [first_key, length] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            first_key: first_key.int()?,
            length: length.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `scan_records`.
pub async fn scan_records<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let first_key = arguments.first_key;
    let length = arguments.length;
    let mut usertable_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.usertable),
        low: KeyBuilder::new().int8(first_key).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: false,
        limit: count(length)?,
    };
    call.txn.scan(&range, &mut usertable_rows).await?;
    for &usertable_row in usertable_rows.iter() {
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
    call.scratch.give_rows(usertable_rows);
    Ok(())
}
