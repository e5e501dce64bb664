//! Durations of settings, with PostgreSQL's units.

use crate::error::SqlError;

/// Units with their microseconds, the largest first.
const UNITS: [(&str, f64); 6] =
    [("d", 86_400e6), ("h", 3_600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3), ("us", 1.0)];
const VALID_UNITS: &str =
    "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";

/// Reads a number of milliseconds, or a number with a unit; `least` is the smallest valid number.
pub(super) fn read(name: &str, text: &str, least: i64) -> Result<i64, SqlError> {
    let invalid = || {
        let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
        SqlError::new("22023", message)
    };
    let trimmed = text.trim();
    let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+');
    let end = trimmed.find(|letter| !is_of_number(letter)).unwrap_or(trimmed.len());
    let number: f64 = trimmed[..end].parse().map_err(|_| invalid())?;
    let unit = trimmed[end..].trim_start();
    let unit = match unit {
        "" => "ms",
        unit => unit,
    };
    let known = UNITS.iter().find(|(known, _)| *known == unit);
    let (_, factor) = known.ok_or_else(|| invalid().hint(VALID_UNITS))?;
    let milliseconds = (number * factor / 1e3).round_ties_even();
    if milliseconds.abs() > f64::from(i32::MAX) {
        return Err(invalid().hint("Value exceeds integer range."));
    }
    let milliseconds = milliseconds as i64;
    if milliseconds < least {
        let message = format!(
            "{milliseconds} ms is outside the valid range for parameter \"{name}\" ({least} .. {})",
            i32::MAX
        );
        return Err(SqlError::new("22023", message));
    }
    Ok(milliseconds)
}

/// A number of milliseconds as `SHOW` prints it: in the largest unit that needs no fraction.
pub(super) fn shown(milliseconds: i64) -> String {
    if milliseconds <= 0 {
        return milliseconds.to_string();
    }
    let fits = |factor: f64| milliseconds % (factor / 1e3) as i64 == 0;
    let unit = UNITS.iter().find(|(_, factor)| *factor >= 1e3 && fits(*factor));
    let (unit, factor) = unit.unwrap_or(&("ms", 1e3));
    format!("{}{unit}", milliseconds / (factor / 1e3) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_as_in_postgresql() {
        let cases = [
            ("0", "0"),
            ("250", "250ms"),
            ("5000", "5s"),
            ("5s", "5s"),
            (" 90 s ", "90s"),
            ("60s", "1min"),
            ("1.5s", "1500ms"),
            ("1500us", "2ms"),
            ("100us", "0"),
            ("2min", "2min"),
            ("36h", "36h"),
            ("1d", "1d"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(read("a", text, 0).expect(text)), expected, "{text}");
        }
        let refused = |text| read("statement_timeout", text, 0).expect_err(text);
        let message = "-1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647)";
        assert_eq!(refused("-1").message, message);
        assert_eq!(refused("5x").hint.as_deref(), Some(VALID_UNITS));
        assert_eq!(refused("30d").hint.as_deref(), Some("Value exceeds integer range."));
        assert_eq!(
            refused("soon").message,
            "invalid value for parameter \"statement_timeout\": \"soon\""
        );
        assert_eq!(shown(read("a", "-1", -1).expect("it is allowed")), "-1");
    }
}
