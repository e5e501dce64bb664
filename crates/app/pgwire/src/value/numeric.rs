//! The binary format of `numeric`: digits of base 10,000 with their weight, a sign and the number
//! of decimal places [PostgreSQL 15, `numeric_send`].

use crate::error::{Result, SqlError, error, sqlstate};
use sql_value::Decimal;
use sql_value::numeric::DIGITS_MAX;

/// Decimal digits per digit of the format.
const GROUP: usize = 4;
const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;
/// Sign bits of NaN and the infinities.
const SPECIAL: u16 = 0x8000;
/// More digits than any value has, rounded up to whole groups on both sides of the point.
const DIGITS: usize = 48;

/// Appends the number.
pub fn encode(number: Decimal, buffer: &mut Vec<u8>) {
    let (units, scale) = (number.units, usize::from(number.scale));
    // Digits left to right, with the point between two groups.
    let places = scale.next_multiple_of(GROUP);
    let mut digits = [0u8; 2 * DIGITS];
    let point = digits.len() - places;
    let mut left = units.unsigned_abs();
    let mut at = point + scale;
    while left > 0 {
        at -= 1;
        digits[at] = (left % 10) as u8;
        left /= 10;
    }
    let value = |group: &[u8]| group.iter().fold(0, |sum, digit| 10 * sum + i16::from(*digit));
    let groups = digits.chunks_exact(GROUP).map(value);
    let mut groups: Vec<i16> = groups.collect();
    let first = groups.iter().position(|group| *group != 0).unwrap_or(groups.len());
    let end = groups.iter().rposition(|group| *group != 0).map_or(first, |last| last + 1);
    groups.truncate(end);
    let weight = if first == end { 0 } else { (point / GROUP) as i16 - 1 - first as i16 };
    let sign = if units < 0 { NEGATIVE } else { POSITIVE };
    buffer.extend_from_slice(&((end - first) as i16).to_be_bytes());
    buffer.extend_from_slice(&weight.to_be_bytes());
    buffer.extend_from_slice(&sign.to_be_bytes());
    buffer.extend_from_slice(&(scale as i16).to_be_bytes());
    groups[first..].iter().for_each(|group| buffer.extend_from_slice(&group.to_be_bytes()));
}

/// Reads a number.
pub fn decode(bytes: &[u8]) -> Result<Decimal> {
    let (header, digits) = bytes.split_at_checked(8).ok_or_else(invalid)?;
    let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (count, weight, sign, scale) = (field(0), field(2) as i16, field(4), field(6));
    if digits.len() != 2 * usize::from(count)
        || !matches!(sign, POSITIVE | NEGATIVE | 0xc000 | 0xd000 | 0xf000)
    {
        return Err(invalid());
    }
    if sign & SPECIAL != 0 {
        let message = "NaN and infinite values of type numeric are not supported";
        return Err(error(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let scale = u8::try_from(scale).ok().filter(|scale| u32::from(*scale) <= DIGITS_MAX);
    let scale = scale.ok_or_else(too_wide)?;
    let mut units: i128 = 0;
    for (index, digit) in digits.chunks_exact(2).enumerate() {
        let digit = i128::from(u16::from_be_bytes([digit[0], digit[1]]));
        if digit >= 10_000 {
            return Err(invalid());
        }
        // The power of ten of the digit's last place, in units of the scale.
        let power = GROUP as i32 * (i32::from(weight) - index as i32) + i32::from(scale);
        let part = match u32::try_from(power) {
            Ok(_) if digit == 0 => Some(0),
            Ok(power) => 10i128.checked_pow(power).and_then(|power| digit.checked_mul(power)),
            // Places beyond the scale are cut, as in PostgreSQL.
            Err(_) => Some(10i128.checked_pow(power.unsigned_abs()).map_or(0, |cut| digit / cut)),
        };
        units = part.and_then(|part| units.checked_add(part)).ok_or_else(too_wide)?;
    }
    if units >= 10i128.pow(DIGITS_MAX) {
        return Err(too_wide());
    }
    Ok(Decimal::new(if sign == NEGATIVE { -units } else { units }, scale))
}

fn invalid() -> SqlError {
    error(sqlstate::INVALID_BINARY, "invalid digits in external \"numeric\" value")
}

fn too_wide() -> SqlError {
    error(sqlstate::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
        .detail(format!("A numeric has at most {DIGITS_MAX} digits here."))
}
