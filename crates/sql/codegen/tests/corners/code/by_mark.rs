//! Procedure `by_mark`, line 743 of `procedures.sql`.

use super::tables::{Tables, tag};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_mark`, integer.
    pub of_mark: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_mark] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_mark: of_mark.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `by_mark`.
pub async fn by_mark<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_mark = arguments.of_mark;
    let mut given: i64;
    let mut tag_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.tag_by_tag_mark,
            &KeyBuilder::new().unsigned(0, 1).int4(of_mark as i32).key(),
            &mut tag_rows,
        )
        .await?;
    tag_rows.truncate(1);
    let tag_row = tag_rows.iter().next().copied();
    call.scratch.give_rows(tag_rows);
    let Some(tag_row) = tag_row else {
        return Err(Stop::Deviates);
    };
    let tag = call.txn.row(tag_row);
    given = tag.int_in(tag::ID);
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
    let of_mark = arguments.of_mark;
    lane.prefetch_lookup(
        tables.tag_by_tag_mark,
        &KeyBuilder::new().unsigned(0, 1).int4(of_mark as i32).key(),
    );
    Ok(())
}
