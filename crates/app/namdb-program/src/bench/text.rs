//! Numbers as text for people: grouped digits, short units.

/// Groups digits: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a rate: grouped digits from 100 on, one decimal below.
pub fn rate(per_second: f64) -> String {
    if per_second < 99.95 {
        return format!("{per_second:.1}");
    }
    grouped(per_second.round() as u64)
}

/// Formats a duration with three digits and its unit: `12.3 us`.
pub fn duration_us(microseconds: f64) -> String {
    let (value, unit) = match microseconds {
        value if value < 999.5 => (value, "us"),
        value if value < 999_500.0 => (value / 1e3, "ms"),
        value => (value / 1e6, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats bytes with three digits and a binary unit: `12.3 MiB`.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().expect("there are five");
    for larger in units {
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{} {unit}", three_digits(value)),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A number with its noun in the singular or the plural: `1 thread`, `2 threads`.
pub fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(count))
}

/// Describes a table with this many parts or copies; `None` if it is whole.
pub fn parts(parts: u32, copies: u32) -> Option<String> {
    match (parts, copies) {
        (..=1, ..=1) => None,
        (..=1, copies) => Some(format!("in {copies} copies")),
        (parts, _) => Some(format!("in {parts} parts")),
    }
}

/// Wraps a sentence at `columns`; only a longer word exceeds it. A number stays with the next word,
/// which may be its unit.
pub fn wrapped(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut words = sentence.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut part = word.to_owned();
        if is_number(word)
            && let Some(unit) = words.next_if(|unit| 1 + part.len() + unit.len() <= columns)
        {
            part = format!("{part} {unit}");
        }
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            *line = part;
        } else if line.len() + 1 + part.len() <= columns {
            line.push(' ');
            line.push_str(&part);
        } else {
            lines.push(part);
        }
    }
    lines
}

/// Whether a word is a number, with or without grouped digits.
fn is_number(word: &str) -> bool {
    word.ends_with(|end: char| end.is_ascii_digit())
        && word.chars().all(|one| one.is_ascii_digit() || [',', '.', '-'].contains(&one))
}

/// Parses a size such as `512M`, `4G`, `4GiB` or plain bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return Err("a size is a number with K, M, G or T behind it, such as 4G".to_owned()),
    };
    let number: u64 =
        number.parse().map_err(|_| "a size begins with a whole number, as in 4G".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "no machine has that much memory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.04, 99.9, 99.96, 61_234.4].map(rate), ["0.0", "99.9", "100", "61,234"]);
        let durations = [0.5, 9.996, 12.34, 123.4, 999.7, 1234.0, 2_500_000.0].map(duration_us);
        let expected = ["0.50 us", "10.0 us", "12.3 us", "123 us", "1.00 ms", "1.23 ms", "2.50 s"];
        assert_eq!(durations, expected);
        assert_eq!([999, 1 << 20, 1536 << 20].map(bytes), ["999 B", "1.00 MiB", "1.50 GiB"]);
        assert_eq!(
            (counted(1, "thread"), counted(2, "thread")),
            ("1 thread".into(), "2 threads".into())
        );
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_bytes("4G"), Ok(4 << 30));
        assert_eq!(parse_bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert!(parse_bytes("G").is_err());
        assert!(parse_bytes("4X").is_err());
        assert!(parse_bytes("99999999999T").is_err());
    }
}
