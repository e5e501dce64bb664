//! Procedure `get_subscriber_data`, line 7 of `procedures.sql`.

use super::tables::{Tables, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use runtime::{Argument, Call, Stop};
use txn::Lane;

/// The arguments.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_id`, integer.
    pub subscriber_id: i64,
    /// Nothing is borrowed.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call; others than expected deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_id] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { subscriber_id: subscriber_id.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Carries out `get_subscriber_data`.
pub async fn get_subscriber_data<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    if let Some(subscriber_row) = call
        .txn
        .read(tables.subscriber, &KeyBuilder::new().int4(subscriber_id as i32).key())
        .await?
    {
        let subscriber = call.txn.row(subscriber_row);
        call.results.row();
        call.results.int(subscriber.int_in(subscriber::S_ID));
        call.results.text(subscriber.bytes_in(subscriber::SUB_NBR));
        call.results.int(subscriber.int_in(subscriber::BIT_1));
        call.results.int(subscriber.int_in(subscriber::BIT_2));
        call.results.int(subscriber.int_in(subscriber::BIT_3));
        call.results.int(subscriber.int_in(subscriber::BIT_4));
        call.results.int(subscriber.int_in(subscriber::BIT_5));
        call.results.int(subscriber.int_in(subscriber::BIT_6));
        call.results.int(subscriber.int_in(subscriber::BIT_7));
        call.results.int(subscriber.int_in(subscriber::BIT_8));
        call.results.int(subscriber.int_in(subscriber::BIT_9));
        call.results.int(subscriber.int_in(subscriber::BIT_10));
        call.results.int(subscriber.int_in(subscriber::HEX_1));
        call.results.int(subscriber.int_in(subscriber::HEX_2));
        call.results.int(subscriber.int_in(subscriber::HEX_3));
        call.results.int(subscriber.int_in(subscriber::HEX_4));
        call.results.int(subscriber.int_in(subscriber::HEX_5));
        call.results.int(subscriber.int_in(subscriber::HEX_6));
        call.results.int(subscriber.int_in(subscriber::HEX_7));
        call.results.int(subscriber.int_in(subscriber::HEX_8));
        call.results.int(subscriber.int_in(subscriber::HEX_9));
        call.results.int(subscriber.int_in(subscriber::HEX_10));
        call.results.int(subscriber.int_in(subscriber::BYTE2_1));
        call.results.int(subscriber.int_in(subscriber::BYTE2_2));
        call.results.int(subscriber.int_in(subscriber::BYTE2_3));
        call.results.int(subscriber.int_in(subscriber::BYTE2_4));
        call.results.int(subscriber.int_in(subscriber::BYTE2_5));
        call.results.int(subscriber.int_in(subscriber::BYTE2_6));
        call.results.int(subscriber.int_in(subscriber::BYTE2_7));
        call.results.int(subscriber.int_in(subscriber::BYTE2_8));
        call.results.int(subscriber.int_in(subscriber::BYTE2_9));
        call.results.int(subscriber.int_in(subscriber::BYTE2_10));
        call.results.int(subscriber.int_in(subscriber::MSC_LOCATION));
        call.results.int(subscriber.int_in(subscriber::VLR_LOCATION));
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
    lane.prefetch(&[(tables.subscriber, KeyBuilder::new().int4(subscriber_id as i32).key())]);
    Ok(())
}
