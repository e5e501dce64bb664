//! Procedure `wish_again`, line 235 of `procedures.sql`.

use super::tables::{Tables, visit, wish};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// `p_strength`, smallint.
    pub p_strength: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_customer, p_strength] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_customer: p_customer.int4()?,
            p_strength: p_strength.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `wish_again`.
pub async fn wish_again<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let p_strength = arguments.p_strength;
    let mut found_sku: Text<6> = Default::default();
    let mut added: i64;
    added = 0;
    let mut visit_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.visit_by_visit_customer,
            &KeyBuilder::new().unsigned(0, 1).int4(p_customer as i32).key(),
            &mut visit_rows,
        )
        .await?;
    visit_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(left.bytes_in(visit::SKU), right.bytes_in(visit::SKU))
    });
    let mut rest = visit_rows.as_slice();
    while let Some(&visit_row) = rest.first() {
        let alike = rest
            .iter()
            .take_while(|&&b| {
                let (left, right) = (call.txn.row(visit_row), call.txn.row(b));
                *left.bytes_in(visit::SKU) == *right.bytes_in(visit::SKU)
            })
            .count();
        rest = &rest[alike..];
        let visit = call.txn.row(visit_row);
        found_sku.set(visit.bytes_in(visit::SKU))?;
        check(p_strength < 10)?;
        // The rows that it refers to are read together.
        call.scratch.reads.clear();
        call.scratch.reads.push((tables.customer, KeyBuilder::new().int4(p_customer as i32).key()));
        call.scratch.reads.push((tables.product, KeyBuilder::new().padded(&found_sku, 6).key()));
        let mut referred_to = call.scratch.take_found();
        call.txn
            .read_columns(&call.scratch.reads, &[tables.columns_of_customer], &mut referred_to)
            .await?;
        check(referred_to.iter().all(Option::is_some))?;
        call.scratch.give_found(referred_to);
        let wish_row = call
            .txn
            .insert(
                tables.wish,
                &KeyBuilder::new().int4(p_customer as i32).padded(&found_sku, 6).key(),
            )
            .await?;
        let mut new_wish = call.txn.update(wish_row);
        new_wish.set_int_in(wish::STRENGTH, p_strength);
        added = number::int4(number::add(added, 1)?)?;
    }
    call.scratch.give_rows(visit_rows);
    call.results.row();
    call.results.int(added);
    return Ok(());
}
