//! Procedure `item_of_groups`, line 1276 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.or_null(|argument| argument.int4())?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `item_of_groups`.
pub async fn item_of_groups<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut found_id: i64;
    let mut inner_id: Option<i64> = None;
    let mut counted: Option<i64> = None;
    let mut found = false;
    let mut one_id: i64;
    let mut one_tag: i64;
    let mut two_id: i64;
    let mut two_grp: Option<i64> = None;
    let mut has_begun = false;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    item_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row in item_rows.iter() {
        has_begun = true;
        let item = call.txn.row(item_row);
        one_id = item.int_in(item::ID);
        one_tag = item.int_in(item::TAG);
        found_id = one_id;
        inner_id = None;
        let mut has_begun_2 = false;
        let mut item_rows_2 = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.item_by_item_grp,
                &KeyBuilder::new().unsigned(0, 1).int4(one_tag as i32).key(),
                &mut item_rows_2,
            )
            .await?;
        item_rows_2.sort_by(|&a, &b| {
            let (left, right) = (call.txn.row(a), call.txn.row(b));
            Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
        });
        for &item_row_2 in item_rows_2.iter() {
            has_begun_2 = true;
            let item_2 = call.txn.row(item_row_2);
            two_id = item_2.int_in(item::ID);
            two_grp = (!item_2.is_null_in(item::GRP)).then(|| item_2.int_in(item::GRP));
            inner_id = Some(two_id);
            let mut counted_2 = 0_i64;
            let mut item_rows_3 = call.scratch.take_rows();
            call.txn
                .lookup(
                    tables.item_by_item_grp,
                    &KeyBuilder::new().unsigned(0, 1).int4(known(two_grp)? as i32).key(),
                    &mut item_rows_3,
                )
                .await?;
            for &item_row_3 in item_rows_3.iter() {
                counted_2 += 1;
            }
            call.scratch.give_rows(item_rows_3);
            counted = Some(counted_2);
            found = true;
        }
        call.scratch.give_rows(item_rows_2);
        found = has_begun_2;
        if !found {
            counted = Some(-1);
        }
        call.results.row();
        call.results.int(found_id);
        call.results.int_or_null(inner_id);
        call.results.int_or_null(counted);
    }
    call.scratch.give_rows(item_rows);
    found = has_begun;
    if !found {
        return Err(Stop::raised("P0001", "nothing"));
    }
    Ok(())
}
