//! Procedure `names`, line 1074 of `procedures.sql`.

use super::tables::{Tables, cell, entry, tag};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, duplicate, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `range_value`, integer.
    pub range_value: i64,
    /// `v_value`, integer.
    pub v_value: i64,
    /// `error_value`, integer.
    pub error_value: i64,
    /// `layout_value`, integer.
    pub layout_value: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [range_value, v_value, error_value, layout_value] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            range_value: range_value.int4()?,
            v_value: v_value.int4()?,
            error_value: error_value.int4()?,
            layout_value: layout_value.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `names`.
pub async fn names<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let range_value = arguments.range_value;
    let v_value = arguments.v_value;
    let error_value = arguments.error_value;
    let layout_value = arguments.layout_value;
    let mut a_value: Option<i64> = None;
    let mut b_value: i64;
    let mut value_value: Option<i64> = None;
    let mut call_value: i64;
    let mut tables_value: i64;
    let mut found_q: i64;
    call_value = number::int4(number::add(range_value, 1)?)?;
    tables_value = v_value;
    let mut least = None::<i64>;
    let mut counted = 0_i64;
    let mut greatest = None::<i64>;
    let mut entry_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.entry),
        low: KeyBuilder::new()
            .int4(range_value as i32)
            .int4(call_value as i32)
            .int4(number::int4(number::add(error_value, 1)?)? as i32)
            .prefix_low(2),
        high: KeyBuilder::new().int4(range_value as i32).int4(call_value as i32).prefix_high(2),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut entry_rows).await?;
    for &entry_row in entry_rows.iter() {
        let entry = call.txn.row(entry_row);
        let value = number::int4(number::add(
            known((!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V)))?,
            layout_value,
        )?)?;
        least = Some(least.map_or(value, |v: i64| v.min(value)));
        counted += 1;
        greatest = Some(greatest.map_or(range_value, |v: i64| v.max(range_value)));
    }
    call.scratch.give_rows(entry_rows);
    a_value = least;
    b_value = counted;
    value_value = greatest;
    let Some(cell_row) = call
        .txn
        .read(
            tables.cell,
            &KeyBuilder::new().int4(range_value as i32).int4(tables_value as i32).key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let cell = call.txn.row(cell_row);
    found_q = cell.int_in(cell::Q);
    value_value = Some(number::int4(number::add(
        number::int4(number::add(
            number::int4(number::add(known(value_value)?, call_value)?)?,
            tables_value,
        )?)?,
        found_q,
    )?)?);
    let tag_row = call
        .txn
        .insert(tables.tag, &KeyBuilder::new().int4(error_value as i32).key())
        .await
        .map_err(|error| duplicate(error, "tag_pkey", "id", &[error_value]))?;
    let mut new_tag = call.txn.update(tag_row);
    new_tag.set_null_in(tag::MARK);
    call.results.row();
    call.results.int_or_null(a_value);
    call.results.int(b_value);
    call.results.int_or_null(value_value);
    Ok(())
}
