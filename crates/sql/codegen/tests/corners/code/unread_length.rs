//! Procedure `unread_length`, line 69 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, character varying.
    pub x: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.text()? })
    }
}

/// Executes the procedure `unread_length`.
pub async fn unread_length<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let _ = text::fitting(x, 3)?;
    call.results.row();
    call.results.int(1);
    return Ok(());
}
