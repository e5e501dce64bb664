//! PostgreSQL's types by OID [PostgreSQL 15, `pg_type.dat`].

use sql::types::{Numeric, SqlType};
use sql_session::oid;

pub const BOOL: u32 = 16;
pub const BYTEA: u32 = 17;
pub const CHAR: u32 = 18;
pub const NAME: u32 = 19;
pub const INT8: u32 = 20;
pub const INT2: u32 = 21;
/// `int2vector` and `oidvector`, which only the system catalog has.
pub const INT2_VECTOR: u32 = 22;
pub const OID_VECTOR: u32 = 30;
pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;
pub const OID: u32 = 26;
pub const FLOAT4: u32 = 700;
pub const FLOAT8: u32 = 701;
pub const UNKNOWN: u32 = 705;
pub const BPCHAR: u32 = 1042;
pub const VARCHAR: u32 = 1043;
pub const DATE: u32 = 1082;
pub const TIME: u32 = 1083;
pub const TIMESTAMP: u32 = 1114;
pub const TIMESTAMPTZ: u32 = 1184;
pub const INTERVAL: u32 = 1186;
pub const NUMERIC: u32 = 1700;
pub const RECORD: u32 = 2249;
pub const VOID: u32 = 2278;
pub const UUID: u32 = 2950;
pub const JSON: u32 = 114;
pub const JSONB: u32 = 3802;

/// The first number of a type of the user.
pub const FIRST_OWN: u32 = 16_384;

/// Type, its array type, and its length in bytes; negative if it varies.
const TYPES: [(u32, u32, i16); 25] = [
    (BOOL, 1000, 1),
    (BYTEA, 1001, -1),
    (CHAR, 1002, 1),
    (NAME, 1003, 64),
    (INT8, 1016, 8),
    (INT2, 1005, 2),
    (INT4, 1007, 4),
    (TEXT, 1009, -1),
    (OID, 1028, 4),
    (FLOAT4, 1021, 4),
    (FLOAT8, 1022, 8),
    (UNKNOWN, 0, -2),
    (BPCHAR, 1014, -1),
    (VARCHAR, 1015, -1),
    (DATE, 1182, 4),
    (TIME, 1183, 8),
    (TIMESTAMP, 1115, 8),
    (TIMESTAMPTZ, 1185, 8),
    (INTERVAL, 1187, 16),
    (NUMERIC, 1231, -1),
    (RECORD, 2287, -1),
    (VOID, 0, 4),
    (UUID, 2951, 16),
    (JSON, 199, -1),
    (JSONB, 3807, -1),
];

/// Length of the type in bytes; negative if it varies.
pub fn type_length(oid: u32) -> i16 {
    TYPES.iter().find(|(own, _, _)| *own == oid).map_or(-1, |(_, _, length)| *length)
}

/// The OID of the type's arrays; 0 without one.
pub fn array_of(oid: u32) -> u32 {
    TYPES.iter().find(|(own, _, _)| *own == oid).map_or(0, |(_, array, _)| *array)
}

/// The OID of the elements of `int2vector` or `oidvector`: arrays in the system catalog with a text
/// format of their own, whose first position is 0.
pub fn element_of_vector(oid: u32) -> Option<u32> {
    match oid {
        INT2_VECTOR => Some(INT2),
        OID_VECTOR => Some(OID),
        _ => None,
    }
}

/// The OID of the array's elements.
pub fn element_of(oid: u32) -> Option<u32> {
    if let Some(element) = oid::element_of_enum(oid) {
        return Some(element);
    }
    let is_array = |(_, array, _): &&(u32, u32, i16)| *array == oid && oid != 0;
    TYPES.iter().find(is_array).map(|(own, _, _)| *own)
}

/// The OID of a type.
pub fn oid_of(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Unknown => TEXT,
        SqlType::Bool => BOOL,
        SqlType::Int2 => INT2,
        SqlType::Int4 => INT4,
        SqlType::Int8 => INT8,
        SqlType::Numeric(_) => NUMERIC,
        SqlType::Float4 => FLOAT4,
        SqlType::Float8 => FLOAT8,
        SqlType::Text => TEXT,
        SqlType::Varchar(_) => VARCHAR,
        SqlType::Char(_) => BPCHAR,
        SqlType::Bytes => BYTEA,
        SqlType::Uuid => UUID,
        SqlType::Enum(of) => of.oid,
        SqlType::Json => JSON,
        SqlType::Jsonb => JSONB,
        SqlType::Date => DATE,
        SqlType::Time(_) => TIME,
        SqlType::Timestamp(_) => TIMESTAMP,
        SqlType::TimestampTz(_) => TIMESTAMPTZ,
        SqlType::Interval => INTERVAL,
        SqlType::Array(element) => match &**element {
            SqlType::Enum(of) => oid::array_of_enum(of.oid),
            element => array_of(oid_of(element)),
        },
        SqlType::Record(_) => RECORD,
        SqlType::Void => VOID,
    }
}

/// The type whose values have the format of this type's values; `None` if no such type exists here.
pub fn sql_type_of(oid: u32) -> Option<SqlType> {
    Some(match oid {
        BOOL => SqlType::Bool,
        BYTEA => SqlType::Bytes,
        INT8 | OID => SqlType::Int8,
        INT2 => SqlType::Int2,
        INT4 => SqlType::Int4,
        CHAR | NAME | TEXT | UNKNOWN => SqlType::Text,
        FLOAT4 => SqlType::Float4,
        FLOAT8 => SqlType::Float8,
        UUID => SqlType::Uuid,
        JSON => SqlType::Json,
        JSONB => SqlType::Jsonb,
        BPCHAR => SqlType::Char(None),
        VARCHAR => SqlType::Varchar(None),
        DATE => SqlType::Date,
        TIME => SqlType::Time(None),
        TIMESTAMP => SqlType::Timestamp(None),
        TIMESTAMPTZ => SqlType::TimestampTz(None),
        INTERVAL => SqlType::Interval,
        NUMERIC => SqlType::Numeric(Numeric::Open),
        VOID => SqlType::Void,
        // Clients have labels of enumerated types as texts.
        FIRST_OWN.. if element_of(oid).is_none() => SqlType::Text,
        oid => SqlType::Array(Box::new(sql_type_of(element_of(oid)?)?)),
    })
}

/// The modifier of a column of this type: its length or its precision and scale.
pub fn modifier_of(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => *length as i32 + 4,
        SqlType::Numeric(Numeric::Declared { precision, scale }) => {
            (i32::from(*precision) << 16 | i32::from(*scale)) + 4
        }
        SqlType::Array(element) => modifier_of(element),
        other => other.digits().map_or(-1, i32::from),
    }
}
