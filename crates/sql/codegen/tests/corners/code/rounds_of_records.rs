//! Procedure `rounds_of_records`, line 526 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, text};
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

/// Executes the procedure `rounds_of_records`.
pub async fn rounds_of_records<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let y = arguments.y;
    let mut given: Option<i64> = None;
    let mut again: Option<Text<4>> = None;
    let mut third: Option<i64> = None;
    let mut one_q: i64;
    let mut one_r: Option<i64> = None;
    let mut one_label: Option<Text<12>> = None;
    let mut part: Option<Text<4>> = None;
    let mut other: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    for number_value in 1..=4 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        ));
    }
    let begin = call.scratch.reads.len();
    for number_value_2 in 1..=3 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value_2 as i32).key(),
        ));
        call.scratch.reads.push((
            tables.entry,
            KeyBuilder::new().int4(of_g as i32).int4(number_value_2 as i32).int4(y as i32).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for number_value in 1..=4 {
        let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] else {
            return Err(Stop::Deviates);
        };
        let cell = call.txn.row(cell_row);
        one_q = cell.int_in(cell::Q);
        one_r = (!cell.is_null_in(cell::R)).then(|| cell.int_in(cell::R));
        one_label = ((!cell.is_null_in(cell::LABEL)).then(|| cell.bytes_in(cell::LABEL)))
            .map(Text::new)
            .transpose()?;
        if false {
            continue;
        }
        given = one_r;
        text::set(&mut again, text::left(known(one_label.as_deref())?, 3)?)?;
        call.results.row();
        call.results.int_or_null(given);
        call.results.text_or_null(again.as_deref());
        call.results.null();
    }
    for number_value_2 in 1..=3 {
        if let Some(cell_row_2) = call.scratch.found[begin + 2 * (number_value_2 - 1) as usize] {
            let cell_2 = call.txn.row(cell_row_2);
            part = (((!cell_2.is_null_in(cell::LABEL)).then(|| cell_2.bytes_in(cell::LABEL)))
                .map(|value| text::fitting(value, 4))
                .transpose()?)
            .map(Text::new)
            .transpose()?;
            other = (!cell_2.is_null_in(cell::R)).then(|| cell_2.int_in(cell::R));
        } else {
            part = None;
            other = None;
        }
        if let Some(cell_row_3) = call.scratch.found[begin + 2 * (number_value_2 - 1) as usize] {
            let label =
                Text::<4>::new(&Text::<4>::of(&[text::left(known(part.as_deref())?, 3)?, b"z"])?)?;
            let mut new_cell = call.txn.update(cell_row_3);
            new_cell.set_int_in(cell::R, y);
            new_cell.set_bytes_in(cell::LABEL, &label);
        }
        if let Some(entry_row) = call.scratch.found[begin + 2 * (number_value_2 - 1) as usize + 1] {
            let entry = call.txn.row(entry_row);
            third = (!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V));
        } else {
            third = None;
        }
        given = other;
        again = part.as_deref().map(Text::new).transpose()?;
        call.results.row();
        call.results.int_or_null(given);
        call.results.text_or_null(again.as_deref());
        call.results.int_or_null(third);
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
    let y = arguments.y;
    for number_value in (1..=4).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        )]);
    }
    for number_value_2 in (1..=3).take(4) {
        lane.prefetch(&[
            (tables.cell, KeyBuilder::new().int4(of_g as i32).int4(number_value_2 as i32).key()),
            (
                tables.entry,
                KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number_value_2 as i32)
                    .int4(y as i32)
                    .key(),
            ),
        ]);
    }
    Ok(())
}
