//! The four tables and their columns [TATP], by the names and types of `workloads/tatp/schema.sql`.

use layout::ColumnType::{Char, Int2, Int4};
use layout::{Column, ColumnType, Schema, SchemaError};

/// Digits of a subscriber's number.
pub const NUMBER_DIGITS: usize = 15;

/// Positions of the columns of `subscriber`.
pub mod subscriber {
    pub const S_ID: usize = 0;
    pub const SUB_NBR: usize = 1;
    pub const BIT_1: usize = 2;
    /// The first of ten columns.
    pub const HEX_1: usize = 12;
    /// The first of ten columns.
    pub const BYTE2_1: usize = 22;
    pub const MSC_LOCATION: usize = 32;
    pub const VLR_LOCATION: usize = 33;
    /// Number of columns of bits, of half-bytes and of bytes.
    pub const FLAGS: usize = 10;
}

/// Positions of the columns of `access_info`.
pub mod access_info {
    pub const S_ID: usize = 0;
    pub const AI_TYPE: usize = 1;
    pub const DATA1: usize = 2;
    pub const DATA2: usize = 3;
    pub const DATA3: usize = 4;
    pub const DATA4: usize = 5;
}

/// Positions of the columns of `special_facility`.
pub mod special_facility {
    pub const S_ID: usize = 0;
    pub const SF_TYPE: usize = 1;
    pub const IS_ACTIVE: usize = 2;
    pub const ERROR_CNTRL: usize = 3;
    pub const DATA_A: usize = 4;
    pub const DATA_B: usize = 5;
}

/// Positions of the columns of `call_forwarding`.
pub mod call_forwarding {
    pub const S_ID: usize = 0;
    pub const SF_TYPE: usize = 1;
    pub const START_TIME: usize = 2;
    pub const END_TIME: usize = 3;
    pub const NUMBERX: usize = 4;
}

/// The schemas of the four tables, in the order of [`super::tables::TABLE_NAMES`], with `suffix`
/// appended to their names.
pub fn schemas(suffix: &str) -> Result<[Schema; 4], SchemaError> {
    let named = |names: &[(&str, ColumnType)]| {
        names.iter().map(|&(name, kind)| Column::new(name, kind)).collect::<Vec<_>>()
    };
    let access_info = [
        ("s_id", Int4),
        ("ai_type", Int2),
        ("data1", Int2),
        ("data2", Int2),
        ("data3", Char(3)),
        ("data4", Char(5)),
    ];
    let special_facility = [
        ("s_id", Int4),
        ("sf_type", Int2),
        ("is_active", Int2),
        ("error_cntrl", Int2),
        ("data_a", Int2),
        ("data_b", Char(5)),
    ];
    let call_forwarding = [
        ("s_id", Int4),
        ("sf_type", Int2),
        ("start_time", Int2),
        ("end_time", Int2),
        ("numberx", Char(NUMBER_DIGITS as u32)),
    ];
    let name = |table: &str| format!("{table}{suffix}");
    Ok([
        Schema::new(&name("subscriber"), subscriber_columns(), &[0])?,
        Schema::new(&name("access_info"), named(&access_info), &[0, 1])?,
        Schema::new(&name("special_facility"), named(&special_facility), &[0, 1])?,
        Schema::new(&name("call_forwarding"), named(&call_forwarding), &[0, 1, 2])?,
    ])
}

fn subscriber_columns() -> Vec<Column> {
    let mut columns =
        vec![Column::new("s_id", Int4), Column::new("sub_nbr", Char(NUMBER_DIGITS as u32))];
    for name in ["bit", "hex", "byte2"] {
        let flags = (1..=subscriber::FLAGS).map(|n| Column::new(&format!("{name}_{n}"), Int2));
        columns.extend(flags);
    }
    columns.extend([Column::new("msc_location", Int4), Column::new("vlr_location", Int4)]);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_name_the_columns_of_the_specification() {
        let schemas = schemas("").expect("the schemas are right");
        let name = |table: usize, column: usize| schemas[table].columns()[column].name.clone();
        for (table, column, expected) in [
            (0, subscriber::S_ID, "s_id"),
            (0, subscriber::SUB_NBR, "sub_nbr"),
            (0, subscriber::BIT_1, "bit_1"),
            (0, subscriber::HEX_1, "hex_1"),
            (0, subscriber::BYTE2_1, "byte2_1"),
            (0, subscriber::MSC_LOCATION, "msc_location"),
            (0, subscriber::VLR_LOCATION, "vlr_location"),
            (1, access_info::AI_TYPE, "ai_type"),
            (1, access_info::DATA4, "data4"),
            (2, special_facility::IS_ACTIVE, "is_active"),
            (2, special_facility::DATA_A, "data_a"),
            (3, call_forwarding::START_TIME, "start_time"),
            (3, call_forwarding::NUMBERX, "numberx"),
        ] {
            assert_eq!(name(table, column), expected);
        }
        let counts = schemas.map(|schema| schema.columns().len());
        assert_eq!(counts, [34, 6, 6, 5]);
        assert_eq!(super::schemas("_7").expect("they are right")[3].name(), "call_forwarding_7");
    }
}
