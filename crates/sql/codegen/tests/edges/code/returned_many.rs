//! Procedure `returned_many`, line 173 of `procedures.sql`.

use super::tables::{Tables, acct};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, number};
use txn::{Scan, ScanSource};

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

/// Executes the procedure `returned_many`.
pub async fn returned_many<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut acct_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Index(tables.acct_by_acct_grp),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new()
            .int4(known(x)? as i32)
            .int4(number::int4(number::subtract(40, 1)?)? as i32)
            .prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut acct_rows).await?;
    for &acct_row in acct_rows.iter() {
        let acct = call.txn.row(acct_row);
        let bal = number::digits(
            number::add(acct.int_in(acct::BAL), number::rescale(known(y)?, 0, 2)?)?,
            8,
        )?;
        let note = Text::<8>::new(acct.bytes_in(acct::NAME))?;
        let mut new_acct = call.txn.update(acct_row);
        new_acct.set_int_in(acct::BAL, bal);
        new_acct.set_bytes_in(acct::NOTE, &note);
        let acct = call.txn.row(acct_row);
        call.results.row();
        call.results.int(acct.int_in(acct::ID));
        call.results.decimal(number::multiply(acct.int_in(acct::BAL), 2)?, 2);
        call.results.text(acct.bytes_in(acct::NAME));
    }
    call.scratch.give_rows(acct_rows);
    Ok(())
}
