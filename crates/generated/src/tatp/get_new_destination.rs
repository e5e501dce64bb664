//! Procedure `get_new_destination`, line 27 of `procedures.sql`.

use super::tables::{Tables, call_forwarding, special_facility};
use fabric::Env;
use layout::KeyBuilder;
use runtime::{Argument, Call, Stop};
use txn::{Lane, Scan, ScanSource};

/// The arguments.
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
    /// Nothing is borrowed.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call; others than expected deviate.
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

/// Carries out `get_new_destination`.
pub async fn get_new_destination<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let facility_type = arguments.facility_type;
    let starts = arguments.starts;
    let ends = arguments.ends;
    if let Some(special_facility_row) = call
        .txn
        .read(
            tables.special_facility,
            &KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
        )
        .await?
    {
        let special_facility = call.txn.row(special_facility_row);
        if special_facility.int_in(special_facility::IS_ACTIVE) == 1 {
            let mut call_forwarding_rows = call.scratch.take_rows();
            let range = Scan {
                source: ScanSource::Table(tables.call_forwarding),
                low: KeyBuilder::new()
                    .int4(subscriber_id as i32)
                    .int2(facility_type as i16)
                    .prefix_low(1),
                high: KeyBuilder::new()
                    .int4(subscriber_id as i32)
                    .int2(facility_type as i16)
                    .int2(starts as i16)
                    .prefix_high(1),
                reverse: false,
                limit: usize::MAX,
            };
            call.txn.scan(&range, &mut call_forwarding_rows).await?;
            for &call_forwarding_row in call_forwarding_rows.iter() {
                let call_forwarding = call.txn.row(call_forwarding_row);
                if ends < call_forwarding.int_in(call_forwarding::END_TIME) {
                    let call_forwarding = call.txn.row(call_forwarding_row);
                    call.results.row();
                    call.results.text(call_forwarding.bytes_in(call_forwarding::NUMBERX));
                }
            }
            call.scratch.give_rows(call_forwarding_rows);
        }
    }
    Ok(())
}

/// Asks for what a call with these arguments will look for first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let facility_type = arguments.facility_type;
    lane.prefetch(&[(
        tables.special_facility,
        KeyBuilder::new().int4(subscriber_id as i32).int2(facility_type as i16).key(),
    )]);
    Ok(())
}
