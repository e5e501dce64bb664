//! Both formats of all types. The expected bytes of binary values are those of PostgreSQL 15's
//! `*_send` functions.

use super::decode::decode;
use super::encode::encode;
use super::types::{self, array_of};
use super::{Format, formats};
use crate::message::backend::Column;
use proptest::prelude::*;
use sql_value::{Decimal, Interval, Value};

fn column(oid: u32, modifier: i32) -> Column {
    Column { type_oid: oid, type_modifier: modifier, ..Column::default() }
}

fn encoded(value: &Value, oid: u32, format: Format) -> Vec<u8> {
    let mut buffer = Vec::new();
    assert!(encode(value, &column(oid, -1), format, &mut buffer).expect("it has a format"));
    buffer
}

/// Encodes and decodes in both formats; returns text and binary.
fn both(value: &Value, oid: u32) -> (String, Vec<u8>) {
    for format in [Format::Text, Format::Binary] {
        let bytes = encoded(value, oid, format);
        assert_eq!(&decode(Some(&bytes), oid, format).expect("its own bytes"), value, "{format:?}");
        for end in 0..bytes.len() {
            let _ = decode(Some(&bytes[..end]), oid, format);
        }
    }
    let text = String::from_utf8(encoded(value, oid, Format::Text)).expect("it is text");
    (text, encoded(value, oid, Format::Binary))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn both_formats_are_postgresqls() {
    let check = |value: Value, oid: u32, text: &str, binary: &str| {
        let (own_text, own_binary) = both(&value, oid);
        assert_eq!((own_text.as_str(), hex(&own_binary).as_str()), (text, binary));
    };
    check(Value::Bool(true), types::BOOL, "t", "01");
    check(Value::Int(-2), types::INT2, "-2", "fffe");
    check(Value::Int(7), types::INT4, "7", "00000007");
    check(Value::Int(1 << 40), types::INT8, "1099511627776", "0000010000000000");
    check(Value::Int(4_000_000_000), types::OID, "4000000000", "ee6b2800");
    check(Value::Float(1.5), types::FLOAT8, "1.5", "3ff8000000000000");
    check(Value::Float(-0.25), types::FLOAT4, "-0.25", "be800000");
    check(Value::text("h\u{e9}"), types::TEXT, "h\u{e9}", "68c3a9");
    check(Value::text("x"), types::VARCHAR, "x", "78");
    check(Value::text("pg_class"), types::NAME, "pg_class", "70675f636c617373");
    check(Value::Bytes([0, 255].as_slice().into()), types::BYTEA, "\\x00ff", "00ff");
    check(Value::Date(1), types::DATE, "2000-01-02", "00000001");
    check(Value::Timestamp(1_000_000), types::TIMESTAMP, "2000-01-01 00:00:01", "00000000000f4240");
    check(Value::Timestamp(3_600_500_000), types::TIME, "01:00:00.5", "00000000d69b4520");
    check(Value::Timestamp(0), types::TIMESTAMPTZ, "2000-01-01 00:00:00+00", "0000000000000000");
    let interval = Interval { months: 1, days: 2, microseconds: 3_000_000 };
    let binary = "00000000002dc6c00000000200000001";
    check(Value::Interval(interval), types::INTERVAL, "1 mon 2 days 00:00:03", binary);
    let array = Value::Array([Value::Int(1), Value::Null].as_slice().into());
    let binary =
        "000000010000000100000017000000020000000100000004000000 01ffffffff".replace(' ', "");
    check(array, array_of(types::INT4), "{1,NULL}", &binary);
    check(
        Value::Array([].as_slice().into()),
        array_of(types::TEXT),
        "{}",
        "000000000000000000000019",
    );
}

/// Vectors of the system catalog are only sent.
#[test]
fn vectors_are_postgresqls() {
    let vector = Value::Array([Value::Int(1), Value::Int(2)].as_slice().into());
    assert_eq!(encoded(&vector, 22, Format::Text), b"1 2");
    let binary = "0000000100000000000000150000000200000000000000020001000000020002";
    assert_eq!(hex(&encoded(&vector, 22, Format::Binary)), binary);
}

#[test]
fn decimals_have_postgresqls_groups() {
    let check = |units: i128, scale: u8, binary: &str| {
        let (_, own) = both(&Value::Numeric(Decimal::new(units, scale)), types::NUMERIC);
        assert_eq!(hex(&own), binary, "{units}e-{scale}");
    };
    check(0, 0, "0000000000000000");
    check(0, 2, "0000000000000002");
    check(12_345, 0, "000200010000000000010929");
    check(-150, 2, "000200004000000200011388");
    check(5, 4, "0001ffff000000040005");
    check(10_000, 0, "00010001000000000001");
    check(1, 38, "0001fff6000000260064");
}

#[test]
fn a_fixed_length_text_is_padded_for_clients() {
    let mut buffer = Vec::new();
    let value = Value::text("ab");
    for format in [Format::Text, Format::Binary] {
        buffer.clear();
        encode(&value, &column(types::BPCHAR, 9), format, &mut buffer).expect("it is text");
        assert_eq!(buffer, b"ab   ");
        let read = decode(Some(b"ab   "), types::BPCHAR, format);
        assert_eq!(read, Ok(value.clone()));
    }
}

#[test]
fn values_that_no_type_has_are_refused() {
    let refused = |bytes: &[u8], oid: u32, format: Format| {
        decode(Some(bytes), oid, format).expect_err("it is no value").sqlstate.to_string()
    };
    assert_eq!(refused(b"\xff", types::TEXT, Format::Text), "22021");
    assert_eq!(refused(b"a\0", types::TEXT, Format::Binary), "22021");
    assert_eq!(refused(b"one", types::INT4, Format::Text), "22P02");
    assert_eq!(refused(b"123", types::INT4, Format::Binary), "22P03");
    assert_eq!(
        refused(&i64::MAX.wrapping_sub(1).to_be_bytes(), types::TIMESTAMP, Format::Binary),
        "22008"
    );
    // NaN, an infinity, a digit above 9999, a missing digit, and 39 digits.
    for (bytes, sqlstate) in [
        ("00000000c0000000", "0A000"),
        ("00000000d0000020", "0A000"),
        ("00010000000000002710", "22P03"),
        ("0002000000000000 0001", "22P03"),
        ("00010009000000000064", "22003"),
        ("00010000000000270001", "22003"),
    ] {
        let digits: String = bytes.split(' ').collect();
        let bytes: Vec<u8> = (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits"))
            .collect();
        assert_eq!(refused(&bytes, types::NUMERIC, Format::Binary), sqlstate, "{digits}");
    }
    assert_eq!(refused(b"", 600, Format::Binary), "0A000");
    assert_eq!(refused(b"", 600, Format::Text), "0A000");
    let nested = hexed("00000002000000000000001700000001");
    assert_eq!(refused(&nested, array_of(types::INT4), Format::Binary), "0A000");
    // A count that the message does not have takes no memory.
    let endless = hexed("0000000100000000000000177fffffff00000001");
    assert_eq!(refused(&endless, array_of(types::INT4), Format::Binary), "08P01");
}

fn hexed(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits"))
        .collect()
}

#[test]
fn one_format_is_for_all() {
    // Text needs no list.
    assert_eq!(formats(&[], 2, "parameter"), Ok(vec![]));
    assert_eq!(formats(&[0], 2, "parameter"), Ok(vec![]));
    assert_eq!(formats(&[1], 2, "parameter"), Ok(vec![Format::Binary; 2]));
    assert_eq!(formats(&[0, 1], 2, "parameter"), Ok(vec![Format::Text, Format::Binary]));
    assert!(formats(&[0, 1], 3, "parameter").is_err() && formats(&[2], 1, "parameter").is_err());
}

proptest! {
    #[test]
    fn decimals_round_trip(units in any::<i128>(), shift in 0u32..127, scale in 0u8..=38) {
        let units = (units >> shift) % 10i128.pow(38);
        both(&Value::Numeric(Decimal::new(units, scale)), types::NUMERIC);
    }

    #[test]
    fn random_bytes_are_no_values_and_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for oid in [types::NUMERIC, types::INTERVAL, types::DATE, array_of(types::NUMERIC), types::BYTEA] {
            for format in [Format::Text, Format::Binary] {
                let _ = decode(Some(&bytes), oid, format);
            }
        }
    }
}
