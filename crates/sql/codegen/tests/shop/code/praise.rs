//! Procedure `praise`, line 105 of `procedures.sql`.

use super::tables::{Tables, review};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, duplicate, known, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_purchase`, integer.
    pub p_purchase: Option<i64>,
    /// `p_line`, smallint.
    pub p_line: Option<i64>,
    /// `p_stars`, smallint.
    pub p_stars: i64,
    /// `p_words`, character varying.
    pub p_words: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_purchase, p_line, p_stars, p_words] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            p_id: p_id.int4()?,
            p_purchase: p_purchase.or_null(|argument| argument.int4())?,
            p_line: p_line.or_null(|argument| argument.int2())?,
            p_stars: p_stars.int2()?,
            p_words: p_words.or_null(|argument| argument.text())?,
        })
    }
}

/// Executes the procedure `praise`.
pub async fn praise<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_purchase = arguments.p_purchase;
    let p_line = arguments.p_line;
    let p_stars = arguments.p_stars;
    let p_words = arguments.p_words;
    let words = p_words
        .map(|value| text::fitting(value, 20))
        .transpose()?
        .map(Text::<20>::new)
        .transpose()?;
    check(
        (p_stars >= 1 && p_stars <= 5)
            || !(words.as_deref().is_none()
                || words.as_deref().is_some_and(|value| *value == b"bad"[..])),
    )?;
    if let Some(purchase) = p_purchase {
        if let Some(line) = p_line {
            known(
                call.txn
                    .read(
                        tables.line,
                        &KeyBuilder::new().int4(purchase as i32).int2(line as i16).key(),
                    )
                    .await?,
            )?;
        }
    }
    let review_row = call
        .txn
        .insert(tables.review, &KeyBuilder::new().int4(p_id as i32).key())
        .await
        .map_err(|error| duplicate(error, "review_pkey", "id", &[p_id]))?;
    let mut new_review = call.txn.update(review_row);
    match p_line {
        Some(value) => new_review.set_int_in(review::LINE, value),
        None => new_review.set_null_in(review::LINE),
    }
    match p_purchase {
        Some(value) => new_review.set_int_in(review::PURCHASE, value),
        None => new_review.set_null_in(review::PURCHASE),
    }
    new_review.set_int_in(review::STARS, p_stars);
    match words.as_deref() {
        Some(value) => new_review.set_bytes_in(review::WORDS, value),
        None => new_review.set_null_in(review::WORDS),
    }
    Ok(())
}
