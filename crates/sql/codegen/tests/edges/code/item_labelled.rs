//! Procedure `item_labelled`, line 1143 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `t`, character varying.
    pub t: Option<&'a [u8]>,
    /// `c`, bpchar.
    pub c: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, t, c] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            t: t.or_null(|argument| argument.text())?,
            c: c.or_null(|argument| argument.characters())?,
        })
    }
}

/// Executes the procedure `item_labelled`.
pub async fn item_labelled<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let t = arguments.t;
    let c = arguments.c;
    let mut one: Option<Text<8>> = None;
    let mut two: bool;
    let mut three: bool;
    let mut four: bool;
    let mut kept: Option<Text<8>> = None;
    let mut padded: Text<6> = Default::default();
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let label = Text::<7>::new(text::left(known(t)?, 7)?)?;
        let code = Text::<6>::new(text::fitting(known(c)?, 6)?)?;
        let mut new_item = call.txn.update(item_row);
        new_item.set_bytes_in(item::LABEL, &label);
        new_item.set_bytes_in(item::CODE, &code);
    }
    let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item_2 = call.txn.row(item_row_2);
    kept = ((!item_2.is_null_in(item::LABEL)).then(|| item_2.bytes_in(item::LABEL)))
        .map(Text::new)
        .transpose()?;
    padded.set(item_2.bytes_in(item::CODE))?;
    one = kept.as_deref().map(Text::new).transpose()?;
    two = *padded == *known(c)?;
    three = *known(kept.as_deref())? == *known(t)?;
    four = (*padded == b"ab"[..]) || (*known(kept.as_deref())? == b"ab "[..]);
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.int(i64::from(two));
    call.results.int(i64::from(three));
    call.results.int(i64::from(four));
    text::set(&mut kept, &padded)?;
    one = kept.as_deref().map(Text::new).transpose()?;
    two = *text::trimmed(known(kept.as_deref())?) < *padded;
    three = *padded != b"x"[..];
    four = t.is_none();
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.int(i64::from(two));
    call.results.int(i64::from(three));
    call.results.int(i64::from(four));
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
    for &item_row_3 in item_rows.iter() {
        let item_3 = call.txn.row(item_row_3);
        call.results.row();
        call.results
            .text_or_null((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)));
        call.results.int(i64::from(
            *known((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)))?
                == *known(t)?,
        ));
        call.results.int(i64::from(*item_3.bytes_in(item::CODE) == *known(c)?));
        call.results.int(i64::from(*item_3.bytes_in(item::CODE) > b"b"[..]));
    }
    call.scratch.give_rows(item_rows);
    if let Some(item_row_4) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let mut new_item_2 = call.txn.update(item_row_4);
        new_item_2.set_null_in(item::LABEL);
        new_item_2.set_bytes_in(item::CODE, b"");
    }
    let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item_5 = call.txn.row(item_row_5);
    one = ((!item_5.is_null_in(item::LABEL)).then(|| item_5.bytes_in(item::LABEL)))
        .map(Text::new)
        .transpose()?;
    two = *item_5.bytes_in(item::CODE) == b""[..];
    three = *item_5.bytes_in(item::CODE) == b""[..];
    call.results.row();
    call.results.text_or_null(one.as_deref());
    call.results.int(i64::from(two));
    call.results.int(i64::from(three));
    call.results.int(i64::from(four));
    Ok(())
}
