//! Procedure `update_location`, line 88 of `procedures.sql`.

use super::tables::{Tables, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_number`, bpchar.
    pub subscriber_number: &'a [u8],
    /// `new_location`, integer.
    pub new_location: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_number, new_location] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            subscriber_number: subscriber_number.characters()?,
            new_location: new_location.int4()?,
        })
    }
}

/// Executes the procedure `update_location`.
pub async fn update_location<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_number = arguments.subscriber_number;
    let new_location = arguments.new_location;
    let mut is_found = false;
    let mut subscriber_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.subscriber_by_subscriber_number,
            &KeyBuilder::new().padded(text::fitting(subscriber_number, 15)?, 15).key(),
            &mut subscriber_rows,
        )
        .await?;
    for &subscriber_row in subscriber_rows.iter() {
        let mut new_subscriber = call.txn.update(subscriber_row);
        new_subscriber.set_int_in(subscriber::VLR_LOCATION, new_location);
        is_found = true;
    }
    call.scratch.give_rows(subscriber_rows);
    if !is_found {
        return Err(Stop::raised("P0001", "There is no such subscriber"));
    }
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
