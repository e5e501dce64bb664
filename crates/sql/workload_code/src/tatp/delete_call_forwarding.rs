//! Procedure `delete_call_forwarding`, line 138 of `procedures.sql`.

use super::tables::{Tables, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_number`, bpchar.
    pub subscriber_number: &'a [u8],
    /// `facility_type`, smallint.
    pub facility_type: i64,
    /// `starts`, smallint.
    pub starts: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_number, facility_type, starts] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            subscriber_number: subscriber_number.characters()?,
            facility_type: facility_type.int2()?,
            starts: starts.int2()?,
        })
    }
}

/// Executes the procedure `delete_call_forwarding`.
pub async fn delete_call_forwarding<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_number = arguments.subscriber_number;
    let facility_type = arguments.facility_type;
    let starts = arguments.starts;
    let mut subscriber_id: i64;
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
    let Some(call_forwarding_row) = call
        .txn
        .read(
            tables.call_forwarding,
            &KeyBuilder::new()
                .int4(subscriber_id as i32)
                .int2(facility_type as i16)
                .int2(starts as i16)
                .key(),
        )
        .await?
    else {
        return Err(Stop::raised("P0001", "Nothing is forwarded from this time on"));
    };
    call.txn.delete(call_forwarding_row);
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
