//! Types by the numbers, sizes and modifiers that PostgreSQL's clients know.

use sql::{Numeric, SqlType};

/// The numbers of arrays of enumerated types follow this one.
const ENUM_ARRAYS: u32 = 1 << 28;

/// The object number of a type in PostgreSQL's catalog; 705 (`unknown`) for types without one.
pub fn of_type(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Unknown => 705,
        SqlType::Bool => 16,
        SqlType::Bytes => 17,
        SqlType::Int8 => 20,
        SqlType::Int2 => 21,
        SqlType::Int4 => 23,
        SqlType::Text => 25,
        SqlType::Float4 => 700,
        SqlType::Float8 => 701,
        SqlType::Char(_) => 1042,
        SqlType::Varchar(_) => 1043,
        SqlType::Date => 1082,
        SqlType::Time(_) => 1083,
        SqlType::Timestamp(_) => 1114,
        SqlType::TimestampTz(_) => 1184,
        SqlType::Interval => 1186,
        SqlType::Numeric(_) => 1700,
        SqlType::Uuid => 2950,
        SqlType::Enum(of) => of.oid,
        SqlType::Json => 114,
        SqlType::Jsonb => 3802,
        SqlType::Record(_) => 2249,
        SqlType::Void => 2278,
        SqlType::Array(element) => match **element {
            SqlType::Bool => 1000,
            SqlType::Bytes => 1001,
            SqlType::Int2 => 1005,
            SqlType::Int4 => 1007,
            SqlType::Text => 1009,
            SqlType::Char(_) => 1014,
            SqlType::Varchar(_) => 1015,
            SqlType::Int8 => 1016,
            SqlType::Float4 => 1021,
            SqlType::Float8 => 1022,
            SqlType::Uuid => 2951,
            SqlType::Json => 199,
            SqlType::Jsonb => 3807,
            SqlType::Timestamp(_) => 1115,
            SqlType::Date => 1182,
            SqlType::Time(_) => 1183,
            SqlType::TimestampTz(_) => 1185,
            SqlType::Interval => 1187,
            SqlType::Numeric(_) => 1231,
            SqlType::Enum(ref of) => array_of_enum(of.oid),
            _ => 2277,
        },
    }
}

/// The number of the arrays of an enumerated type, behind those of definitions.
pub fn array_of_enum(oid: u32) -> u32 {
    oid + ENUM_ARRAYS
}

/// The enumerated type of these arrays.
pub fn element_of_enum(array: u32) -> Option<u32> {
    array.checked_sub(ENUM_ARRAYS).filter(|oid| *oid < ENUM_ARRAYS)
}

/// The type with this number; `None` if there is none, or namdb does not have it. Types that
/// clients declare for texts of any kind (`unknown`, `name`) count as unknown: the
/// statement decides.
pub fn to_type(oid: u32) -> Option<SqlType> {
    let array = |element| Some(SqlType::Array(Box::new(element)));
    Some(match oid {
        0 | 705 => SqlType::Unknown,
        2278 => SqlType::Void,
        16 => SqlType::Bool,
        17 => SqlType::Bytes,
        20 => SqlType::Int8,
        21 => SqlType::Int2,
        23 => SqlType::Int4,
        19 | 25 => SqlType::Text,
        700 => SqlType::Float4,
        701 => SqlType::Float8,
        2950 => SqlType::Uuid,
        114 => SqlType::Json,
        3802 => SqlType::Jsonb,
        1042 => SqlType::Char(None),
        1043 => SqlType::Varchar(None),
        1082 => SqlType::Date,
        1083 => SqlType::Time(None),
        1114 => SqlType::Timestamp(None),
        1184 => SqlType::TimestampTz(None),
        1186 => SqlType::Interval,
        1700 => SqlType::Numeric(Numeric::Open),
        1000 => return array(SqlType::Bool),
        1001 => return array(SqlType::Bytes),
        1005 => return array(SqlType::Int2),
        1007 => return array(SqlType::Int4),
        1009 => return array(SqlType::Text),
        1015 => return array(SqlType::Varchar(None)),
        1016 => return array(SqlType::Int8),
        1021 => return array(SqlType::Float4),
        1022 => return array(SqlType::Float8),
        1115 => return array(SqlType::Timestamp(None)),
        1182 => return array(SqlType::Date),
        1183 => return array(SqlType::Time(None)),
        1185 => return array(SqlType::TimestampTz(None)),
        1187 => return array(SqlType::Interval),
        2951 => return array(SqlType::Uuid),
        199 => return array(SqlType::Json),
        3807 => return array(SqlType::Jsonb),
        1231 => return array(SqlType::Numeric(Numeric::Open)),
        _ => return None,
    })
}

/// Bytes of a value; -1 if they vary.
pub fn length(sql_type: &SqlType) -> i16 {
    match sql_type {
        SqlType::Bool => 1,
        SqlType::Int2 => 2,
        SqlType::Int4 | SqlType::Float4 | SqlType::Date | SqlType::Enum(_) | SqlType::Void => 4,
        SqlType::Int8
        | SqlType::Float8
        | SqlType::Time(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_) => 8,
        SqlType::Interval | SqlType::Uuid => 16,
        SqlType::Unknown => -2,
        _ => -1,
    }
}

/// The declared length or precision as PostgreSQL encodes it; -1 without one.
pub fn modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => *length as i32 + 4,
        SqlType::Numeric(Numeric::Declared { precision, scale }) => {
            (i32::from(*precision) << 16 | i32::from(*scale)) + 4
        }
        SqlType::Array(element) => modifier(element),
        other => other.digits().map_or(-1, i32::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_types() {
        for oid in [
            16, 17, 20, 21, 23, 25, 700, 701, 1042, 1043, 1082, 1114, 1184, 1186, 1700, 2950, 1001,
            1007, 1021, 1115, 1182, 1185, 1187, 2951, 114, 199, 3802, 3807,
        ] {
            let sql_type = to_type(oid).expect("it is a type of ours");
            assert_eq!(of_type(&sql_type), oid);
        }
        assert_eq!(to_type(600), None);
    }

    #[test]
    fn modifiers_are_those_of_postgresql() {
        assert_eq!(modifier(&SqlType::Varchar(Some(24))), 28);
        let money = SqlType::Numeric(Numeric::Declared { precision: 12, scale: 2 });
        assert_eq!(modifier(&money), 786_438);
        assert_eq!(modifier(&SqlType::Text), -1);
    }
}
