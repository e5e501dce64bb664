//! Procedure `kept_of_last`, line 775 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `kept_of_last`.
pub async fn kept_of_last<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one_a: i64;
    let mut one_v: Option<i64> = None;
    let mut total: i64;
    total = 0;
    for i in 0..=known(y)? {
        let Some(pair_row) = call
            .txn
            .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(i as i32).key())
            .await?
        else {
            return Err(Stop::Deviates);
        };
        let pair = call.txn.row(pair_row);
        one_a = pair.int_in(pair::A);
        one_v = (!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V));
        if false {
            total = number::int4(number::add(total, 100)?)?;
        } else {
            total = number::int4(number::add(
                total,
                number::int4(number::modulo(one_v.unwrap_or(1), 10)?)?,
            )?)?;
        }
        if i > 5 {
            break;
        }
    }
    call.results.row();
    call.results.int(total);
    return Ok(());
}
