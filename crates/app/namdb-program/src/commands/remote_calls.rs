//! The option `--remote-calls` of `namdb bench`: how many calls come to a machine that does not own
//! their rows.
//!
//! Decision: docs/decisions/0277-calls-are-at-home-on-real-clusters-as-on-simulated-ones.md

use spade_format::design::REMOTE_CALLS;

/// The value for calls that ignore the owner.
const ANYWHERE: &str = "anywhere";

/// The origin of calls whose arguments determine the owner of their rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RemoteCalls {
    /// The machine that owns the rows, except for this share of the calls.
    Share(f64),
    /// Any machine, as drawn.
    Anywhere,
}

impl Default for RemoteCalls {
    /// The share that forecasts assume.
    fn default() -> Self {
        Self::Share(REMOTE_CALLS)
    }
}

/// Parses a percentage, or `anywhere`.
pub fn parse_remote_calls(text: &str) -> Result<RemoteCalls, String> {
    if text.trim() == ANYWHERE {
        return Ok(RemoteCalls::Anywhere);
    }
    let percent = parse_percent(text).map_err(|said| format!("{said} or `{ANYWHERE}`"))?;
    Ok(RemoteCalls::Share(percent / 100.0))
}

pub fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("{text:?} is not a number from 0 to 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_none_at_all() {
        assert_eq!(parse_remote_calls("25"), Ok(RemoteCalls::Share(0.25)));
        assert_eq!(parse_remote_calls("anywhere"), Ok(RemoteCalls::Anywhere));
        let said = parse_remote_calls("nowhere").expect_err("that is no share");
        assert_eq!(said, "\"nowhere\" is not a number from 0 to 100 or `anywhere`");
        assert_eq!(RemoteCalls::default(), RemoteCalls::Share(0.1));
    }

    #[test]
    fn percents_are_between_nothing_and_all() {
        assert_eq!(parse_percent("12.5"), Ok(12.5));
        for wrong in ["-1", "101", "ten", "NaN"] {
            assert!(parse_percent(wrong).is_err_and(|said| said.contains("0 to 100")), "{wrong}");
        }
    }
}
