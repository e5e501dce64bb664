//! Procedure `look_up`, line 36 of `procedures.sql`.

use super::tables::{Tables, book};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `what`, integer.
    pub what: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [what] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { what: what.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `look_up`.
pub async fn look_up<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let what = arguments.what;
    if let Some(book_row) =
        call.txn.read(tables.book, &KeyBuilder::new().int4(what as i32).key()).await?
    {
        let book = call.txn.row(book_row);
        call.results.record(
            &book,
            &[Column::Bytes(book::TITLE), Column::Int(book::COPIES), Column::Int(book::LENT)],
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
    let what = arguments.what;
    lane.prefetch(&[(tables.book, KeyBuilder::new().int4(what as i32).key())]);
    Ok(())
}
