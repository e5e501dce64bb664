//! Procedure `get_subscriber_data`, line 7 of `procedures.sql`.

use super::tables::{Tables, subscriber};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_id`, integer.
    pub subscriber_id: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_id] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { subscriber_id: subscriber_id.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `get_subscriber_data`.
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
        call.results.record(
            &subscriber,
            &[
                Column::Int(subscriber::S_ID),
                Column::Bytes(subscriber::SUB_NBR),
                Column::Int(subscriber::BIT_1),
                Column::Int(subscriber::BIT_2),
                Column::Int(subscriber::BIT_3),
                Column::Int(subscriber::BIT_4),
                Column::Int(subscriber::BIT_5),
                Column::Int(subscriber::BIT_6),
                Column::Int(subscriber::BIT_7),
                Column::Int(subscriber::BIT_8),
                Column::Int(subscriber::BIT_9),
                Column::Int(subscriber::BIT_10),
                Column::Int(subscriber::HEX_1),
                Column::Int(subscriber::HEX_2),
                Column::Int(subscriber::HEX_3),
                Column::Int(subscriber::HEX_4),
                Column::Int(subscriber::HEX_5),
                Column::Int(subscriber::HEX_6),
                Column::Int(subscriber::HEX_7),
                Column::Int(subscriber::HEX_8),
                Column::Int(subscriber::HEX_9),
                Column::Int(subscriber::HEX_10),
                Column::Int(subscriber::BYTE2_1),
                Column::Int(subscriber::BYTE2_2),
                Column::Int(subscriber::BYTE2_3),
                Column::Int(subscriber::BYTE2_4),
                Column::Int(subscriber::BYTE2_5),
                Column::Int(subscriber::BYTE2_6),
                Column::Int(subscriber::BYTE2_7),
                Column::Int(subscriber::BYTE2_8),
                Column::Int(subscriber::BYTE2_9),
                Column::Int(subscriber::BYTE2_10),
                Column::Int(subscriber::MSC_LOCATION),
                Column::Int(subscriber::VLR_LOCATION),
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
    let subscriber_id = arguments.subscriber_id;
    lane.prefetch(&[(tables.subscriber, KeyBuilder::new().int4(subscriber_id as i32).key())]);
    Ok(())
}
