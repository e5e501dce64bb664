//! Procedure `rounds_of_texts`, line 444 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `rounds_of_texts`.
pub async fn rounds_of_texts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let y = arguments.y;
    let mut found_d: Option<i64> = None;
    let mut given: Text<3> = Default::default();
    let mut again: Text<6> = Default::default();
    let mut one: Text<6> = Default::default();
    let mut other: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    for number_value in 1..=4 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for number_value in 1..=4 {
        if let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] {
            let cell = call.txn.row(cell_row);
            one.set(cell.bytes_in(cell::CODE))?;
            if let Some(entry_row) = call
                .txn
                .read(
                    tables.entry,
                    &KeyBuilder::new()
                        .int4(of_g as i32)
                        .int4(number_value as i32)
                        .int4(y as i32)
                        .key(),
                )
                .await?
            {
                let entry = call.txn.row(entry_row);
                other = (!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V));
            } else {
                other = None;
            }
            found_d = other;
            given.set(text::left(&one, 3)?)?;
            again.set(&one)?;
            call.results.row();
            call.results.int_or_null(found_d);
            call.results.texts(&[&given, &again]);
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
    let of_g = arguments.of_g;
    for number_value in (1..=4).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        )]);
    }
    Ok(())
}
