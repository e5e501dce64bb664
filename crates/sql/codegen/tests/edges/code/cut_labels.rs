//! Procedure `cut_labels`, line 1477 of `procedures.sql`.

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

/// Executes the procedure `cut_labels`.
pub async fn cut_labels<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        let label = Text::<4>::new(&Text::<4>::of(&[
            text::left(
                known(((!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL))))?,
                2,
            )?,
            b"-",
            text::left(&text::number(known(y)?, 0), 1)?,
        ])?)?;
        let mut new_item = call.txn.update(item_row);
        new_item.set_bytes_in(item::LABEL, &label);
    }
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_2 = call.txn.row(item_row_2);
        call.results.row();
        call.results.int(item_2.int_in(item::ID));
        call.results.text_or_null(
            ((!item_2.is_null_in(item::LABEL)).then(|| item_2.bytes_in(item::LABEL)))
                .map(|value| text::left(value, 3))
                .transpose()?,
        );
        call.results.int(text::length(text::left(
            known(((!item_2.is_null_in(item::LABEL)).then(|| item_2.bytes_in(item::LABEL))))?,
            2,
        )?));
    }
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(y)? as i32).key()).await?
    {
        let item_3 = call.txn.row(item_row_3);
        if *text::left(
            known(((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL))))?,
            2,
        )? == b"ab"[..]
        {
            let item_3 = call.txn.row(item_row_3);
            call.results.row();
            call.results.int(item_3.int_in(item::ID));
            call.results.text_or_null(
                ((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)))
                    .map(|value| text::left(value, 1))
                    .transpose()?,
            );
            call.results.int(text::length(text::left(item_3.bytes_in(item::CODE), 2)?));
        }
    }
    Ok(())
}
