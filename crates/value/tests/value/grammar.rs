//! What random expressions are made of: templates with holes `{type}`, which any expression of the type fills, and
//! `{type!}`, which only a variable does.

/// Three variables of each type, in the order of [`TYPES`].
pub const VARIABLES: &str = "s1 smallint, s2 smallint, s3 smallint, i1 integer, i2 integer, i3 integer, \
    b1 bigint, b2 bigint, b3 bigint, n1 numeric(12,2), n2 numeric(18,6), n3 numeric(4,4), \
    f1 double precision, f2 double precision, f3 double precision, t1 text, t2 text, t3 text, \
    v1 varchar(10), v2 varchar(10), v3 varchar(10), c1 char(5), c2 char(5), c3 char(5), \
    l1 boolean, l2 boolean, l3 boolean, d1 date, d2 date, d3 date, p1 timestamp, p2 timestamp, p3 timestamp, \
    z1 timestamptz, z2 timestamptz, z3 timestamptz, y1 interval, y2 interval, y3 interval, \
    x1 integer[], x2 integer[], x3 integer[], w1 text[], w2 text[], w3 text[]";

/// A number generator that is the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    /// One of several.
    pub fn one_of<'t>(&mut self, all: &'t [&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

/// A type by its letter: values of its variables, and templates of expressions.
type Type = (char, &'static [&'static str], &'static [&'static str]);

/// All types.
pub const TYPES: &[Type] = &[
    (
        's',
        SMALLINTS,
        &["{i}::smallint", "{n}::smallint", "{f}::smallint", "{t}::smallint", "{b}::smallint"],
    ),
    ('i', INTEGERS, INTEGER),
    (
        'b',
        BIGINTS,
        &["({i} + {b})", "({b} * {s})", "{n}::bigint", "{f}::bigint", "{i}::bigint", "{t}::bigint"],
    ),
    ('n', NUMERICS, NUMERIC),
    ('f', FLOATS, FLOAT),
    ('t', TEXTS, TEXT),
    (
        'v',
        TEXTS_OF_TEN,
        &[
            "{t}::varchar(10)",
            "{i}::varchar(4)",
            "{l}::varchar(3)",
            "{c}::varchar(3)",
            "{n}::varchar(5)",
        ],
    ),
    ('c', TEXTS_OF_TWO, &["{t}::char(5)", "{v}::char(5)", "{i}::char(5)", "{l}::char(5)"]),
    ('l', &["true", "false", "NULL"], BOOL),
    ('d', DATES, DATE),
    ('p', TIMESTAMPS, TIMESTAMP),
    ('z', TIMESTAMPS, ZONED),
    ('y', INTERVALS, INTERVAL),
    ('x', INTEGER_ARRAYS, INTEGER_ARRAY),
    ('w', TEXT_ARRAYS, TEXT_ARRAY),
];

/// Templates of integers of any width, which is the type `#`.
const ANY_INTEGER: &[&str] = &[
    "({#} + {#})",
    "({#} - {#})",
    "({#} * {#})",
    "({#} / {#})",
    "({#} % {#})",
    "(- {#})",
    "abs({#})",
    "mod({#}, {#})",
    "({#} & {#})",
    "({#} | {#})",
    "({#} # {#})",
    "({#} << ({i!} & 7))",
    "({#} >> ({i!} & 7))",
    "({#} << {i!})",
    "({#} >> {i!})",
];

/// Templates of any type, which is `#`.
const ANY: &[&str] = &[
    "coalesce({#}, {#})",
    "greatest({#}, {#})",
    "least({#}, {#}, {#})",
    "nullif({#}, {#})",
    "CASE WHEN {l} THEN {#} ELSE {#} END",
    "CASE WHEN {l} THEN {#} WHEN {l} THEN {#} END",
    "CASE {i} WHEN {i!} THEN {#} WHEN 0 THEN {#} ELSE {#} END",
];

/// Comparisons of a type that is `#`.
const COMPARISON: &[&str] = &[
    "({#} = {#})",
    "({#} <> {#})",
    "({#} < {#})",
    "({#} <= {#})",
    "({#} > {#})",
    "({#} >= {#})",
    "({#} IS DISTINCT FROM {#})",
    "({#} IS NOT DISTINCT FROM {#})",
    "({#} BETWEEN {#} AND {#})",
    "({#} NOT BETWEEN {#} AND {#})",
    "({#} IN ({#!}, {#!}, {#!}))",
    "({#} NOT IN ({#!}, {#!}))",
    "({#} IS NULL)",
    "({#} IS NOT NULL)",
];

const INTEGER: &[&str] = &[
    "{b}::integer",
    "{n}::integer",
    "{f}::integer",
    "{t}::integer",
    "{l}::integer",
    "({s} + {i})",
    "({i} * {s})",
    "length({t})",
    "length({c})",
    "char_length({v})",
    "strpos({t}, {t})",
    "position({t} IN {t})",
    "ascii({t})",
    "cardinality({x})",
    "array_length({x}, 1)",
    "array_upper({w}, 1)",
    "array_lower({x}, 1)",
    "array_length({x}, 2)",
    "{x!}[{i}]",
    "{x!}[1]",
    "({d} - {d})",
];

const NUMERIC: &[&str] = &[
    "({n} + {n})",
    "({n} - {n})",
    "({n} * {n!})",
    "({n} / {n})",
    "({n} % {n})",
    "({n} + {i})",
    "({n!} * {i})",
    "({b} / {n})",
    "({n} - {b})",
    "(- {n})",
    "abs({n})",
    "round({n})",
    "round({n}, 1)",
    "round({n}, ({s!} % 6))",
    "trunc({n})",
    "trunc({n}, 1)",
    "trunc({n}, ({s!} % 6))",
    "floor({n})",
    "ceil({n})",
    "sign({n})",
    "mod({n}, {n})",
    "{i}::numeric",
    "{b}::numeric(18,2)",
    "{f}::numeric",
    "{f}::numeric(10,2)",
    "{n}::numeric(8,3)",
    "{n}::numeric(6,0)",
    "{n}::numeric(4,4)",
    "{t}::numeric",
    "({i} / 3.0)",
    "({n} * 1.50)",
    "({n} / 7)",
    "extract(year FROM {d})",
    "extract(quarter FROM {p})",
    "extract(month FROM {z})",
    "extract(day FROM {d})",
    "extract(hour FROM {p})",
    "extract(minute FROM {p})",
    "extract(second FROM {p})",
    "extract(dow FROM {d})",
    "extract(isodow FROM {p})",
    "extract(doy FROM {d})",
    "extract(epoch FROM {p})",
    "extract(epoch FROM {d})",
    "extract(epoch FROM {y})",
    "extract(day FROM {y})",
    "extract(hour FROM {y})",
    "extract(second FROM {y})",
    "extract(month FROM {y})",
    "extract(year FROM {y})",
    "extract(quarter FROM {y})",
    "extract(minute FROM {y})",
    "extract(dow FROM {y})",
    "extract(hour FROM {d})",
];

const FLOAT: &[&str] = &[
    "({f} + {f})",
    "({f} - {f})",
    "({f} * {f})",
    "({f} / {f})",
    "({f} + {n})",
    "({f} * {i})",
    "(- {f})",
    "abs({f})",
    "round({f})",
    "trunc({f})",
    "floor({f})",
    "ceil({f})",
    "sign({f})",
    "sign({i})",
    "{i}::double precision",
    "{b}::double precision",
    "{n}::double precision",
    "{t}::double precision",
    "round({i})",
    "ceil({b})",
];

const TEXT: &[&str] = &[
    "({t} || {t})",
    "({t} || {i})",
    "({t} || {n})",
    "({l} || {t})",
    "({t} || {c})",
    "({v} || {d})",
    "({t} || {f})",
    "lower({t})",
    "upper({v})",
    "substr({t}, {i!})",
    "substr({t}, {s!}, {s!})",
    "substring({t} FROM 2 FOR {i!})",
    "lpad({t}, ({i!} % 20))",
    "lpad({v}, ({s!} % 20), {t!})",
    "rpad({t}, ({i!} % 20), {t!})",
    "rpad({c}, 8)",
    "left({t}, {s!})",
    "right({t}, {s!})",
    "left({v}, ({i!} % 5))",
    "right({c}, ({i!} % 5))",
    "trim({t})",
    "btrim({t}, {t!})",
    "ltrim({t})",
    "ltrim({v}, {t!})",
    "rtrim({c})",
    "rtrim({t}, {t!})",
    "replace({t}, {t!}, {t!})",
    "repeat({t}, ({i!} % 5))",
    "reverse({t})",
    "chr({i!} & 1023)",
    "chr({i!})",
    "concat({t}, {i}, {l}, {n})",
    "concat({c}, {v}, {d}, {f})",
    "concat({i}::char(4), {d}::char(12))",
    "concat({p}, {z}, {y})",
    "{i}::text",
    "{n}::text",
    "{f}::text",
    "{l}::text",
    "{c}::text",
    "{d}::text",
    "{p}::text",
    "{z}::text",
    "{y}::text",
    "to_char({i}, '0000')",
    "to_char({i}, 'FM00009')",
    "to_char({b}, '9999')",
    "to_char({i}, 'FM9999999999')",
    "to_char({s}, '99099')",
    "{w!}[1]",
    "{w!}[{i!}]",
];

const BOOL: &[&str] = &[
    "({l} AND {l})",
    "({l} OR {l})",
    "(NOT {l})",
    "({l} IS TRUE)",
    "({l} IS NOT TRUE)",
    "({l} IS FALSE)",
    "({l} IS NOT FALSE)",
    "({t} LIKE {t!})",
    "({t} NOT LIKE {t!})",
    "({v} ILIKE {t!})",
    "({c!} LIKE {t!})",
    "({t} LIKE '%b%')",
    "({t} LIKE 'a%_')",
    "({i} = ANY ({x}))",
    "({i} <> ALL ({x}))",
    "({i} < ANY ({x}))",
    "({t} = ANY ({w}))",
    "({i} >= ALL ({x}))",
    "({s} < {b})",
    "({i} = {n})",
    "({n} < {f})",
    "({b} >= {f})",
    "({c} = {v})",
    "({c} < {t})",
    "({v} > {t})",
    "({d} < {p})",
    "({p} >= {z})",
    "({d} = {z})",
    "{t}::boolean",
    "{i}::boolean",
    "({n} IN (1, 2.50, {i!}))",
];

const DATE: &[&str] = &[
    "({d} + {i!})",
    "({d} - {i!})",
    "({i!} + {d})",
    "({d} + {s})",
    "{p}::date",
    "{z}::date",
    "{t}::date",
];

const TIMESTAMP: &[&str] = &[
    "({p} + {y})",
    "({p} - {y})",
    "({y} + {p})",
    "({d} + {y})",
    "({d} - {y})",
    "{d}::timestamp",
    "{z}::timestamp",
    "{t}::timestamp",
    "date_trunc('hour', {p})",
    "date_trunc('week', {p})",
    "date_trunc('quarter', {p})",
    "date_trunc('century', {p})",
    "date_trunc('decade', {p})",
    "date_trunc('milliseconds', {p})",
    "date_trunc('millennium', {p})",
    "date_trunc({t!}, {p})",
];

const ZONED: &[&str] = &[
    "({z} + {y})",
    "({z} - {y})",
    "{p}::timestamptz",
    "{d}::timestamptz",
    "{t}::timestamptz",
    "date_trunc('day', {z})",
    "date_trunc('month', {z})",
    "date_trunc('year', {z})",
    "date_trunc('minute', {z})",
    "date_trunc({t!}, {z})",
];

const INTERVAL: &[&str] = &[
    "({y} + {y})",
    "({y} - {y})",
    "(- {y})",
    "({y!} * {f!})",
    "({f!} * {y!})",
    "({y!} / {f!})",
    "({y!} * 1.5)",
    "({y!} / 7)",
    "({y} * {s!})",
    "({p} - {p})",
    "({z} - {p})",
    "({z} - {d})",
    "{t}::interval",
];

const INTEGER_ARRAY: &[&str] = &[
    "({x} || {x})",
    "({x} || {i})",
    "array_append({x}, {i})",
    "array_cat({x}, {x})",
    "ARRAY[{i}, {i}, {i}]",
    "ARRAY[{s}, {i}]",
];

const TEXT_ARRAY: &[&str] = &[
    "({w} || {w})",
    "array_append({w}, {t})",
    "ARRAY[{t}, {v}]",
    "ARRAY[{t}]",
    "array_cat({w}, {w})",
];

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

/// Of the first two variables, which have digits in front of the point.
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

const TEXTS_OF_TWO: &[&str] =
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

/// The values of a type's variable with this number, from 1.
pub fn values(letter: char, number: usize) -> &'static [&'static str] {
    if letter == 'n' && number < 3 { WIDE_NUMERICS } else { row(letter).1 }
}

fn row(letter: char) -> &'static Type {
    TYPES.iter().find(|(other, ..)| *other == letter).expect("each hole is of a type")
}

/// An expression of a type, at most so deep.
pub fn expression(letter: char, depth: usize, random: &mut Random) -> String {
    if depth == 0 || depth < 3 && random.below(4) == 0 {
        return variable(letter, random);
    }
    let own = row(letter).2;
    let lists: &[&[&str]] = match letter {
        's' | 'i' | 'b' => &[own, ANY_INTEGER, ANY],
        'l' => &[own, own, COMPARISON, COMPARISON, ANY],
        _ => &[own, own, own, own, ANY],
    };
    let list = lists[random.below(lists.len())];
    let template = random.one_of(list);
    let any = match letter {
        'l' if COMPARISON.contains(&template) => TYPES[random.below(TYPES.len())].0,
        letter => letter,
    };
    filled(template, any, depth - 1, random)
}

fn variable(letter: char, random: &mut Random) -> String {
    format!("{letter}{}", 1 + random.below(3))
}

fn filled(template: &str, any: char, depth: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (hole, after) = behind.split_once('}').expect("a hole ends");
        let letter = hole.chars().next().expect("a hole has a type");
        let letter = if letter == '#' { any } else { letter };
        text.push_str(before);
        match hole.ends_with('!') {
            true => text.push_str(&variable(letter, random)),
            false => text.push_str(&expression(letter, depth, random)),
        }
        rest = after;
    }
    text + rest
}
