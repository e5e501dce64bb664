//! Values of the variables in random expressions: bounds of types, nulls, and texts that several
//! types can parse.

/// Three variables of each type, in the order of [`TYPES`](crate::grammar::TYPES).
pub const VARIABLES: &str = "s1 smallint, s2 smallint, s3 smallint, i1 integer, i2 integer, i3 integer, \
    b1 bigint, b2 bigint, b3 bigint, n1 numeric(12,2), n2 numeric(18,6), n3 numeric(4,4), \
    f1 double precision, f2 double precision, f3 double precision, t1 text, t2 text, t3 text, \
    v1 varchar(10), v2 varchar(10), v3 varchar(10), c1 char(5), c2 char(5), c3 char(5), \
    l1 boolean, l2 boolean, l3 boolean, d1 date, d2 date, d3 date, p1 timestamp, p2 timestamp, p3 timestamp, \
    z1 timestamptz, z2 timestamptz, z3 timestamptz, y1 interval, y2 interval, y3 interval, \
    x1 integer[], x2 integer[], x3 integer[], w1 text[], w2 text[], w3 text[]";

/// Returns the values of a type's variable with this number, counted from 1.
pub fn values(letter: char, number: usize) -> &'static [&'static str] {
    match letter {
        's' => SMALLINTS,
        'i' => INTEGERS,
        'b' => BIGINTS,
        'n' if number < 3 => WIDE_NUMERICS,
        'n' => NUMERICS,
        'f' => FLOATS,
        't' => TEXTS,
        'v' => TEXTS_OF_TEN,
        'c' => TEXTS_OF_FIVE,
        'l' => &["true", "false", "NULL"],
        'd' => DATES,
        'p' | 'z' => TIMESTAMPS,
        'y' => INTERVALS,
        'x' => INTEGER_ARRAYS,
        'w' => TEXT_ARRAYS,
        _ => unreachable!("each variable is of a type"),
    }
}

const SMALLINTS: &[&str] = &[
    "NULL", "0", "1", "-1", "2", "-2", "3", "7", "-13", "100", "255", "32767", "-32768", "181",
    "182",
];

const INTEGERS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "-3",
    "7",
    "10",
    "-10",
    "64",
    "100",
    "-999",
    "32768",
    "46340",
    "46341",
    "65536",
    "1000000",
    "2147483647",
    "-2147483648",
];

const BIGINTS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "5",
    "-7",
    "12345",
    "2147483647",
    "2147483648",
    "-2147483649",
    "3037000500",
    "1000000000000",
    "9223372036854775807",
    "-9223372036854775808",
];

const NUMERICS: &[&str] = &[
    "NULL", "0", "0.1", "-0.1", "0.5", "-0.5", "0.05", "0.9999", "-0.9999", "0.0001", "0.25",
    "0.3333", "0.1250", "0.45", "0.0049",
];

/// Values of the first two `numeric` variables, which have digits before the decimal point.
const WIDE_NUMERICS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "0.01",
    "-0.01",
    "0.5",
    "1.5",
    "2.5",
    "-2.5",
    "99.995",
    "3.14",
    "100",
    "10000",
    "12345.67",
    "-98765.43",
    "9999999999.99",
    "-9999999999.99",
    "0.000001",
    "1234567.5",
    "7",
];

const FLOATS: &[&str] = &[
    "NULL",
    "0",
    "'-0'",
    "1",
    "-1",
    "0.1",
    "0.5",
    "1.5",
    "2.5",
    "-2.5",
    "3.14159",
    "1e10",
    "1e15",
    "1e16",
    "123456789012345680",
    "1e-5",
    "0.0001",
    "1e300",
    "1e-300",
    "-7.25",
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "0.30000000000000004",
    "1e20",
];

const TEXTS: &[&str] = &[
    "NULL",
    "''",
    "'a'",
    "'ab'",
    "'abc'",
    "'abc '",
    "' x '",
    "'%'",
    "'a%'",
    "'_b'",
    "'%b%'",
    "'a\\%'",
    "'A'",
    "'\u{c4}pfel'",
    "'\u{df}\u{20ac}\u{1d11e}'",
    "'12'",
    "' 42 '",
    "'-7'",
    "'1.50'",
    "'1e3'",
    "'true'",
    "'t'",
    "'NULL'",
    "'day'",
    "'hour'",
    "'2024-02-29'",
    "'2024-02-29 13:05:06.7'",
    "'1 day 02:03'",
    "'{a,b}'",
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
    "'banana'",
    "'a,b\"c'",
    "'\\'",
];

const TEXTS_OF_TEN: &[&str] = &[
    "NULL",
    "''",
    "'a'",
    "'ab'",
    "'ab  '",
    "'\u{c4}pfel'",
    "'abcdefghij'",
    "'b'",
    "'A b'",
    "'%'",
    "'42'",
    "' a'",
];

const TEXTS_OF_FIVE: &[&str] =
    &["NULL", "''", "'a'", "'ab'", "'b '", "'\u{e4}'", "'AB'", "' a'", "'%'"];

const DATES: &[&str] = &[
    "NULL",
    "'2000-01-01'",
    "'1999-12-31'",
    "'2024-02-29'",
    "'2023-03-31'",
    "'1970-01-01'",
    "'0001-01-01'",
    "'0044-03-15 BC'",
    "'9999-12-31'",
    "'5874897-12-31'",
    "'4713-01-01 BC'",
    "'infinity'",
    "'-infinity'",
    "'2024-12-30'",
    "'1900-02-28'",
];

const TIMESTAMPS: &[&str] = &[
    "NULL",
    "'2000-01-01 00:00:00'",
    "'1999-12-31 23:59:59.999999'",
    "'2024-02-29 13:05:06.7'",
    "'2024-01-31 00:00:00.000001'",
    "'1970-01-01 00:00:00'",
    "'0001-01-01 12:00:00'",
    "'0044-03-15 10:00:00 BC'",
    "'294276-12-31 23:59:59.999999'",
    "'4713-01-01 00:00:00 BC'",
    "'infinity'",
    "'-infinity'",
    "'2023-11-05 01:30:00'",
    "'1905-06-15 08:09:10.25'",
];

const INTERVALS: &[&str] = &[
    "NULL",
    "'0'",
    "'1 day'",
    "'-1 day'",
    "'1 month'",
    "'-13 months'",
    "'1 year 2 months 3 days 04:05:06.789'",
    "'00:00:00.000001'",
    "'-00:30'",
    "'1 month -1 day 12:00'",
    "'-1 month 1 day -12:00'",
    "'100 years'",
    "'36 hours'",
    "'1.5 days'",
    "'90 minutes'",
    "'178000000 years'",
    "'29 days 23:59:59.5'",
];

const INTEGER_ARRAYS: &[&str] = &[
    "NULL",
    "'{}'",
    "'{1}'",
    "'{1,2,3}'",
    "'{NULL,1}'",
    "'{1,NULL}'",
    "'{-1,2147483647}'",
    "'{1,2}'",
    "'{7,7,7,7}'",
];

const TEXT_ARRAYS: &[&str] = &[
    "NULL",
    "'{}'",
    "'{a}'",
    "'{a,b,c}'",
    "'{NULL,a}'",
    "'{\"a b\",\"\",\"NULL\"}'",
    "'{\"x\\\\y\",\"q\\\"r\"}'",
    "'{\u{c4}pfel}'",
];
