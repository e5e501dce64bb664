//! Procedure `logic`, line 753 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// `flag`, boolean.
    pub flag: Option<bool>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, flag] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            flag: flag.or_null(|argument| argument.bool())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `logic`.
pub async fn logic<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let flag = arguments.flag;
    let mut one: i64;
    let mut two: Option<i64> = None;
    let mut three: bool;
    let mut four: Option<i64> = None;
    one = if x.is_some_and(|value| value == 1)
        || x.zip(y).is_some_and(|(left, right)| left == right)
        || x.is_some_and(|value| value == 3)
    {
        1
    } else if x.is_some_and(|value| value != 5)
        && x.zip(y).is_some_and(|(left, right)| left != right)
    {
        2
    } else {
        3
    };
    two = if x.zip(y).is_some_and(|(left, right)| left >= right)
        && x.is_some_and(|value| value <= 4)
    {
        Some(1)
    } else if !(flag != Some(false)) {
        Some(2)
    } else if flag != Some(false) {
        Some(3)
    } else {
        None
    };
    three = (known(flag)? || (known(x)? > known(y)?)) == ((known(x)? < 4) && (known(y)? > 1));
    if flag == Some(true) && x.is_some_and(|value| value > 2) {
        four = Some(1);
    } else if !(flag != Some(false)) || x.zip(y).is_some_and(|(left, right)| left < right) {
        four = Some(2);
    }
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int(i64::from(three));
    call.results.int_or_null(four);
    Ok(())
}
