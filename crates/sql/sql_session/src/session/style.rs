//! The settings that say how values are read and written.
//!
//! Decision: docs/decisions/0345-values-are-written-in-the-style-of-a-session.md

use super::settings::{Settings, invalid};
use crate::error::SqlError;
use sql_value::style::Style;
use sql_value::zone::Zone;
use std::sync::Arc;

/// The range of `extra_float_digits`.
const FLOAT_DIGITS: std::ops::RangeInclusive<i32> = -15..=3;

/// The value of such a setting as it is shown afterwards; `None` if it is another setting.
pub(super) fn accepted(
    lower: &str,
    value: &str,
    settings: &Settings,
) -> Result<Option<String>, SqlError> {
    let refuse = || invalid(lower, value);
    Ok(Some(match lower {
        "timezone" => zone(value).ok_or_else(refuse)?.name().to_owned(),
        "datestyle" => date_style(value, settings.get("datestyle").unwrap_or_default())?,
        "intervalstyle" => match &*value.to_lowercase() {
            "postgres" => "postgres".to_owned(),
            "postgres_verbose" | "sql_standard" | "iso_8601" => {
                let message = "intervals are written in the style \"postgres\" only";
                return Err(SqlError::unsupported(message));
            }
            _ => return Err(refuse().hint(INTERVAL_STYLES)),
        },
        "bytea_output" => match &*value.to_lowercase() {
            known @ ("hex" | "escape") => known.to_owned(),
            _ => return Err(refuse().hint("Available values: escape, hex.")),
        },
        "extra_float_digits" => {
            let digits: i32 = value.trim().parse().map_err(|_| refuse())?;
            if !FLOAT_DIGITS.contains(&digits) {
                let message = format!(
                    "{digits} is outside the valid range for parameter \"{lower}\" (-15 .. 3)"
                );
                return Err(SqlError::new("22023", message));
            }
            digits.to_string()
        }
        _ => return Ok(None),
    }))
}

const INTERVAL_STYLES: &str =
    "Available values: postgres, postgres_verbose, sql_standard, iso_8601.";

/// A number counts hours east of Greenwich; everything else is a name.
fn zone(value: &str) -> Option<Zone> {
    match value.trim().parse::<f64>() {
        Ok(hours) if hours.is_finite() => Zone::east((hours * 3600.0) as i64),
        _ => Zone::named(value),
    }
}

/// Dates are written in ISO's form, and read with the year in front: the order of day and month
/// makes no difference to the dates that are understood.
fn date_style(value: &str, before: &str) -> Result<String, SqlError> {
    let mut order = before.rsplit(' ').next().unwrap_or("MDY").to_owned();
    for word in value.split(',').map(|word| word.trim().to_lowercase()) {
        match &*word {
            "iso" => {}
            "mdy" | "us" | "noneuropean" | "noneuro" => order = "MDY".to_owned(),
            "dmy" | "euro" | "european" => order = "DMY".to_owned(),
            "ymd" => order = "YMD".to_owned(),
            "sql" | "postgres" | "german" => {
                let message = "dates are written in the style \"ISO\" only";
                return Err(SqlError::unsupported(message));
            }
            _ => {
                let error = invalid("datestyle", value);
                return Err(error.detail(format!("Unrecognized key word: \"{word}\".")));
            }
        }
    }
    Ok(format!("ISO, {order}"))
}

/// The style that the settings make; `None` is the default.
pub(super) fn style(settings: &Settings) -> Option<Arc<Style>> {
    let get = |name| settings.get(name).unwrap_or_default();
    let zone = get("timezone");
    let style = Style {
        // Other names of UTC are zones of the database.
        zone: (zone != "UTC").then(|| Zone::named(zone)).flatten(),
        escapes_bytes: get("bytea_output") == "escape",
        float_digits: get("extra_float_digits").parse().unwrap_or(1).min(1),
    };
    (style != Style::default()).then(|| Arc::new(style))
}
