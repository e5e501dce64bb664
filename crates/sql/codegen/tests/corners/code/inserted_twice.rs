//! Procedure `inserted_twice`, line 696 of `procedures.sql`.

use super::tables::{Tables, fresh, tag};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// `other`, integer.
    pub other: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, other] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            y: y.int4()?,
            other: other.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `inserted_twice`.
pub async fn inserted_twice<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let other = arguments.other;
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch
        .inserts
        .push((tables.fresh, KeyBuilder::new().int4(x as i32).int4(y as i32).key()));
    call.scratch
        .inserts
        .push((tables.fresh, KeyBuilder::new().int4(x as i32).int4(other as i32).key()));
    call.scratch.inserts.push((tables.tag, KeyBuilder::new().int4(x as i32).key()));
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    let fresh_row = call.scratch.inserted[0];
    let mut new_fresh = call.txn.update(fresh_row);
    new_fresh.set_int_in(fresh::V, 1);
    new_fresh.set_bytes_in(fresh::T, b"one");
    if other == 0 {
        return Err(Stop::raised("P0001", "between"));
    }
    let fresh_row_2 = call.scratch.inserted[1];
    let mut new_fresh_2 = call.txn.update(fresh_row_2);
    new_fresh_2.set_int_in(fresh::V, 2);
    new_fresh_2.set_bytes_in(fresh::T, b"two");
    let tag_row = call.scratch.inserted[2];
    let mut new_tag = call.txn.update(tag_row);
    new_tag.set_int_in(tag::MARK, y);
    call.results.row();
    call.results.int(1);
    return Ok(());
}
