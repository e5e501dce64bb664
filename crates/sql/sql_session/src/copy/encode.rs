//! Encodes the rows that are copied to a client.

use super::CopyOptions;

/// Appends a row to `data`; `None` is null.
pub(crate) fn encode_row<T: AsRef<str>>(
    options: &CopyOptions,
    fields: impl IntoIterator<Item = Option<T>>,
    data: &mut Vec<u8>,
) {
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            data.push(options.delimiter);
        }
        match field {
            None => data.extend_from_slice(options.null.as_bytes()),
            Some(field) if options.is_csv => csv(options, field.as_ref(), at == 0, data),
            Some(field) => text(options, field.as_ref(), data),
        }
    }
    data.push(b'\n');
}

fn text(options: &CopyOptions, field: &str, data: &mut Vec<u8>) {
    for byte in field.bytes() {
        let letter = match byte {
            b'\\' => b'\\',
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            byte if byte == options.delimiter => byte,
            byte => {
                data.push(byte);
                continue;
            }
        };
        data.extend_from_slice(&[b'\\', letter]);
    }
}

fn csv(options: &CopyOptions, field: &str, is_first: bool, data: &mut Vec<u8>) {
    let special = |byte: &u8| {
        *byte == options.delimiter || *byte == options.quote || matches!(byte, b'\n' | b'\r')
    };
    let needs_quotes =
        field == options.null || field.as_bytes().iter().any(special) || is_first && field == "\\.";
    if !needs_quotes {
        data.extend_from_slice(field.as_bytes());
        return;
    }
    data.push(options.quote);
    for byte in field.bytes() {
        if byte == options.quote || byte == options.escape {
            data.push(options.escape);
        }
        data.push(byte);
    }
    data.push(options.quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(options: &CopyOptions, fields: &[Option<&str>]) -> String {
        let mut data = Vec::new();
        encode_row(options, fields.iter().copied(), &mut data);
        String::from_utf8(data).expect("it is text")
    }

    #[test]
    fn rows_are_encoded_in_both_formats() {
        let fields = [Some("a\tb\\"), None, Some("")];
        assert_eq!(encoded(&CopyOptions::new(false), &fields), "a\\tb\\\\\t\\N\t\n");
        let fields = [Some("a,\"b"), None, Some("")];
        assert_eq!(encoded(&CopyOptions::new(true), &fields), "\"a,\"\"b\",,\"\"\n");
    }
}
