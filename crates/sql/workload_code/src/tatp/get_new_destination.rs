//! Procedure `get_new_destination`, line 27 of `procedures.sql`.

use super::tables::{Tables, call_forwarding, special_facility};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_id`, integer.
    pub subscriber_id: i64,
    /// `facility_type`, smallint.
    pub facility_type: i64,
    /// `starts`, smallint.
    pub starts: i64,
    /// `ends`, smallint.
    pub ends: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_id, facility_type, starts, ends] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            subscriber_id: subscriber_id.int4()?,
            facility_type: facility_type.int2()?,
            starts: starts.int2()?,
            ends: ends.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `get_new_destination`.
pub async fn get_new_destination<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let facility_type = arguments.facility_type;
    let starts = arguments.starts;
    let ends = arguments.ends;
    let mut numberx: Text<15> = Default::default();
    let mut active: i64;
    let mut ends_at: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((
        tables.special_facility,
        KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
    ));
    for third in 0..=number::int4(number::divide(starts, 8)?)? {
        call.scratch.reads.push((
            tables.call_forwarding,
            KeyBuilder::new()
                .int4(subscriber_id as i32)
                .int2(facility_type as i16)
                .int2(number::int2(number::int4(number::multiply(8, third)?)?)? as i16)
                .key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(special_facility_row) = call.scratch.found[0] else {
        return Ok(());
    };
    let special_facility = call.txn.row(special_facility_row);
    active = special_facility.int_in(special_facility::IS_ACTIVE);
    for third in 0..=number::int4(number::divide(starts, 8)?)? {
        if let Some(call_forwarding_row) = call.scratch.found[1 + third as usize] {
            let call_forwarding = call.txn.row(call_forwarding_row);
            ends_at = call_forwarding.int_in(call_forwarding::END_TIME);
            numberx.set(call_forwarding.bytes_in(call_forwarding::NUMBERX))?;
            if (active == 1) && (ends < ends_at) {
                call.results.row();
                call.results.text(&numberx);
            }
        } else {
        }
    }
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
    let starts = arguments.starts;
    lane.prefetch(&[(
        tables.special_facility,
        KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
    )]);
    for third in (0..=number::int4(number::divide(starts, 8)?)?).take(4) {
        lane.prefetch(&[(
            tables.call_forwarding,
            KeyBuilder::new()
                .int4(subscriber_id as i32)
                .int2(facility_type as i16)
                .int2(number::int2(number::int4(number::multiply(8, third)?)?)? as i16)
                .key(),
        )]);
    }
    Ok(())
}
