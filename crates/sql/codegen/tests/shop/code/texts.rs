//! Procedure `texts`, line 159 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, Text, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_name`, character varying.
    pub p_name: &'a [u8],
    /// `p_code`, bpchar.
    pub p_code: &'a [u8],
    /// `p_list`, integer[].
    pub p_list: &'a [i64],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_name, p_code, p_list] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_name: p_name.text()?, p_code: p_code.characters()?, p_list: p_list.ints()? })
    }
}

/// Executes the procedure `texts`.
pub async fn texts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_name = arguments.p_name;
    let p_code = arguments.p_code;
    let p_list = arguments.p_list;
    let mut a_value: i64;
    let mut b_value: Text<3> = Default::default();
    let mut c: Text<131>;
    let mut d: Text<128>;
    let mut e: i64;
    a_value = number::int4(number::add(text::length(p_name), text::length(p_code))?)?;
    b_value.set(&text::upper::<3>(text::part(p_name, 2, 3)?)?)?;
    c = Text::new(&Text::<131>::of(&[
        &text::lower::<128>(p_code)?,
        b"-",
        text::right(p_name, 2)?,
    ])?)?;
    d = Text::new(text::without_last(p_name, b" "))?;
    e = number::int4(number::subtract(
        number::int4(number::add(
            ((!p_list.is_empty()).then(|| p_list.len() as i64)).unwrap_or(0),
            text::length(p_name).max(3_i64),
        )?)?,
        (if p_list.len() as i64 == 2 { None } else { Some(p_list.len() as i64) }).unwrap_or(7),
    )?)?;
    call.results.row();
    call.results.int(a_value);
    call.results.texts(&[&b_value, &c, &d]);
    call.results.int(e);
    Ok(())
}
