//! Procedure `whole_row`, line 371 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `whole_row`.
pub async fn whole_row<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    if let Some(wide_row) =
        call.txn.read(tables.wide, &KeyBuilder::new().int4(x as i32).key()).await?
    {
        let wide = call.txn.row(wide_row);
        call.results.row();
        call.results.int(wide.int_in(wide::K));
        call.results.int(wide.int_in(wide::A));
        call.results.int_or_null((!wide.is_null_in(wide::B)).then(|| wide.int_in(wide::B)));
        call.results.texts(&[wide.bytes_in(wide::T), wide.bytes_in(wide::PAD)]);
        call.results.int(wide.int_in(wide::Z));
        call.results
            .text_or_null((!wide.is_null_in(wide::TAIL)).then(|| wide.bytes_in(wide::TAIL)));
    }
    Ok(())
}
