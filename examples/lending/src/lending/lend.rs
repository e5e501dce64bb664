//! Procedure `lend`, line 2 of `procedures.sql`.

use super::tables::{Tables, book, reader};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `who`, integer.
    pub who: i64,
    /// `what`, integer.
    pub what: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [who, what] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { who: who.int4()?, what: what.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `lend`.
pub async fn lend<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let who = arguments.who;
    let what = arguments.what;
    let mut at_hand: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.book, KeyBuilder::new().int4(what as i32).key()));
    call.scratch.reads.push((tables.reader, KeyBuilder::new().int4(who as i32).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(book_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let book = call.txn.row(book_row);
    at_hand = number::int4(number::subtract(book.int_in(book::COPIES), book.int_in(book::LENT))?)?;
    if at_hand <= 0 {
        return Err(Stop::raised("P0001", "No copy is left"));
    }
    if let Some(book_row_2) = call.scratch.found[0] {
        let book_2 = call.txn.row(book_row_2);
        let lent = number::int4(number::add(book_2.int_in(book::LENT), 1)?)?;
        let mut new_book = call.txn.update(book_row_2);
        new_book.set_int_in(book::LENT, lent);
    }
    if let Some(reader_row) = call.scratch.found[1] {
        let reader = call.txn.row(reader_row);
        let books = number::int4(number::add(reader.int_in(reader::BOOKS), 1)?)?;
        let mut new_reader = call.txn.update(reader_row);
        new_reader.set_int_in(reader::BOOKS, books);
    }
    call.results.row();
    call.results.int(number::int4(number::subtract(at_hand, 1)?)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let who = arguments.who;
    let what = arguments.what;
    lane.prefetch(&[
        (tables.book, KeyBuilder::new().int4(what as i32).key()),
        (tables.reader, KeyBuilder::new().int4(who as i32).key()),
    ]);
    Ok(())
}
