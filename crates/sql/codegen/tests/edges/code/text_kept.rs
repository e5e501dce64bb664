//! Procedure `text_kept`, line 1424 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, number};

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

/// Executes the procedure `text_kept`.
pub async fn text_kept<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<Text<8>> = None;
    let mut two: Option<Text<8>> = None;
    let mut three: Text<6> = Default::default();
    let mut kept: Option<Text<8>> = None;
    let mut padded: Text<6> = Default::default();
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((
        tables.item,
        KeyBuilder::new().int4(number::int4(number::add(known(x)?, 1)?)? as i32).key(),
    ));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item = call.txn.row(item_row);
    kept = ((!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL)))
        .map(Text::new)
        .transpose()?;
    padded.set(item.bytes_in(item::CODE))?;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(y)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_2 in item_rows.iter() {
        let mut new_item = call.txn.update(item_row_2);
        new_item.set_bytes_in(item::LABEL, b"zz");
        new_item.set_bytes_in(item::CODE, b"yy");
    }
    call.scratch.give_rows(item_rows);
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_3 = call.txn.row(item_row_3);
        two = ((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)))
            .map(Text::new)
            .transpose()?;
    } else {
        two = None;
    }
    one = kept.as_deref().map(Text::new).transpose()?;
    three.set(&padded)?;
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.text_or_null(two.as_deref());
    call.results.text(&three);
    if let Some(item_row_4) = call.scratch.found[0] {
        let mut new_item_2 = call.txn.update(item_row_4);
        match kept.as_deref() {
            Some(value) => new_item_2.set_bytes_in(item::LABEL, value),
            None => new_item_2.set_null_in(item::LABEL),
        }
        new_item_2.set_bytes_in(item::CODE, &padded);
    }
    let Some(item_row_5) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let item_5 = call.txn.row(item_row_5);
    two = ((!item_5.is_null_in(item::LABEL)).then(|| item_5.bytes_in(item::LABEL)))
        .map(Text::new)
        .transpose()?;
    three.set(item_5.bytes_in(item::CODE))?;
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.text_or_null(two.as_deref());
    call.results.text(&three);
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(y)? as i32).key(),
            &mut item_rows_2,
        )
        .await?;
    item_rows_2.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_6 in item_rows_2.iter() {
        let item_6 = call.txn.row(item_row_6);
        call.results.row();
        call.results
            .text_or_null((!item_6.is_null_in(item::LABEL)).then(|| item_6.bytes_in(item::LABEL)));
        call.results.text_or_null(kept.as_deref());
        call.results.text(item_6.bytes_in(item::CODE));
    }
    call.scratch.give_rows(item_rows_2);
    Ok(())
}
