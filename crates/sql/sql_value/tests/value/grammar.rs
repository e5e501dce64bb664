//! Templates of random expressions. A hole `{type}` is filled by any expression of the type,
//! `{type!}` only by a variable.

/// A deterministic random generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    pub fn one_of<'t>(&mut self, all: &'t [&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

/// A type's letter, and the templates of its expressions.
type Type = (char, &'static [&'static str]);

pub const TYPES: &[Type] = &[
    ('s', &["{i}::smallint", "{n}::smallint", "{f}::smallint", "{t}::smallint", "{b}::smallint"]),
    ('i', INTEGER),
    (
        'b',
        &["({i} + {b})", "({b} * {s})", "{n}::bigint", "{f}::bigint", "{i}::bigint", "{t}::bigint"],
    ),
    ('n', NUMERIC),
    ('f', FLOAT),
    ('t', TEXT),
    (
        'v',
        &[
            "{t}::varchar(10)",
            "{i}::varchar(4)",
            "{l}::varchar(3)",
            "{c}::varchar(3)",
            "{n}::varchar(5)",
        ],
    ),
    ('c', &["{t}::char(5)", "{v}::char(5)", "{i}::char(5)", "{l}::char(5)"]),
    ('l', BOOL),
    ('d', DATE),
    ('p', TIMESTAMP),
    ('z', ZONED),
    ('y', INTERVAL),
    ('x', INTEGER_ARRAY),
    ('w', TEXT_ARRAY),
];

/// Templates for integers of any width; `#` is the type.
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

/// Templates for any type; `#` is the type.
const ANY: &[&str] = &[
    "coalesce({#}, {#})",
    "greatest({#}, {#})",
    "least({#}, {#}, {#})",
    "nullif({#}, {#})",
    "CASE WHEN {l} THEN {#} ELSE {#} END",
    "CASE WHEN {l} THEN {#} WHEN {l} THEN {#} END",
    "CASE {i} WHEN {i!} THEN {#} WHEN 0 THEN {#} ELSE {#} END",
];

/// Comparisons of values of type `#`.
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

/// Returns a random expression of a type, nested at most `depth` deep.
pub fn expression(letter: char, depth: usize, random: &mut Random) -> String {
    if depth == 0 || depth < 3 && random.below(4) == 0 {
        return variable(letter, random);
    }
    let own = TYPES.iter().find(|(other, _)| *other == letter).expect("each hole is of a type").1;
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
