//! PostgreSQL's plans with every kind of node, compared with their parsed form.
//!
//! The plans are stored in the folder `nodes`. If PostgreSQL is installed, they are also collected
//! again and compared; `NAMDB_BLESS=1` writes them.

#[path = "support/shape.rs"]
mod shape;
#[path = "support/mod.rs"]
mod support;

use postgres_plan::{ColumnSpread, Origin, Question, ServerChoice, Statement, TableSize, read};
use postgres_plan::{Expression, SortKey};
use shape::shape;
use std::path::PathBuf;

/// Name, parameter types, text, and the shape of the plan; an empty shape means that the plan must
/// be refused.
type Case = (&'static str, &'static [&'static str], &'static str, &'static str);

#[rustfmt::skip]
const CASES: [Case; 44] = [
    ("index_scan", &["integer"], "SELECT name FROM part WHERE id = $1", "index part_pkey"),
    ("index_only", &["integer"], "SELECT count(*) FROM part WHERE maker = $1", "plain(index only part_maker)"),
    ("backward", &["integer"], "SELECT id FROM part WHERE id < $1 ORDER BY id DESC LIMIT 3", "limit(index only part_pkey backward)"),
    ("index_range", &["integer", "integer"], "SELECT name FROM part WHERE id BETWEEN $1 AND $2 AND price IS NOT NULL", "index part_pkey"),
    ("bitmap_or", &["integer", "integer"], "SELECT name FROM part WHERE maker = $1 OR colour = $2", "bitmap or(part_maker, part_colour)"),
    ("bitmap_and", &["integer", "integer"], "SELECT name FROM part WHERE maker = $1 AND colour = $2", "bitmap and(part_colour, part_maker)"),
    ("any", &["integer[]"], "SELECT name FROM part WHERE id = ANY ($1)", "index part_pkey"),
    ("sequential", &["text"], "SELECT id FROM part WHERE name LIKE $1", "sequential part"),
    ("tid", &["tid"], "SELECT id FROM part WHERE ctid = $1", "tid part"),
    ("nested_loop", &["integer"], "SELECT p.name FROM sale s JOIN part p ON p.id = s.part WHERE s.id = $1", "loop inner(index sale_pkey, index part_pkey)"),
    ("left_join", &["integer"], "SELECT s.id, p.name FROM sale s LEFT JOIN part p ON p.id = s.part AND p.colour = 3 WHERE s.id = $1", "loop left(index sale_pkey, index part_pkey)"),
    ("hash_join", &[], "SELECT s.id FROM sale s JOIN sale r ON r.part = s.amount AND r.id <> s.id", "hash inner(sequential sale, hash(sequential sale))"),
    ("merge_join", &[], "SELECT s.id FROM sale s JOIN part p ON p.id = s.id ORDER BY s.id", "merge inner(index only sale_pkey, index only part_pkey)"),
    ("semi_join", &["integer"], "SELECT m.name FROM maker m WHERE m.id = $1 AND EXISTS (SELECT FROM part p WHERE p.maker = m.id AND p.colour = 1)", "loop semi(index maker_pkey, bitmap and(part_colour, part_maker))"),
    ("anti_join", &["integer"], "SELECT m.name FROM maker m WHERE m.id = $1 AND NOT EXISTS (SELECT FROM sale s WHERE s.part = m.id)", "loop anti(index maker_pkey, sequential sale)"),
    ("sort", &["integer"], "SELECT name FROM part WHERE maker = $1 ORDER BY name DESC, price", "sort(index part_maker)"),
    ("incremental_sort", &[], "SELECT maker, name FROM part ORDER BY maker, name LIMIT 10", "limit(sort 1(index part_maker))"),
    ("offset", &["integer", "bigint"], "SELECT id FROM part WHERE maker = $1 ORDER BY name LIMIT 1 OFFSET ($2 - 1) / 2", "limit(sort(index part_maker))"),
    ("sorted_groups", &["integer"], "SELECT maker, sum(price) FROM part WHERE maker > $1 GROUP BY maker HAVING count(*) > 2 ORDER BY maker", "sorted(index part_maker)"),
    ("hashed_groups", &["integer"], "SELECT maker % 7, count(*) FROM part WHERE maker > $1 GROUP BY maker % 7", "hashed(index only part_maker)"),
    ("distinct_count", &["integer"], "SELECT count(DISTINCT colour) FILTER (WHERE price > 1) FROM part WHERE maker = $1", "plain(index part_maker)"),
    ("group", &["integer"], "SELECT maker FROM part WHERE maker > $1 GROUP BY maker ORDER BY maker", "group(index only part_maker)"),
    ("unique", &["integer"], "SELECT DISTINCT maker FROM part WHERE maker > $1 ORDER BY maker", "unique(index only part_maker)"),
    ("result", &["integer"], "SELECT $1 + 1, now()", "result"),
    ("one_time_filter", &["boolean", "integer"], "SELECT name FROM part WHERE $1 AND id = $2", "result(index part_pkey)"),
    ("values", &["integer"], "SELECT v.a FROM (VALUES (1, 2), (3, $1)) AS v (a, b) WHERE v.b > 1", "values"),
    ("append", &["integer"], "SELECT id FROM part WHERE id = $1 UNION ALL SELECT id FROM sale WHERE id = $1", "append(index only part_pkey, index only sale_pkey)"),
    ("merge_append", &[], "(SELECT id FROM part) UNION ALL (SELECT id FROM sale) ORDER BY id", "merge append(index only part_pkey, index only sale_pkey)"),
    ("materialize", &[], "SELECT m.id FROM maker m JOIN maker n ON n.name <> m.name", "loop inner(sequential maker, materialize(sequential maker))"),
    ("memoize", &[], "SELECT m.id FROM maker m JOIN sale s ON s.amount < m.id", "loop inner(sequential sale, memoize(index only maker_pkey))"),
    ("insert", &["integer", "text"], "INSERT INTO maker (id, name) VALUES ($1, $2)", "insert maker(result)"),
    ("insert_rows", &["integer", "text"], "INSERT INTO maker (id, name) VALUES ($1, $2), ($1 + 1, $2) ON CONFLICT (id) DO NOTHING", "insert maker skipping(values)"),
    ("upsert", &["integer", "text"], "INSERT INTO maker AS m (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE m.name <> excluded.name RETURNING id", "insert maker updating(result)"),
    ("update", &["integer", "integer"], "UPDATE part SET colour = colour + $2, name = CASE WHEN price > 5 THEN 'dear' ELSE name END WHERE id = $1 RETURNING name", "update part(index part_pkey)"),
    ("delete", &["integer"], "DELETE FROM part WHERE id = $1", "delete part(index part_pkey)"),
    ("lock", &["integer"], "SELECT name FROM part WHERE id = $1 FOR UPDATE", "lock(index part_pkey)"),
    ("init_plan", &[], "SELECT id FROM sale WHERE id = (SELECT min(id) FROM part)", "init[init[limit(index only part_pkey)] result] index only sale_pkey"),
    ("sub_plan", &["integer"], "SELECT id, EXISTS (SELECT FROM sale s WHERE s.id = p.id) AS sold FROM part p WHERE id = $1", "sub[index only sale_pkey] index only part_pkey"),
    ("query_name", &["integer"], "WITH recent AS MATERIALIZED (SELECT * FROM sale WHERE id > $1) SELECT r.amount FROM recent r WHERE r.part = 5", "init[index sale_pkey] query recent"),
    ("subquery", &["integer"], "SELECT * FROM (SELECT id, name FROM part WHERE maker = $1 ORDER BY name LIMIT 5) AS first WHERE first.name LIKE 'a%'", "subquery(limit(sort(index part_maker)))"),
    ("function", &["integer[]"], "SELECT p.name FROM unnest($1) AS wanted (id) JOIN part p ON p.id = wanted.id", "loop inner(function, index part_pkey)"),
    ("project_set", &["integer[]"], "SELECT unnest($1) AS element", "project set(result)"),
    ("hashed_sub_plan", &[], "SELECT id FROM maker WHERE id NOT IN (SELECT part FROM sale)", ""),
    ("window", &[], "SELECT id, row_number() OVER (ORDER BY id) FROM part", ""),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/nodes")
}

fn question() -> Question {
    let spread = |column: &str, distinct| ColumnSpread {
        column: column.to_owned(),
        distinct,
        null_fraction: 0.0,
    };
    let size = |table: &str, rows, columns| TableSize { table: table.to_owned(), rows, columns };
    let statements = CASES.iter().map(|(name, types, text, _)| Statement {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
        parameter_types: types.iter().map(|name| (*name).to_owned()).collect(),
    });
    Question {
        files: vec![folder().join("schema.sql")],
        sizes: vec![
            size(
                "part",
                1_000_000,
                vec![spread("maker", 1000), spread("colour", 1000), spread("id", 1_000_000)],
            ),
            size(
                "sale",
                100_000,
                vec![spread("part", 1000), spread("id", 100_000), spread("amount", 10)],
            ),
            size("maker", 1000, vec![spread("id", 1000)]),
        ],
        statements: statements.collect(),
        checks: Vec::new(),
    }
}

fn stored(name: &str) -> String {
    let path = folder().join(format!("{name}.xml"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn origin(name: &str, types: &[&str]) -> Origin {
    Origin {
        file: format!("{name}.xml"),
        statement: name.to_owned(),
        parameters: types.len() as u32,
    }
}

#[test]
fn every_kind_of_node_is_read() {
    let mut others = Vec::new();
    for (name, types, _, expected) in CASES {
        let found = match read(&stored(name), &origin(name, types)) {
            Ok(plan) => shape(&plan.root),
            Err(_) if expected.is_empty() => String::new(),
            Err(error) => error.to_string(),
        };
        if found != expected {
            others.push(format!("{name}: {found} instead of {expected}"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn postgresql_gives_the_same_plans_again() {
    let Some(answer) =
        support::unless_absent(postgres_plan::collect(&question(), &ServerChoice::Private))
    else {
        return;
    };
    for ((name, ..), plan) in CASES.iter().zip(&answer.plans) {
        let text = format!("{plan}\n");
        if std::env::var_os("NAMDB_BLESS").is_some() {
            std::fs::write(folder().join(format!("{name}.xml")), &text)
                .expect("the folder is ours");
        }
        assert_eq!(stored(name), text, "{name}");
    }
}

/// Parsing loses nothing: printing gives PostgreSQL's text again.
#[test]
fn expressions_of_plans_are_written_as_they_were_read() {
    let mut count = 0;
    for (name, ..) in CASES.iter().filter(|(.., shape)| !shape.is_empty()) {
        let text = stored(name);
        let document = roxmltree::Document::parse(&text).expect("it is XML");
        for element in document.descendants().filter(|element| element.is_element()) {
            let text = element.text().unwrap_or_default();
            let list = element.parent_element().map(|parent| parent.tag_name().name());
            let written = match (element.tag_name().name(), list) {
                ("Item", Some("Sort-Key" | "Presorted-Key")) => {
                    SortKey::parse(text).map(|key| key.to_string())
                }
                ("Item", Some("Output" | "Group-Key")) => {
                    Expression::parse(text).map(|value| value.to_string())
                }
                ("Filter" | "Function-Call" | "One-Time-Filter" | "Conflict-Filter", _) => {
                    Expression::parse(text).map(|value| value.to_string())
                }
                (attribute, _) if attribute.ends_with("-Cond") => {
                    Expression::parse(text).map(|value| value.to_string())
                }
                _ => continue,
            };
            assert_eq!(written.as_deref(), Ok(text), "{name}");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} expressions were found");
}
