//! Procedure `by_name`, line 173 of `procedures.sql`.

use super::tables::{Tables, named};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `wanted`, character varying.
    pub wanted: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [wanted] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { wanted: wanted.text()? })
    }
}

/// Executes the procedure `by_name`.
pub async fn by_name<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let wanted = arguments.wanted;
    let mut given: i64;
    let Some(named_row) = call
        .txn
        .read(tables.named, &KeyBuilder::new().padded(text::fitting(wanted, 10)?, 10).key())
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let named = call.txn.row(named_row);
    given = named.int_in(named::V);
    call.results.row();
    call.results.int(given);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let wanted = arguments.wanted;
    lane.prefetch(&[(
        tables.named,
        KeyBuilder::new().padded(text::fitting(wanted, 10)?, 10).key(),
    )]);
    Ok(())
}
