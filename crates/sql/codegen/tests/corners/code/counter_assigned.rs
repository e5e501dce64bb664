//! Procedure `counter_assigned`, line 201 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `step`, integer.
    pub step: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [step] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { step: step.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `counter_assigned`.
pub async fn counter_assigned<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let step = arguments.step;
    let mut total: i64;
    total = 0;
    for mut i in 1..=5 {
        i = number::int4(number::multiply(i, step)?)?;
        total = number::int4(number::add(total, i)?)?;
    }
    call.results.row();
    call.results.int(total);
    return Ok(());
}
