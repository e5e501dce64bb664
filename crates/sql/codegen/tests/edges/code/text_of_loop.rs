//! Procedure `text_of_loop`, line 1441 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, text};

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

/// Executes the procedure `text_of_loop`.
pub async fn text_of_loop<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<Text<8>> = None;
    let mut two: Option<Text<8>> = None;
    let mut three: Option<i64> = None;
    let mut kept: Option<Text<8>> = None;
    let mut seen_id: i64;
    let mut seen_label: Option<Text<8>> = None;
    let mut seen_code: Text<6> = Default::default();
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
        let item = call.txn.row(item_row);
        seen_id = item.int_in(item::ID);
        seen_label = ((!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL)))
            .map(Text::new)
            .transpose()?;
        seen_code.set(item.bytes_in(item::CODE))?;
        one = kept.as_deref().map(Text::new).transpose()?;
        kept = seen_label.as_deref().map(Text::new).transpose()?;
        text::set(&mut two, text::left(&seen_code, 2)?)?;
        three = Some(seen_id);
        call.results.row();
        call.results.text_or_null(one.as_deref());
        call.results.text_or_null(two.as_deref());
        call.results.int_or_null(three);
    }
    call.scratch.give_rows(item_rows);
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(three)? as i32).key()).await?
    {
        let mut new_item = call.txn.update(item_row_2);
        new_item.set_bytes_in(item::LABEL, b"loop");
    }
    two = kept.as_deref().map(Text::new).transpose()?;
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(three)? as i32).key()).await?
    {
        let item_3 = call.txn.row(item_row_3);
        one = ((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)))
            .map(Text::new)
            .transpose()?;
    } else {
        one = None;
    }
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.text_or_null(two.as_deref());
    call.results.int_or_null(three);
    if let Some(item_row_4) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(y)? as i32).key()).await?
    {
        let mut new_item_2 = call.txn.update(item_row_4);
        match two.as_deref() {
            Some(value) => new_item_2.set_bytes_in(item::LABEL, value),
            None => new_item_2.set_null_in(item::LABEL),
        }
    }
    if let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(y)? as i32).key()).await?
    {
        let item_5 = call.txn.row(item_row_5);
        one = ((!item_5.is_null_in(item::LABEL)).then(|| item_5.bytes_in(item::LABEL)))
            .map(Text::new)
            .transpose()?;
    } else {
        one = None;
    }
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.text_or_null(two.as_deref());
    call.results.int_or_null(three);
    Ok(())
}
