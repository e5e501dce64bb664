//! Procedure `item_joined`, line 1179 of `procedures.sql`.

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

/// Executes the procedure `item_joined`.
pub async fn item_joined<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut kept: Option<Text<8>> = None;
    let mut other: Text<3> = Default::default();
    let mut padded: Text<6> = Default::default();
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
    other.set(text::left(known(kept.as_deref())?, 3)?)?;
    text::set(
        &mut kept,
        text::fitting(&Text::<11>::of(&[&other, b"<", text::left(&padded, known(y)?)?, b"z"])?, 8)?,
    )?;
    let mut is_found = false;
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_2 = call.txn.row(item_row_2);
        if ((!item_2.is_null_in(item::LABEL)).then(|| item_2.bytes_in(item::LABEL)))
            .zip(kept.as_deref())
            .is_some_and(|(left, right)| *left != *right)
        {
            let mut new_item = call.txn.update(item_row_2);
            match kept.as_deref() {
                Some(value) => new_item.set_bytes_in(item::LABEL, value),
                None => new_item.set_null_in(item::LABEL),
            }
            is_found = true;
        }
    }
    if is_found {
    } else {
        text::set(&mut kept, &padded)?;
    }
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let code = Text::<4>::new(text::trimmed(&Text::<4>::of(&[&other, b"!"])?))?;
        let mut new_item_2 = call.txn.update(item_row_3);
        new_item_2.set_bytes_in(item::LABEL, &other);
        new_item_2.set_bytes_in(item::CODE, &code);
    }
    call.results.row();
    call.results.text(&Text::<16>::of(&[known(kept.as_deref())?, b"|", &padded, b"|"])?);
    return Ok(());
}
