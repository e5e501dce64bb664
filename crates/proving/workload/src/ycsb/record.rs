//! YCSB's table: its columns, and contents that distinguish whole records from torn ones.

use super::config::YcsbConfig;
use layout::{
    Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Placement, RecordMut, RecordRef, Schema,
    SchemaError, Storage,
};
use txn::TableSpec;

pub const TABLE: &str = "usertable";
/// Column of the key.
pub const KEY: usize = 0;
/// The column of the number of the record's updates.
pub const COUNTER: usize = 1;
/// The first column of the fields.
pub const FIELDS: usize = 2;

/// Slots of a bucket: dense keys need no choice of slots, and a lookup transfers a single record.
const NEIGHBOURHOOD: u32 = 1;

/// Columns and physical design. Keys are numbered from 0 without gaps, so buckets are addressed
/// without hashing; scans need a tree.
pub fn table_spec(config: &YcsbConfig) -> Result<TableSpec, SchemaError> {
    let mut columns =
        vec![Column::new("ycsb_key", ColumnType::Int8), Column::new("counter", ColumnType::Int8)];
    for index in 0..config.field_count() {
        let bytes = ColumnType::Bytes(config.field_bytes(index));
        columns.push(Column::new(&format!("field{index}"), bytes));
    }
    let schema = Schema::new(TABLE, columns, &[KEY])?;
    let storage = if config.mix.scan > 0 { Storage::Tree } else { Storage::HashInlined };
    let placement = match storage {
        Storage::Tree => PhysicalDesign::default().placement,
        _ => Placement::Dense { columns: vec![(0, config.records)] },
    };
    let size_hint = config.records;
    let design = PhysicalDesign {
        storage,
        placement,
        size_hint,
        neighbourhood: NEIGHBOURHOOD,
        ..PhysicalDesign::default()
    };
    Ok(TableSpec { schema, design, indexes: Vec::new() })
}

/// The key of record `number`.
#[inline]
pub fn key(number: u64) -> Key {
    KeyBuilder::new().int8(number as i64).key()
}

pub fn fill(record: &mut RecordMut<'_>, config: &YcsbConfig, number: u64) {
    record.set_int(COUNTER, 0);
    for field in 0..config.field_count() {
        write_field(record, config, number, field, 0);
    }
}

/// Rewrites one field as the record's update number `counter` does.
#[inline]
pub fn write_field(
    record: &mut RecordMut<'_>,
    config: &YcsbConfig,
    number: u64,
    field: u32,
    counter: u64,
) {
    let mut content = [0; super::config::FIELD_BYTES as usize];
    let content = &mut content[..config.field_bytes(field) as usize];
    fill_content(content, number, field, counter);
    record.set_bytes(FIELDS + field as usize, content);
}

/// The content encodes its update's number, as far as it has room; all else follows from that.
#[inline]
fn fill_content(content: &mut [u8], number: u64, field: u32, counter: u64) {
    let mixed = (counter ^ number.rotate_left(32)).wrapping_add(u64::from(field));
    let mut word = counter;
    let mut next = || {
        let bytes = word.to_le_bytes();
        word = (word ^ mixed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        bytes
    };
    let mut chunks = content.chunks_exact_mut(8);
    for chunk in &mut chunks {
        chunk.copy_from_slice(&next());
    }
    let rest = chunks.into_remainder();
    rest.copy_from_slice(&next()[..rest.len()]);
}

/// The first field that no update can have left like this, if there is one: torn, of another
/// record, or of an update after the record's counter.
pub fn damaged_field(record: &RecordRef<'_>, config: &YcsbConfig) -> Option<u32> {
    let number = record.int(KEY) as u64;
    let counter = record.int(COUNTER) as u64;
    let mut expected = [0; super::config::FIELD_BYTES as usize];
    (0..config.field_count()).find(|&field| {
        let content = record.bytes(FIELDS + field as usize);
        let expected = &mut expected[..config.field_bytes(field) as usize];
        let Some(&word) = content.first_chunk::<8>() else {
            return content.len() != expected.len();
        };
        let written_by = u64::from_le_bytes(word);
        fill_content(expected, number, field, written_by);
        written_by > counter || content != expected
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a record, damages it, and returns the field that was found damaged.
    fn found(damage: impl FnOnce(&mut RecordMut<'_>, &YcsbConfig)) -> Option<u32> {
        let config = YcsbConfig { record_bytes: 250, ..YcsbConfig::default() };
        let schema = table_spec(&config).expect("the table is fine").schema;
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut record = RecordMut::new(&schema, &mut payload);
        fill(&mut record, &config, 77);
        record.set_int(COUNTER, 5);
        write_field(&mut record, &config, 77, 1, 5);
        damage(&mut record, &config);
        let key = key(77);
        damaged_field(&RecordRef::new(&schema, key.words(), &payload), &config)
    }

    #[test]
    fn whole_records_pass_and_damaged_fields_are_found() {
        assert_eq!(found(|_, _| ()), None);
        assert_eq!(found(|record, _| record.set_bytes(FIELDS + 2, &[9; 50])), Some(2));
        assert_eq!(found(|record, _| record.set_bytes(FIELDS + 1, b"short")), Some(1));
        // A field of another record, and one of an update that never happened.
        assert_eq!(found(|record, config| write_field(record, config, 78, 0, 5)), Some(0));
        assert_eq!(found(|record, config| write_field(record, config, 77, 0, 6)), Some(0));
    }
}
