//! Procedure `update_subscriber_data`, line 67 of `procedures.sql`.

use super::tables::{Tables, special_facility, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_id`, integer.
    pub subscriber_id: i64,
    /// `new_bit`, smallint.
    pub new_bit: i64,
    /// `facility_type`, smallint.
    pub facility_type: i64,
    /// `new_data`, smallint.
    pub new_data: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_id, new_bit, facility_type, new_data] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            subscriber_id: subscriber_id.int4()?,
            new_bit: new_bit.int2()?,
            facility_type: facility_type.int2()?,
            new_data: new_data.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `update_subscriber_data`.
pub async fn update_subscriber_data<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let new_bit = arguments.new_bit;
    let facility_type = arguments.facility_type;
    let new_data = arguments.new_data;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.subscriber, KeyBuilder::new().int4(subscriber_id as i32).key()));
    call.scratch.reads.push((
        tables.special_facility,
        KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
    ));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    if let Some(subscriber_row) = call.scratch.found[0] {
        let mut new_subscriber = call.txn.update(subscriber_row);
        new_subscriber.set_int_in(subscriber::BIT_1, new_bit);
    }
    let Some(special_facility_row) = call.scratch.found[1] else {
        return Err(Stop::raised("P0001", "The subscriber has no special facility of this type"));
    };
    let mut new_special_facility = call.txn.update(special_facility_row);
    new_special_facility.set_int_in(special_facility::DATA_A, new_data);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let facility_type = arguments.facility_type;
    lane.prefetch(&[
        (tables.subscriber, KeyBuilder::new().int4(subscriber_id as i32).key()),
        (
            tables.special_facility,
            KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
        ),
    ]);
    Ok(())
}
