//! Tests of reading and writing columns.

use super::*;
use super::{for_changed_columns, set_changed_column};
use crate::column::{Column, ColumnType, Value};
use crate::key::KeyBuilder;
use crate::place::Slot;
use crate::schema::Schema;
use crate::schema_error::SchemaError;
use crate::value::{LongStage, LongValues, OutOfLine};
use crate::version::{SlotId, VersionWord};

fn schema() -> Schema {
    let columns = vec![
        Column::new("w", ColumnType::Int2),
        Column::new("name", ColumnType::Varchar(16)),
        Column::nullable("note", ColumnType::Char(300)),
        Column::new("balance", ColumnType::Decimal { scale: 2 }),
        Column::nullable("flag", ColumnType::Bool),
        Column::new("rate", ColumnType::Float8),
        Column::new("c", ColumnType::Int4),
        Column::new("photo", ColumnType::Bytes(9000)),
    ];
    Schema::new("t", columns, &[0, 6]).expect("the schema is fine")
}

/// The primary key is in each of them, and no column of it is there twice.
#[test]
fn index_keys_have_the_rest_of_the_primary_key_behind_them() {
    let columns = vec![
        Column::new("w", ColumnType::Int2),
        Column::new("d", ColumnType::Int2),
        Column::new("o", ColumnType::Int4),
        Column::new("c", ColumnType::Int4),
    ];
    let schema = Schema::new("orders", columns, &[0, 1, 2]).expect("the schema is fine");
    let key = KeyBuilder::new().int2(3).int2(-4).int4(70).key();
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    RecordMut::new(&schema, &mut payload).set_int(3, 9);
    let record = RecordRef::new(&schema, key.words(), &payload);
    let start = KeyBuilder::new;
    for (columns, expected, ranges) in [
        (&[3][..], start().int4(9).int2(3).int2(-4).int4(70), &[(4, 8)][..]),
        (&[0, 1, 3, 2], start().int2(3).int2(-4).int4(9).int4(70), &[(0, 4), (8, 4)]),
        (&[0, 1, 3], start().int2(3).int2(-4).int4(9).int4(70), &[(0, 4), (8, 4)]),
        (&[2, 3], start().int4(70).int4(9).int2(3).int2(-4), &[(8, 4), (0, 4)]),
        (&[0, 1, 2], start().int2(3).int2(-4).int4(70), &[(0, 8)]),
    ] {
        let entry = record.index_key(columns);
        assert_eq!(entry, expected.key());
        assert_eq!(schema.key_in_index(columns), ranges);
        assert_eq!(schema.index_key_words(columns) as usize, entry.words().len());
        let copy =
            |builder, &(at, bytes): &(u32, u32)| copy_key_bytes(builder, entry.words(), at, bytes);
        assert_eq!(ranges.iter().fold(start(), copy).key(), key);
    }
}

#[test]
fn constants_are_the_slots_of_the_schema() {
    let columns = vec![
        Column::new("w", ColumnType::Int2),
        Column::new("name", ColumnType::Varchar(16)),
        Column::nullable("note", ColumnType::Char(300)),
        Column::nullable("balance", ColumnType::Decimal { scale: 2 }),
    ];
    let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
    let written: Vec<String> = (0..4).map(|column| schema.slot(column).to_string()).collect();
    let expected = [
        "Slot::key(0, 2)",
        "Slot::text(16, 16)",
        "Slot::text(33, 300).nullable(0, 1)",
        "Slot::number(8, 8).nullable(0, 2)",
    ];
    assert_eq!(written, expected);
    let constants = [
        Slot::key(0, 2),
        Slot::text(16, 16),
        Slot::text(33, 300).nullable(0, 1),
        Slot::number(8, 8).nullable(0, 2),
    ];
    assert_eq!([0, 1, 2, 3].map(|column| schema.slot(column)), constants);

    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    let mut row = RecordMut::new(&schema, &mut payload);
    row.set_bytes_in(constants[1], b"Ada");
    row.set_null_in(constants[2]);
    row.set_int_in(constants[3], -12);
    let key = schema.encode_key(&[Value::Int(-3)]).expect("fits");
    let row = RecordRef::new(&schema, key.words(), &payload);
    assert_eq!((row.int_in(constants[0]), row.bytes_in(constants[1])), (-3, &b"Ada"[..]));
    assert_eq!((row.is_null_in(constants[2]), row.is_null_in(constants[3])), (true, false));
    assert_eq!(row.int_in(constants[3]), -12);
}

#[test]
fn every_column_comes_back() {
    let schema = schema();
    let layout = schema.row_layout(false);
    let key = schema.encode_key(&[Value::Int(-3), Value::Int(7)]).expect("fits");
    let mut payload = vec![0; layout.payload_words as usize];
    let mut row = RecordMut::new(&schema, &mut payload);
    row.set(1, &"Ada".into()).expect("fits");
    row.set(2, &Value::Null).expect("nullable");
    row.set(3, &Value::Int(-1234)).expect("fits");
    row.set(4, &Value::Int(1)).expect("fits");
    row.set(5, &Value::Float(2.5)).expect("fits");
    let stored = OutOfLine { ptr: 64, bytes: 9, version: VersionWord::new(SlotId(1), 2) };
    row.set_out_of_line(7, stored);
    let row = RecordRef::new(&schema, key.words(), &payload);
    assert_eq!((row.int(0), row.int(6), row.int(3), row.int(4)), (-3, 7, -1234, 1));
    assert_eq!((row.text(1), row.is_null(2), row.float(5)), ("Ada", true, 2.5));
    assert_eq!(row.value(2), Value::Null);
    assert_eq!((row.out_of_line(7), row.out_of_line(1)), (Some(stored), None));
    let mut values = LongValues::default();
    values.push(Some(b"a picture"));
    assert_eq!(row.with_long(&values).value(7), Value::Bytes(b"a picture".to_vec()));
}

#[test]
fn long_values_are_staged_and_null_forgets_them() {
    let note = Column::nullable("note", ColumnType::Varchar(5000));
    let schema = Schema::new("t", vec![Column::new("k", ColumnType::Int8), note], &[0]);
    let schema = schema.expect("the schema is fine");
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    let mut stage = LongStage::default();
    let mut row = RecordMut::new(&schema, &mut payload).with_stage(&mut stage);
    row.set(1, &"long ago".into()).expect("fits");
    assert!(row.set(1, &Value::Text("x".repeat(5001))).is_err());
    let seen = RecordRef::new(&schema, &[0], &payload).out_of_line(1).expect("out of line");
    assert_eq!((seen.staged_number(), stage.bytes(0)), (Some(0), &b"long ago"[..]));
    RecordMut::new(&schema, &mut payload).set_null(1);
    let row = RecordRef::new(&schema, &[0], &payload);
    assert_eq!((row.is_null(1), row.out_of_line(1)), (true, Some(OutOfLine::EMPTY)));
}

#[test]
fn short_values_are_in_the_row() {
    let text = |name: &str| Column::nullable(name, ColumnType::Varchar(1000)).with_in_row(40);
    let columns = vec![Column::new("k", ColumnType::Int8), text("one"), text("two")];
    let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
    // Null flags, and 48 bytes for each text: 47 and the length.
    assert_eq!(schema.row_layout(false).payload_words, 1 + 6 + 6);
    let mut payload = vec![0; 13];
    let mut stage = LongStage::default();
    for length in [46, 47, 48, 1, 0, 1000, 47] {
        let value = "x".repeat(length);
        let mut row = RecordMut::new(&schema, &mut payload).with_stage(&mut stage);
        row.set(2, &"neighbour".into()).expect("fits");
        row.set(1, &Value::Text(value.clone())).expect("fits");
        assert!(row.set(1, &Value::Text("x".repeat(1001))).is_err());
        let row = RecordRef::new(&schema, &[0], &payload);
        let reference = row.out_of_line(1).expect("it is out of line");
        assert_eq!(row.text(2), "neighbour");
        if length <= 47 {
            assert_eq!(
                (row.text(1), reference, row.is_null(1)),
                (&*value, OutOfLine::EMPTY, false)
            );
            assert_eq!(
                (row.in_row(1).unwrap_or_default(), row.refers_to_values()),
                (value.as_bytes(), false)
            );
        } else {
            let number = reference.staged_number().expect("it is staged");
            assert_eq!((stage.bytes(number), row.in_row(1)), (value.as_bytes(), None));
            assert!(row.refers_to_values());
        }
    }
    // A copied payload keeps values in the row, and forgets references.
    let mut row = RecordMut::new(&schema, &mut payload);
    row.set_out_of_line(
        2,
        OutOfLine { ptr: 64, bytes: 50, version: VersionWord::new(SlotId(1), 2) },
    );
    let mut copy = vec![0; 13];
    RecordMut::new(&schema, &mut copy).copy_payload(&payload);
    let row = RecordRef::new(&schema, &[0], &copy);
    assert_eq!((row.text(1).len(), row.out_of_line(2)), (47, Some(OutOfLine::EMPTY)));
    RecordMut::new(&schema, &mut payload).set_null(1);
    let row = RecordRef::new(&schema, &[0], &payload);
    assert_eq!(
        (row.is_null(1), row.out_of_line(1), row.in_row(1)),
        (true, Some(OutOfLine::EMPTY), None)
    );
}

#[test]
fn packed_cells_are_beside_each_other() {
    let text = |name: &str, room| {
        Column::nullable(name, ColumnType::Varchar(4 * u32::from(room))).with_packed(room)
    };
    let columns = vec![
        Column::new("k", ColumnType::Int8),
        text("one", 24),
        Column::new("flag", ColumnType::Bool),
        text("two", 300),
    ];
    let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
    // Null flags, the flag, 24 bytes and a length of one byte, 300 and one of two.
    assert_eq!(schema.payload_ranges(&[3])[0], (27, 27 + 302));
    let words = schema.row_layout(false).payload_words as usize;
    assert_eq!(words, (1 + 1 + 25 + 302_usize).div_ceil(8));
    let (mut payload, mut stage) = (vec![0; words], LongStage::default());
    for (one, two) in [(24, 300), (25, 301), (1, 256), (0, 0), (96, 1200), (23, 255)] {
        let (first, second) = ("x".repeat(one), "y".repeat(two));
        let before = payload.clone();
        let mut row = RecordMut::new(&schema, &mut payload).with_stage(&mut stage);
        row.set(2, &Value::Int(1)).expect("fits");
        row.set(1, &Value::Text(first.clone())).expect("fits");
        row.set(3, &Value::Text(second.clone())).expect("fits");
        let row = RecordRef::new(&schema, &[0], &payload);
        let in_row = |column, text: &str, room: usize| match text.len() <= room {
            true => assert_eq!(row.bytes(column), text.as_bytes()),
            false => assert!(row.out_of_line(column).is_some_and(|it| it.bytes > 0)),
        };
        in_row(1, &first, 24);
        in_row(3, &second, 300);
        assert_eq!((row.int(2), row.refers_to_values()), (1, one > 24));
        let mut changed = before.clone();
        let is_whole = for_changed_columns(&schema, &before, &payload, |column, bytes| {
            assert!(set_changed_column(&schema, &mut changed, column, bytes));
        });
        assert_eq!(is_whole, one <= 24);
        assert!(!is_whole || changed == payload, "{one} and {two} bytes");
    }
    let refused = Schema::new("t", vec![text("c", 23)], &[0]).expect_err("a reference is longer");
    assert_eq!(refused.to_string(), "column c of table t: packed is 23; 24 to 1024 is allowed");
}

#[test]
fn room_for_short_values_is_refused_where_there_are_none() {
    let refused = |column: Column, key: &[usize]| {
        let columns = vec![Column::new("k", ColumnType::Int8), column];
        Schema::new("t", columns, key).expect_err("it is refused").to_string()
    };
    let told = "column c of table t: in_row is 20; 1 to less than the maximal length, here 20, \
                is allowed for text and bytes";
    assert_eq!(refused(Column::new("c", ColumnType::Varchar(20)).with_in_row(20), &[0]), told);
    let refused_with = |column| assert!(refused(column, &[0]).contains("in_row is"));
    refused_with(Column::new("c", ColumnType::Varchar(20)).with_in_row(0));
    refused_with(Column::new("c", ColumnType::Int8).with_in_row(1));
    let key = Column::new("c", ColumnType::Varchar(60)).with_in_row(20);
    assert!(refused(key, &[0, 1]).contains("none out of line"));
}

#[test]
fn values_that_do_not_fit_are_refused_with_a_sentence() {
    let schema = schema();
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    let mut row = RecordMut::new(&schema, &mut payload);
    let error = row.set(1, &"seventeen letters".into()).expect_err("too long");
    assert!(error.to_string().contains("column name of table t"));
    assert!(row.set(3, &Value::Null).is_err());
    let error = row.set(4, &Value::Int(2)).expect_err("neither false nor true");
    assert!(error.to_string().ends_with("a truth value is 0 or 1"));
    let error = row.set(0, &Value::Int(1)).expect_err("a column of the key");
    assert!(error.to_string().ends_with("a key column cannot be changed in place"));
    assert!(schema.encode_key(&[Value::Int(40_000), Value::Int(1)]).is_err());
    assert!(schema.encode_key(&[Value::Int(1)]).is_err());
}

fn set_carelessly(set: impl FnOnce(&mut RecordMut<'_>)) {
    let schema = schema();
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    set(&mut RecordMut::new(&schema, &mut payload));
}

#[test]
#[should_panic(expected = "text is UTF-8, and this value is not")]
fn what_is_no_text_is_not_set_as_text() {
    set_carelessly(|row| row.set_bytes(1, &[b'A', 0xff]));
}

#[test]
#[should_panic(expected = "the value is longer than its column")]
fn text_that_is_too_long_is_not_cut() {
    set_carelessly(|row| row.set_bytes(1, b"seventeen letters"));
}

#[test]
#[should_panic(expected = "out of the range of its column's type")]
fn numbers_that_are_too_large_are_not_cut() {
    let columns = vec![Column::new("k", ColumnType::Int8), Column::new("n", ColumnType::Int4)];
    let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
    RecordMut::new(&schema, &mut [0]).set_int(1, 1 << 31);
}

#[test]
#[should_panic(expected = "a truth value is 0 or 1")]
fn a_number_is_no_truth_value() {
    set_carelessly(|row| row.set_int(4, 2));
}

#[test]
#[should_panic(expected = "text and bytes of the key are read with value")]
fn a_column_that_is_not_text_does_not_pass_for_empty_text() {
    let schema = schema();
    let payload = vec![0; schema.row_layout(false).payload_words as usize];
    let key = schema.encode_key(&[Value::Int(-3), Value::Int(7)]).expect("fits");
    RecordRef::new(&schema, key.words(), &payload).text(0);
}

#[test]
fn limits_have_errors() {
    let many = (0..300).map(|n| Column::new(&format!("c{n}"), ColumnType::Int8)).collect();
    assert!(matches!(Schema::new("t", many, &[0]), Err(SchemaError::ColumnCount { .. })));
    let long = vec![Column::new("k", ColumnType::Varchar(65))];
    assert!(matches!(Schema::new("t", long, &[0]), Err(SchemaError::KeyTooLong { .. })));
    let text = |n| Column::new(&format!("c{n}"), ColumnType::Char(1000));
    let mut wide: Vec<_> = (0..9).map(text).collect();
    wide.push(Column::new("k", ColumnType::Int8));
    assert!(matches!(Schema::new("t", wide, &[9]), Err(SchemaError::RowTooLong { .. })));
    let huge = ColumnType::Bytes(u32::MAX);
    let huge = vec![Column::new("k", ColumnType::Int8), Column::new("b", huge)];
    assert!(matches!(Schema::new("t", huge, &[0]), Err(SchemaError::ColumnLength { .. })));
}
