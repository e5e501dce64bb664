//! Plans: the rows that queries deliver, and the tables after inserts, updates and deletes.

use crate::database::{Calls, ints};
use crate::naive;
use procedure::node::{Access, Bound, Join, JoinKind, JoinMethod, Range, Scan};
use procedure::{Node, Operator};
use sql::expression::{BinaryOperator, ColumnRef, Expr, ExprKind};
use sql::{SqlType, Table};
use sql_value::Value;

const SCHEMA: &str = "
    CREATE TABLE town (id integer PRIMARY KEY, name varchar(12) NOT NULL);
    CREATE TABLE person (
        id integer PRIMARY KEY, town integer, age smallint NOT NULL, note varchar(2000)
    );
    CREATE TABLE log (what varchar(20), at integer);
    CREATE INDEX person_age ON person (town, age);
";

const FILL: &str = "
    CREATE FUNCTION fill() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO town VALUES (1, 'Gent'), (2, 'Brugge'), (3, 'Lier');
        INSERT INTO person VALUES (1, 1, 30, 'a'), (2, 1, 20, NULL), (3, 2, 40, 'c'), (4, NULL, 50, 'd');
        INSERT INTO log VALUES ('x', 1), ('x', 1), ('y', 2);
    END $$;";

fn filled(body: &str) -> Calls {
    let mut calls = Calls::new(SCHEMA, &format!("{FILL}{body}"));
    calls.call("fill", &[]).expect("the rows are fine");
    calls
}

/// Returns the rows of a query in a function of its own.
fn rows(calls: &mut Calls, name: &str) -> Vec<Vec<Value>> {
    calls.call(name, &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn texts(rows: Vec<Vec<Value>>) -> Vec<String> {
    let text = |row: Vec<Value>| match &row[..] {
        [Value::Text(text)] => text.to_string(),
        other => panic!("{other:?} is no text"),
    };
    rows.into_iter().map(text).collect()
}

#[test]
fn queries_join_group_sort_and_bound() {
    let mut calls = filled(
        "CREATE FUNCTION joined() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT t.name || ' ' || coalesce(p.age, -1) FROM town t LEFT JOIN person p ON p.town = t.id
             ORDER BY t.name, p.age DESC $$;
         CREATE FUNCTION grouped() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT coalesce(p.town, 0) || ':' || count(*) || ':' || sum(p.age) || ':' || round(avg(p.age), 1)
             FROM person p GROUP BY p.town HAVING max(p.age) > 30 OR count(*) = 2 ORDER BY 1 $$;
         CREATE FUNCTION whole() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT count(*) || ' ' || count(DISTINCT what) || ' ' || coalesce(min(at), 9)
             FROM log WHERE at > 0 $$;
         CREATE FUNCTION nobody() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT count(*) || ' ' || coalesce(sum(at), -1) FROM log WHERE at > 5 $$;
         CREATE FUNCTION some_of() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT name FROM town ORDER BY name DESC LIMIT 1 OFFSET 1 $$;
         CREATE FUNCTION united() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT what FROM log UNION SELECT name FROM town WHERE id < 2 ORDER BY 1 $$;
         CREATE FUNCTION asked() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT t.name FROM town t
             WHERE EXISTS (SELECT 1 FROM person p WHERE p.town = t.id AND p.age < 40)
                OR t.id IN (SELECT at + 1 FROM log WHERE what = 'y') ORDER BY t.id $$;
         CREATE FUNCTION unnested() RETURNS SETOF text LANGUAGE sql AS $$
             SELECT a || coalesce(b::text, '-') FROM unnest(ARRAY['p', 'q'], ARRAY[7]) AS u(a, b) $$;",
    );
    let expected: [(&str, &[&str]); 8] = [
        ("joined", &["Brugge 40", "Gent 30", "Gent 20", "Lier -1"]),
        ("grouped", &["0:1:50:50.0", "1:2:50:25.0", "2:1:40:40.0"]),
        ("whole", &["3 2 1"]),
        ("nobody", &["0 -1"]),
        ("some_of", &["Gent"]),
        ("united", &["Gent", "x", "y"]),
        ("asked", &["Gent", "Lier"]),
        ("unnested", &["p7", "q-"]),
    ];
    for (name, expected) in expected {
        assert_eq!(texts(rows(&mut calls, name)), expected, "{name}");
    }
}

#[test]
fn changes_see_themselves_and_rows_are_changed_once() {
    let mut calls = filled(
        "CREATE FUNCTION change() RETURNS SETOF text LANGUAGE plpgsql AS $$
         DECLARE n bigint; twice text;
         BEGIN
             UPDATE person SET age = age + 1, note = note || '!' WHERE town = 1;
             GET DIAGNOSTICS n = ROW_COUNT;
             RETURN NEXT n;
             UPDATE person p SET age = 0 FROM log l WHERE l.at = p.id;
             GET DIAGNOSTICS n = ROW_COUNT;
             RETURN NEXT n;
             UPDATE log SET at = at + 1;
             INSERT INTO log SELECT name, id FROM town;
             DELETE FROM log WHERE what = 'x';
             GET DIAGNOSTICS n = ROW_COUNT;
             RETURN NEXT n;
             UPDATE person SET id = id + 10 WHERE id = 4 RETURNING note || id INTO twice;
             RETURN NEXT twice;
             DELETE FROM person WHERE id = 14 RETURNING age INTO n;
             RETURN NEXT n;
             INSERT INTO town VALUES (1, 'again') ON CONFLICT DO NOTHING;
             RETURN NEXT FOUND;
             RETURN QUERY SELECT p.id || coalesce(p.note, '-') || p.age FROM person p ORDER BY p.id;
             RETURN QUERY SELECT l.what || l.at FROM log l ORDER BY 1;
         END $$;
         CREATE FUNCTION locked() RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE seen integer;
         BEGIN
             SELECT age INTO seen FROM person WHERE id = 3 FOR UPDATE;
             RETURN seen;
         END $$;",
    );
    let expected = [
        "2", "2", "2", "d14", "50", "false", "1a!0", "2-0", "3c40", "Brugge2", "Gent1", "Lier3",
        "y3",
    ];
    assert_eq!(texts(rows(&mut calls, "change")), expected);
    assert_eq!(calls.value("locked", &[]), Value::Int(40));
}

fn expr(kind: ExprKind, sql_type: SqlType) -> Expr {
    Expr { kind, sql_type }
}

fn column(source: usize, column: usize) -> Expr {
    expr(ExprKind::Column(ColumnRef { level: 0, source, column }), SqlType::Int4)
}

fn scan(table: usize, catalog: &[Table], access: Access) -> Node {
    let width = catalog[table].columns.len();
    let scan = Scan { table, access, filter: None, is_ordered: true, is_for_change: false };
    let outputs = (0..width).map(|at| column(0, at)).collect();
    Node { operator: Operator::Scan(scan), outputs, rows: 1 }
}

/// Returns the numbers that a plan delivers in its first column, when it replaces the plan of
/// `SELECT id FROM person LIMIT most`.
fn planned(make: impl Fn(&[Table]) -> Node, most: i64) -> Vec<i64> {
    let body = "CREATE FUNCTION f(most integer) RETURNS SETOF integer LANGUAGE sql AS $$
        SELECT id FROM person LIMIT most $$;";
    let mut workload = naive::workload(SCHEMA, &format!("{FILL}{body}"));
    let planned = make(&workload.catalog.tables);
    let statement = &mut workload.procedures[1].statements[0];
    let Operator::Limit { input, .. } = &mut statement.root.operator else {
        panic!("a query with a bound has one at its top");
    };
    **input = planned;
    let mut calls = Calls::over(&workload);
    calls.call("fill", &[]).expect("the rows are fine");
    let rows = calls.call("f", &ints(&[most])).expect("no error");
    let number = |row: &Vec<Value>| match row[0] {
        Value::Int(number) => number,
        _ => -1,
    };
    rows.iter().map(number).collect()
}

fn integer(number: i64) -> Expr {
    expr(ExprKind::Integer(number), SqlType::Int4)
}

#[test]
fn ranges_go_both_ways_and_stop_early() {
    let by_id = |low: Option<i64>, is_backward| {
        move |tables: &[Table]| {
            let bound = |number| Bound { value: integer(number), is_included: false };
            let range =
                Range { index: None, equal: vec![], low: low.map(bound), high: None, is_backward };
            scan(1, tables, Access::Range(range))
        }
    };
    assert_eq!(planned(by_id(None, false), 2), [1, 2]);
    assert_eq!(planned(by_id(Some(2), false), 9), [3, 4]);
    assert_eq!(planned(by_id(Some(1), true), 2), [4, 3]);
    assert!(planned(by_id(Some(1 << 40), false), 9).is_empty());
    let by_age = |tables: &[Table]| {
        let high = Some(Bound { value: integer(30), is_included: true });
        let range =
            Range { index: Some(0), equal: vec![integer(1)], low: None, high, is_backward: false };
        scan(1, tables, Access::Range(range))
    };
    assert_eq!(planned(by_age, 9), [2, 1]);
    let by_lookup = |tables: &[Table]| {
        let key = vec![integer(2), integer(40)];
        scan(1, tables, Access::Lookup { index: 0, key })
    };
    assert_eq!(planned(by_lookup, 9), [3]);
    let by_elements = |tables: &[Table]| {
        let elements = [3, 1, 3, 7].map(integer).to_vec();
        let array = expr(ExprKind::Array(elements), SqlType::Array(Box::new(SqlType::Int4)));
        let element = expr(ExprKind::Element, SqlType::Int4);
        let access = Box::new(Access::Key(vec![element]));
        let each = Access::Each { array, access, is_backward: false };
        scan(1, tables, Access::Any(vec![each, Access::Key(vec![integer(1)])]))
    };
    assert_eq!(planned(by_elements, 9), [1, 3]);
    let by_elements_of_key = |is_backward| {
        move |tables: &[Table]| {
            let elements = [3, 1, 4, 3, 2].map(integer).to_vec();
            let array = expr(ExprKind::Array(elements), SqlType::Array(Box::new(SqlType::Int4)));
            let element = expr(ExprKind::Element, SqlType::Int4);
            let access = Box::new(Access::Key(vec![element]));
            scan(1, tables, Access::Each { array, access, is_backward })
        }
    };
    assert_eq!(planned(by_elements_of_key(false), 3), [1, 2, 3]);
    assert_eq!(planned(by_elements_of_key(true), 3), [4, 3, 2]);
}

#[test]
fn equal_values_find_partners_whatever_the_kind() {
    let join = |kind: JoinKind| {
        move |tables: &[Table]| {
            let join = Join {
                method: JoinMethod::Equal {
                    pairs: vec![(column(0, 1), column(1, 0))],
                    is_ordered: false,
                },
                kind,
                join_filter: None,
                filter: None,
                outer: Box::new(scan(1, tables, Access::All)),
                inner: Box::new(scan(0, tables, Access::All)),
            };
            let outputs = vec![column(0, 0)];
            Node { operator: Operator::Join(join.clone()), outputs, rows: 1 }
        }
    };
    for (kind, expected) in [
        (JoinKind::Inner, &[1, 2, 3][..]),
        (JoinKind::Left, &[1, 2, 3, 4]),
        (JoinKind::Right, &[1, 2, 3, -1]),
        (JoinKind::Full, &[1, 2, 3, 4, -1]),
        (JoinKind::Semi, &[1, 2, 3]),
        (JoinKind::Anti, &[4]),
    ] {
        assert_eq!(ascending(planned(join(kind), 9)), ascending(expected.to_vec()), "{kind:?}");
    }
}

/// Numbers of rows without an order.
fn ascending(mut numbers: Vec<i64>) -> Vec<i64> {
    numbers.sort_unstable();
    numbers
}

/// A join of people with the towns that a key finds.
fn keyed_join(kind: JoinKind, key: Expr) -> impl Fn(&[Table]) -> Node {
    move |tables: &[Table]| {
        let inner = scan(0, tables, Access::Key(vec![key.clone()]));
        let join = Join {
            method: JoinMethod::NestedLoop,
            kind,
            join_filter: None,
            filter: None,
            outer: Box::new(scan(1, tables, Access::All)),
            inner: Box::new(inner),
        };
        let town = if kind == JoinKind::Inner { column(1, 0) } else { column(0, 0) };
        Node { operator: Operator::Join(join), outputs: vec![town], rows: 1 }
    }
}

fn of_outer(column: usize) -> Expr {
    expr(ExprKind::Column(ColumnRef { level: 1, source: 0, column }), SqlType::Int4)
}

#[test]
fn keys_lead_to_partners_whatever_the_kind() {
    for (kind, expected) in [
        (JoinKind::Inner, &[1, 1, 2][..]),
        (JoinKind::Left, &[1, 2, 3, 4]),
        (JoinKind::Semi, &[1, 2, 3]),
        (JoinKind::Anti, &[4]),
    ] {
        let all = planned(keyed_join(kind, of_outer(1)), 9);
        assert_eq!(ascending(all.clone()), expected, "{kind:?}");
        let some = &all[..expected.len().min(2)];
        assert_eq!(planned(keyed_join(kind, of_outer(1)), 2), some, "{kind:?}");
    }
}

#[test]
fn keys_that_fail_do_so_when_their_rows_are_wanted() {
    // The key of the third person, aged 40, cannot be computed.
    let age = expr(
        ExprKind::Binary {
            operator: BinaryOperator::Subtract,
            left: Box::new(of_outer(2)),
            right: Box::new(integer(40)),
        },
        SqlType::Int4,
    );
    let key = expr(
        ExprKind::Binary {
            operator: BinaryOperator::Divide,
            left: Box::new(integer(100)),
            right: Box::new(age),
        },
        SqlType::Int4,
    );
    assert_eq!(ascending(planned(keyed_join(JoinKind::Left, key.clone()), 2)), [1, 2]);
    let all = std::panic::catch_unwind(|| planned(keyed_join(JoinKind::Left, key), 9));
    assert!(all.is_err(), "the third row divides by zero");
}

#[test]
fn rows_of_keys_go_into_variables_at_once() {
    let body = "CREATE FUNCTION swap(n integer) RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE a integer := 5; b integer := 6; c integer := 7;
         BEGIN
             SELECT id, a, id INTO a, b, c FROM town WHERE id = n;
             RETURN coalesce(a, 0) * 100 + coalesce(b, 0) * 10 + coalesce(c, 0);
         END $$;
         CREATE FUNCTION one_of(n integer, OUT a integer, OUT b varchar, OUT c boolean)
         LANGUAGE plpgsql AS $$
         BEGIN
             SELECT id, name INTO a, b FROM town WHERE id = n;
             c := FOUND;
         END $$;
         CREATE FUNCTION strictly(n integer) RETURNS varchar LANGUAGE plpgsql AS $$
         DECLARE found_name varchar(12);
         BEGIN
             SELECT name INTO STRICT found_name FROM town WHERE id = n;
             RETURN found_name;
         END $$;";
    let mut workload = naive::workload(SCHEMA, &format!("{FILL}{body}"));
    for procedure in &mut workload.procedures[1..] {
        // The plan reads the row by its key and does nothing else, like PostgreSQL's plan.
        let root = &mut procedure.statements[0].root;
        let Operator::Project { input: Some(input), .. } = &root.operator else {
            panic!("the condition is above the scan");
        };
        root.operator = input.operator.clone();
    }
    let mut calls = Calls::over(&workload);
    calls.call("fill", &[]).expect("the rows are fine");
    // A row's outputs are all evaluated before the first assignment.
    assert_eq!(calls.value("swap", &ints(&[2])), Value::Int(252));
    assert_eq!(calls.value("swap", &ints(&[9])), Value::Int(0));
    let fetched = calls.call("one_of", &ints(&[2])).expect("no error");
    assert_eq!(fetched, [[Value::Int(2), "Brugge".into(), Value::Bool(true)]]);
    let fetched = calls.call("one_of", &ints(&[9])).expect("no error");
    assert_eq!(fetched, [[Value::Null, Value::Null, Value::Bool(false)]]);
    assert_eq!(calls.value("strictly", &ints(&[3])), Value::from("Lier"));
    assert_eq!(calls.error("strictly", &ints(&[4])).0, "P0002");
}
