//! Durations and sizes of settings, with PostgreSQL's units.

use crate::error::SqlError;

/// The units of a setting.
pub(super) struct Units {
    /// With their sizes in the base unit, the largest first.
    units: &'static [(&'static str, f64)],
    base: &'static str,
    valid: &'static str,
}

/// Settings in milliseconds.
pub(super) const TIME: Units = Units {
    units: &[("d", 86_400e3), ("h", 3_600e3), ("min", 60e3), ("s", 1e3), ("ms", 1.0), ("us", 1e-3)],
    base: "ms",
    valid: "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".",
};

/// Settings in kB.
pub(super) const MEMORY: Units = Units {
    units: &[
        ("TB", 1_073_741_824.0),
        ("GB", 1_048_576.0),
        ("MB", 1_024.0),
        ("kB", 1.0),
        ("B", 1.0 / 1_024.0),
    ],
    base: "kB",
    valid: "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
};

impl Units {
    /// Reads a number in the base unit, or a number with a unit; `least` is the smallest valid
    /// number.
    pub fn read(&self, name: &str, text: &str, least: i64) -> Result<i64, SqlError> {
        let invalid = || {
            let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
            SqlError::new("22023", message)
        };
        let trimmed = text.trim();
        let is_of_number =
            |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+');
        let end = trimmed.find(|letter| !is_of_number(letter)).unwrap_or(trimmed.len());
        let number: f64 = trimmed[..end].parse().map_err(|_| invalid())?;
        let unit = match trimmed[end..].trim_start() {
            "" => self.base,
            unit => unit,
        };
        let known = self.units.iter().find(|(known, _)| *known == unit);
        let (_, factor) = known.ok_or_else(|| invalid().hint(self.valid))?;
        let number = (number * factor).round_ties_even();
        if number.abs() > f64::from(i32::MAX) {
            return Err(invalid().hint("Value exceeds integer range."));
        }
        let number = number as i64;
        if number < least {
            let message = format!(
                "{number} {} is outside the valid range for parameter \"{name}\" ({least} .. {})",
                self.base,
                i32::MAX
            );
            return Err(SqlError::new("22023", message));
        }
        Ok(number)
    }

    /// A number as `SHOW` prints it: in the largest unit that needs no fraction.
    pub fn shown(&self, number: i64) -> String {
        if number <= 0 {
            return number.to_string();
        }
        let fits = |factor: f64| factor >= 1.0 && number % factor as i64 == 0;
        let unit = self.units.iter().find(|(_, factor)| fits(*factor));
        let (unit, factor) = unit.copied().unwrap_or((self.base, 1.0));
        format!("{}{unit}", number / factor as i64)
    }
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
            assert_eq!(TIME.shown(TIME.read("a", text, 0).expect(text)), expected, "{text}");
        }
        let refused = |text| TIME.read("statement_timeout", text, 0).expect_err(text);
        let message = "-1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647)";
        assert_eq!(refused("-1").message, message);
        assert_eq!(refused("5x").hint.as_deref(), Some(TIME.valid));
        assert_eq!(refused("30d").hint.as_deref(), Some("Value exceeds integer range."));
        assert_eq!(
            refused("soon").message,
            "invalid value for parameter \"statement_timeout\": \"soon\""
        );
        assert_eq!(TIME.shown(TIME.read("a", "-1", -1).expect("it is allowed")), "-1");
    }
    #[test]
    fn sizes_are_read_and_shown_as_in_postgresql() {
        let cases = [
            ("4096", "4MB"),
            ("64kB", "64kB"),
            ("1GB", "1GB"),
            ("1.5 MB", "1536kB"),
            ("65536B", "64kB"),
        ];
        for (text, expected) in cases {
            assert_eq!(MEMORY.shown(MEMORY.read("a", text, 64).expect(text)), expected, "{text}");
        }
        let refused = |text| MEMORY.read("work_mem", text, 64).expect_err(text);
        let message =
            "16 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)";
        assert_eq!(refused("16kB").message, message);
        assert_eq!(refused("1s").hint.as_deref(), Some(MEMORY.valid));
    }
}
