//! Procedure `least_sum`, line 1088 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `of_i`, integer.
    pub of_i: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, of_i] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, of_i: of_i.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `least_sum`.
pub async fn least_sum<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    let mut one: Option<i64> = None;
    let mut two: Option<i64> = None;
    let mut least = None::<i64>;
    let mut greatest = None::<i64>;
    let mut cell_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.cell),
        low: KeyBuilder::new().int4(of_g as i32).prefix_low(1),
        high: KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut cell_rows).await?;
    for &cell_row in cell_rows.iter() {
        let cell = call.txn.row(cell_row);
        let value = number::int4(number::add(
            cell.int_in(cell::Q),
            known((!cell.is_null_in(cell::R)).then(|| cell.int_in(cell::R)))?,
        )?)?;
        least = Some(least.map_or(value, |v: i64| v.min(value)));
        let value = number::int4(number::divide(
            cell.int_in(cell::Q),
            number::int4(number::subtract(
                known((!cell.is_null_in(cell::R)).then(|| cell.int_in(cell::R)))?,
                3,
            )?)?,
        )?)?;
        greatest = Some(greatest.map_or(value, |v: i64| v.max(value)));
    }
    call.scratch.give_rows(cell_rows);
    one = least;
    two = greatest;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    Ok(())
}
