//! Procedure `insert_call_forwarding`, line 101 of `procedures.sql`.

use super::tables::{Tables, call_forwarding, special_facility, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, duplicate, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_number`, bpchar.
    pub subscriber_number: &'a [u8],
    /// `facility_type`, smallint.
    pub facility_type: i64,
    /// `starts`, smallint.
    pub starts: i64,
    /// `ends`, smallint.
    pub ends: i64,
    /// `destination`, bpchar.
    pub destination: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_number, facility_type, starts, ends, destination] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            subscriber_number: subscriber_number.characters()?,
            facility_type: facility_type.int2()?,
            starts: starts.int2()?,
            ends: ends.int2()?,
            destination: destination.characters()?,
        })
    }
}

/// Executes the procedure `insert_call_forwarding`.
pub async fn insert_call_forwarding<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_number = arguments.subscriber_number;
    let facility_type = arguments.facility_type;
    let starts = arguments.starts;
    let ends = arguments.ends;
    let destination = arguments.destination;
    let mut subscriber_id: i64;
    let mut found_type: i64;
    let mut has_facility: bool;
    has_facility = false;
    let mut subscriber_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.subscriber_by_subscriber_number,
            &KeyBuilder::new().padded(text::fitting(subscriber_number, 15)?, 15).key(),
            &mut subscriber_rows,
        )
        .await?;
    subscriber_rows.truncate(1);
    let subscriber_row = subscriber_rows.iter().next().copied();
    call.scratch.give_rows(subscriber_rows);
    let Some(subscriber_row) = subscriber_row else {
        return Err(Stop::Deviates);
    };
    let subscriber = call.txn.row(subscriber_row);
    subscriber_id = subscriber.int_in(subscriber::S_ID);
    // No round looks at another's rows: they go side by side, from one reading to the next.
    let mut rounds = [None; 4];
    call.scratch.reads.clear();
    for kind in 1..=4 {
        rounds[call.scratch.reads.len()] = Some((kind,));
        call.scratch.reads.push((
            tables.special_facility,
            KeyBuilder::new().int4(subscriber_id as i32).int2(number::int2(kind)? as i16).key(),
        ));
    }

    let mut special_facility_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut special_facility_found).await?;
    for (at, round) in rounds.into_iter().flatten().enumerate() {
        let kind;
        (kind,) = round;
        if let Some(special_facility_row) = special_facility_found[at] {
            let special_facility = call.txn.row(special_facility_row);
            found_type = special_facility.int_in(special_facility::SF_TYPE);
            if found_type == facility_type {
                has_facility = true;
            }
        } else {
        }
    }
    call.scratch.give_found(special_facility_found);
    if !has_facility {
        return Err(Stop::raised("P0001", "The subscriber has no special facility of this type"));
    }
    let numberx = Text::<15>::new(text::fitting(destination, 15)?)?;
    let call_forwarding_row = call
        .txn
        .insert(
            tables.call_forwarding,
            &KeyBuilder::new()
                .int4(subscriber_id as i32)
                .int2(facility_type as i16)
                .int2(starts as i16)
                .key(),
        )
        .await
        .map_err(|error| {
            duplicate(
                error,
                "call_forwarding_pkey",
                "s_id, sf_type, start_time",
                &[subscriber_id, facility_type, starts],
            )
        })?;
    let mut new_call_forwarding = call.txn.update(call_forwarding_row);
    new_call_forwarding.set_int_in(call_forwarding::END_TIME, ends);
    new_call_forwarding.set_bytes_in(call_forwarding::NUMBERX, &numberx);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_number = arguments.subscriber_number;
    lane.prefetch_lookup(
        tables.subscriber_by_subscriber_number,
        &KeyBuilder::new().padded(text::fitting(subscriber_number, 15)?, 15).key(),
    );
    Ok(())
}
