//! Procedure `inserted_marks`, line 728 of `procedures.sql`.

use super::tables::{Tables, tag};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `of_mark`, integer.
    pub of_mark: i64,
    /// `other`, integer.
    pub other: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, of_mark, other] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            of_mark: of_mark.int4()?,
            other: other.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `inserted_marks`.
pub async fn inserted_marks<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let of_mark = arguments.of_mark;
    let other = arguments.other;
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch.inserts.push((tables.tag, KeyBuilder::new().int4(x as i32).key()));
    call.scratch
        .inserts
        .push((tables.tag, KeyBuilder::new().int4(number::int4(number::add(x, 1)?)? as i32).key()));
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    let tag_row = call.scratch.inserted[0];
    let mut new_tag = call.txn.update(tag_row);
    new_tag.set_int_in(tag::MARK, of_mark);
    let tag_row_2 = call.scratch.inserted[1];
    let mut new_tag_2 = call.txn.update(tag_row_2);
    new_tag_2.set_int_in(tag::MARK, other);
    call.results.row();
    call.results.int(1);
    return Ok(());
}
