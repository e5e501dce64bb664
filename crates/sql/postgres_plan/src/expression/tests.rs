//! Expressions that PostgreSQL prints, and texts that it never prints.

use super::*;

fn parse(text: &str) -> Expression {
    match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => panic!("{error}"),
    }
}

fn column(relation: &str, column: &str) -> Box<Expression> {
    let (relation, column) = (Some(relation.to_owned()), column.to_owned());
    Box::new(Expression::Column { relation, column })
}

/// Printing a parsed expression gives PostgreSQL's text again.
#[test]
fn expressions_are_written_as_they_were_read() {
    let texts = [
        "((stock.s_w_id = $1) AND (stock.s_i_id = order_line.ol_i_id))",
        "(district.d_next_o_id + 1)",
        "(item.i_data ~~ '%ORIGINAL%'::text)",
        "((customer.c_last)::text = ($4)::text)",
        "count(DISTINCT stock.s_i_id)",
        "(count(*))",
        "((sum(a.x) / b.y))",
        "string_agg(t.a, ', '::text ORDER BY t.b DESC, t.c) FILTER (WHERE (t.d > 5))",
        "CASE WHEN ((stock.s_quantity - ($1)[$2]) >= 10) THEN 1 ELSE 2 END",
        "CASE $2 WHEN 1 THEN stock.s_dist_01 ELSE stock.s_dist_02 END",
        "CASE WHEN t.flag THEN 1 ELSE NULL::integer END",
        "(t.a IS NOT NULL)",
        "((t.a IS DISTINCT FROM t.b) OR (NOT t.c) OR (t.d IS NOT TRUE))",
        "(t.a = ANY ('{1,2}'::integer[]))",
        "(t.a <> ALL ($1))",
        "(- t.a)",
        "('-5'::integer)::numeric(12,2)",
        "'it''s'::character varying(16)",
        "'2000-01-01 00:00:00'::timestamp without time zone",
        "COALESCE(t.a, 0, true)",
        "EXTRACT(year FROM t.a)",
        "POSITION(('a'::text) IN (t.b))",
        "SUBSTRING(t.a FROM 1 FOR 2)",
        "TRIM(BOTH FROM t.a)",
        "TRIM(LEADING 'z'::text FROM t.a)",
        "LOCALTIMESTAMP",
        "CURRENT_TIMESTAMP(3)",
        "(t.a COLLATE \"C\")",
        "(t.a AT TIME ZONE 'UTC'::text)",
        "(SubPlan 1)",
        "(t.r).field",
        "ARRAY[1, 2, t.a]",
        "ROW(t.a, 1)",
        "t.*",
        "\"Mixed Case\".\"odd\"\"name\"",
        "pg_catalog.timezone('UTC'::text, t.a)",
        "1.5e+10",
    ];
    for text in texts {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn a_comparison_shows_its_parameter() {
    let right = Box::new(Expression::Parameter(1));
    let expected = Expression::Binary { operator: "=".to_owned(), left: column("t", "a"), right };
    assert_eq!(parse("(t.a = $1)"), expected);
}

/// A second pair of parentheses means that another node computes the value.
#[test]
fn a_value_from_another_node_differs_from_one_that_is_computed() {
    let sum = parse("(t.a + t.b)");
    assert!(matches!(sum, Expression::Binary { .. }));
    assert_eq!(parse("((t.a + t.b))"), Expression::Computed(Box::new(sum.clone())));
    let type_name = "bigint".to_owned();
    assert_eq!(
        parse("((t.a + t.b))::bigint"),
        Expression::Cast { operand: Box::new(sum), type_name }
    );
}

#[test]
fn sort_keys_have_a_direction_and_a_place_for_nulls() {
    for (text, descending, nulls_first) in [
        ("orders.o_id", false, false),
        ("orders.o_id DESC", true, true),
        ("orders.o_id DESC NULLS LAST", true, false),
        ("orders.o_id NULLS FIRST", false, true),
    ] {
        let key = SortKey::parse(text).expect("this is a sort key");
        assert_eq!((key.descending, key.nulls_first), (descending, nulls_first), "{text}");
        assert_eq!(key.to_string(), text);
    }
    let collated = SortKey::parse("t.a COLLATE \"C\" DESC").expect("this is a sort key");
    assert!(matches!(collated.value, Expression::Collate { .. }) && collated.descending);
}

#[test]
fn unsupported_expressions_are_reported_with_their_position() {
    for (text, position, sentence) in [
        ("(t.a = )", 8, "a value is expected"),
        ("(t.a = 1", 9, "`)` is expected"),
        ("t.a t.b", 5, "the end is expected"),
        ("(NOT (hashed SubPlan 1))", 14, "NOT EXISTS"),
        ("'open", 6, "the closing quote"),
        ("XMLPARSE(1)", 1, "XMLPARSE is not known"),
        ("(t.a OVERLAPS t.b)", 6, "OVERLAPS is not known"),
        ("$x", 2, "a number is missing"),
        ("", 1, "a value is expected"),
        ("t.a;", 4, "not part of an expression"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        assert_eq!(error.position, position, "{error}");
        assert!(error.sentence.contains(sentence), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth: usize| format!("{}1{}", "(- ".repeat(depth), ")".repeat(depth));
    assert!(Expression::parse(&nested(90)).is_ok());
    assert!(
        Expression::parse(&nested(100_000)).is_err_and(|error| error.sentence.contains("deep"))
    );
}

#[test]
fn all_parts_are_visited() {
    let mut parameters = Vec::new();
    parse("CASE WHEN (t.a = $1) THEN ($2)[$3] ELSE f($4, ARRAY[$5]) END").walk(&mut |part| {
        if let Expression::Parameter(number) = part {
            parameters.push(*number);
        }
    });
    assert_eq!(parameters, [1, 2, 3, 4, 5]);
}
