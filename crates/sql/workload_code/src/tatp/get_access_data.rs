//! Procedure `get_access_data`, line 59 of `procedures.sql`.

use super::tables::{Tables, access_info};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `subscriber_id`, integer.
    pub subscriber_id: i64,
    /// `access_type`, smallint.
    pub access_type: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [subscriber_id, access_type] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            subscriber_id: subscriber_id.int4()?,
            access_type: access_type.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `get_access_data`.
pub async fn get_access_data<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let subscriber_id = arguments.subscriber_id;
    let access_type = arguments.access_type;
    if let Some(access_info_row) = call
        .txn
        .read(
            tables.access_info,
            &KeyBuilder::new().int4(subscriber_id as i32).int2(access_type as i16).key(),
        )
        .await?
    {
        let access_info = call.txn.row(access_info_row);
        call.results.record(
            &access_info,
            &[
                Column::Int(access_info::DATA1),
                Column::Int(access_info::DATA2),
                Column::Bytes(access_info::DATA3),
                Column::Bytes(access_info::DATA4),
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
    let access_type = arguments.access_type;
    lane.prefetch(&[(
        tables.access_info,
        KeyBuilder::new().int4(subscriber_id as i32).int2(access_type as i16).key(),
    )]);
    Ok(())
}
