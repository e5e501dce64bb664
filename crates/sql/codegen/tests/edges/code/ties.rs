//! Procedure `ties`, line 686 of `procedures.sql`.

use super::tables::{Tables, acct};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, known, number};
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

/// Executes the procedure `ties`.
pub async fn ties<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut found_id: i64;
    let mut found_kind: i64;
    let mut kept: i64;
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
    acct_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&right.int_in(acct::KIND), &left.int_in(acct::KIND))
            .then_with(|| Ord::cmp(&right.int_in(acct::ID), &left.int_in(acct::ID)))
    });
    for &acct_row in acct_rows.iter().take(count(known(y)?)?) {
        let acct = call.txn.row(acct_row);
        call.results.row();
        call.results.int(acct.int_in(acct::ID));
        call.results.int(acct.int_in(acct::KIND));
    }
    call.scratch.give_rows(acct_rows);
    let mut acct_rows_2 = call.scratch.take_rows();
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
    call.txn.scan(&range, &mut acct_rows_2).await?;
    acct_rows_2.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(
            &((!right.is_null_in(acct::FEE)).then(|| right.int_in(acct::FEE))),
            &((!left.is_null_in(acct::FEE)).then(|| left.int_in(acct::FEE))),
        )
        .then_with(|| Ord::cmp(&left.int_in(acct::ID), &right.int_in(acct::ID)))
    });
    let acct_row_2 = acct_rows_2.iter().take(count(1)?).next().copied();
    call.scratch.give_rows(acct_rows_2);
    let Some(acct_row_2) = acct_row_2 else {
        return Err(Stop::Deviates);
    };
    let acct_2 = call.txn.row(acct_row_2);
    kept = acct_2.int_in(acct::ID);
    found_id = kept;
    let mut acct_rows_3 = call.scratch.take_rows();
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
    call.txn.scan(&range, &mut acct_rows_3).await?;
    acct_rows_3.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(
            &((!left.is_null_in(acct::FEE)).then(|| left.int_in(acct::FEE))),
            &((!right.is_null_in(acct::FEE)).then(|| right.int_in(acct::FEE))),
        )
        .then_with(|| Ord::cmp(&left.int_in(acct::ID), &right.int_in(acct::ID)))
    });
    let acct_row_3 = acct_rows_3.iter().take(count(1)?).next().copied();
    call.scratch.give_rows(acct_rows_3);
    let Some(acct_row_3) = acct_row_3 else {
        return Err(Stop::Deviates);
    };
    let acct_3 = call.txn.row(acct_row_3);
    kept = acct_3.int_in(acct::ID);
    found_kind = acct_3.int_in(acct::KIND);
    found_id = number::int4(number::add(number::int4(number::multiply(found_id, 100)?)?, kept)?)?;
    call.results.row();
    call.results.int(found_id);
    call.results.int(found_kind);
    Ok(())
}
