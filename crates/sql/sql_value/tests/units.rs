//! Expressions, aggregates and columns, tested without a PostgreSQL server.

use layout::{Column, ColumnType, KeyBuilder, RecordMut, RecordRef, Schema};
use sql::expression::{
    Aggregate, BinaryOperator, CastKind, ColumnRef, Expr, ExprKind, SubqueryKind,
};
use sql::types::{Numeric, SqlType};
use sql_value::{
    AggregateCall, Conversion, Decimal, Formula, GroupKey, Nothing, Scope, Stop, Value,
};
use sql_value::{numeric, order, output, row};

fn expr(kind: ExprKind, sql_type: SqlType) -> Expr {
    Expr { kind, sql_type }
}

fn integer(number: i64) -> Expr {
    expr(ExprKind::Integer(number), SqlType::Int4)
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr, sql_type: SqlType) -> Expr {
    let kind = ExprKind::Binary { operator, left: Box::new(left), right: Box::new(right) };
    expr(kind, sql_type)
}

fn sub_plan(kind: SubqueryKind) -> Expr {
    expr(ExprKind::SubPlan { kind, plan: 0 }, SqlType::Int4)
}

/// Columns, and the rows of a sub plan after it was executed.
#[derive(Default)]
struct Rows {
    columns: Vec<Value>,
    plan: Option<Vec<Value>>,
    aggregates: Vec<Value>,
}

impl Scope for Rows {
    fn variable(&self, _variable: usize) -> &Value {
        &Value::Null
    }

    fn column(&self, column: ColumnRef) -> sql_value::Result<Value> {
        Ok(self.columns[column.column].clone())
    }

    fn element(&self) -> &Value {
        &Value::Int(7)
    }

    fn sub_plan(&self, _plan: usize) -> Option<&[Value]> {
        self.plan.as_deref()
    }

    fn aggregate(&self, aggregate: usize) -> &Value {
        &self.aggregates[aggregate]
    }

    fn now(&self) -> i64 {
        86_400_000_000 * 366
    }

    fn clock(&self) -> i64 {
        1
    }

    fn random(&self) -> f64 {
        0.25
    }
}

fn column(column: usize, sql_type: SqlType) -> Expr {
    expr(ExprKind::Column(ColumnRef { level: 0, source: 0, column }), sql_type)
}

fn refused(result: Result<Value, Stop>) -> String {
    match result {
        Err(Stop::Error(error)) => error.to_string(),
        other => panic!("an error is expected, and not {other:?}"),
    }
}

#[test]
fn a_sub_plan_is_needed_once_evaluation_reaches_it() {
    let is_seven =
        binary(BinaryOperator::Equal, column(0, SqlType::Int4), integer(7), SqlType::Bool);
    let kind = ExprKind::Case {
        branches: vec![(is_seven, sub_plan(SubqueryKind::Scalar))],
        otherwise: Some(Box::new(integer(1))),
    };
    let formula = Formula::compile(&expr(kind, SqlType::Int4));
    let mut rows = Rows { columns: vec![Value::Int(6)], ..Rows::default() };
    assert_eq!(formula.evaluate(&rows), Ok(Value::Int(1)));
    rows.columns = vec![Value::Int(7)];
    assert_eq!(formula.evaluate(&rows), Err(Stop::Needs(0)));
    rows.plan = Some(vec![Value::Int(42)]);
    assert_eq!(formula.evaluate(&rows), Ok(Value::Int(42)));
    rows.plan = Some(Vec::new());
    assert_eq!(formula.evaluate(&rows), Ok(Value::Null));
    rows.plan = Some(vec![Value::Int(1), Value::Int(2)]);
    let error = refused(formula.evaluate(&rows));
    let sentence = "21000: more than one row returned by a subquery used as an expression";
    assert_eq!(error, sentence);
}

#[test]
fn rows_of_a_sub_plan_are_searched_with_three_answers() {
    let among = |negated: bool, rows: Vec<Value>| {
        let operand = Box::new(integer(2));
        let formula = Formula::compile(&sub_plan(SubqueryKind::In { operand, negated }));
        formula.evaluate(&Rows { plan: Some(rows), ..Rows::default() })
    };
    let two = Value::Numeric(Decimal::new(200, 2));
    assert_eq!(among(false, vec![Value::Null, two.clone()]), Ok(Value::Bool(true)));
    assert_eq!(among(true, vec![Value::Null, two]), Ok(Value::Bool(false)));
    assert_eq!(among(true, vec![Value::Null, Value::Int(1)]), Ok(Value::Null));
    assert_eq!(among(false, Vec::new()), Ok(Value::Bool(false)));
    let exists = |negated, rows| {
        let formula = Formula::compile(&sub_plan(SubqueryKind::Exists { negated }));
        formula.evaluate(&Rows { plan: Some(rows), ..Rows::default() })
    };
    assert_eq!(exists(false, vec![Value::Null]), Ok(Value::Bool(true)));
    assert_eq!(exists(true, vec![Value::Null]), Ok(Value::Bool(false)));
    let array = Formula::compile(&sub_plan(SubqueryKind::Array));
    let rows = Rows { plan: Some(vec![Value::Int(1), Value::Null]), ..Rows::default() };
    let expected = Value::Array([Value::Int(1), Value::Null].into());
    assert_eq!(array.evaluate(&rows), Ok(expected));
}

#[test]
fn values_in_a_list_with_columns_are_looked_at_one_by_one() {
    let quotient =
        binary(BinaryOperator::Divide, integer(1), column(0, SqlType::Int4), SqlType::Int4);
    let in_list = |list: Vec<Expr>| {
        let operand = Box::new(integer(5));
        Formula::compile(&expr(ExprKind::InList { operand, list, negated: false }, SqlType::Bool))
    };
    let zero = Rows { columns: vec![Value::Int(0)], ..Rows::default() };
    let found = in_list(vec![integer(4), integer(5), quotient.clone()]);
    assert_eq!(found.condition(&zero), Ok(true));
    let not_yet = in_list(vec![quotient, integer(5)]);
    assert_eq!(refused(not_yet.evaluate(&zero)), "22012: division by zero");
}

#[test]
fn expressions_read_clock_random_and_element_from_the_scope() {
    let call = |function, sql_type| {
        let kind = ExprKind::Function { function, arguments: Vec::new() };
        Formula::compile(&expr(kind, sql_type)).evaluate(&Rows::default())
    };
    use sql::function::Function;
    assert_eq!(call(Function::Random, SqlType::Float8), Ok(Value::Float(0.25)));
    assert_eq!(call(Function::CurrentDate, SqlType::Date), Ok(Value::Date(366)));
    let now = Value::Timestamp(86_400_000_000 * 366);
    assert_eq!(call(Function::Now, SqlType::TimestampTz(None)), Ok(now));
    assert_eq!(call(Function::ClockTimestamp, SqlType::TimestampTz(None)), Ok(Value::Timestamp(1)));
    let element = Formula::compile(&expr(ExprKind::Element, SqlType::Int4));
    assert_eq!(element.int(&Rows::default()), Ok(Some(7)));
}

#[test]
fn a_row_is_null_if_all_of_it_is() {
    let fields = vec![
        sql::Field { name: "a".to_owned(), sql_type: SqlType::Int4 },
        sql::Field { name: "b".to_owned(), sql_type: SqlType::Text },
    ];
    let is = |values: [Expr; 2], negated| {
        let operand = Box::new(expr(ExprKind::Row(values.into()), SqlType::Record(fields.clone())));
        let kind = ExprKind::Is { operand, test: sql::expression::Test::Null, negated };
        Formula::compile(&expr(kind, SqlType::Bool)).condition(&Nothing::default())
    };
    let null = || expr(ExprKind::Null, SqlType::Text);
    assert_eq!(is([null(), null()], false), Ok(true));
    assert_eq!(is([integer(1), null()], false), Ok(false));
    assert_eq!(is([integer(1), null()], true), Ok(false));
    assert_eq!(is([integer(1), integer(2)], true), Ok(true));
}

#[test]
fn unsupported_expressions_are_errors_not_panics() {
    let count = ExprKind::Aggregate {
        aggregate: Aggregate::Count,
        argument: None,
        distinct: false,
        filter: None,
    };
    let formula = Formula::compile(&expr(count, SqlType::Int8));
    let error = refused(formula.evaluate(&Nothing::default()));
    assert_eq!(error, "XX000: an aggregate outside of a group");
    let number = ExprKind::Number("1".repeat(39));
    let formula = Formula::compile(&expr(number, SqlType::Numeric(Numeric::Open)));
    let error = refused(formula.evaluate(&Nothing::default()));
    assert!(error.starts_with("22003: value overflows numeric format; A numeric has at most 38"));
}

fn summed(aggregate: Aggregate, sql_type: &SqlType, distinct: bool, values: &[Value]) -> String {
    let call = AggregateCall {
        aggregate,
        argument: Some(Formula::compile(&column(0, sql_type.clone()))),
        argument_type: sql_type.clone(),
        distinct,
        filter: None,
    };
    let mut accumulator = call.start();
    for value in values {
        let row = Rows { columns: vec![value.clone()], ..Rows::default() };
        if let Err(Stop::Error(error)) = call.add(&mut accumulator, &row) {
            return error.to_string();
        }
    }
    match accumulator.finish() {
        Ok(Value::Null) => "null".to_owned(),
        Ok(value) => output::text(&value, &SqlType::Unknown).to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn aggregates_leave_out_nulls_and_have_postgresqls_scales() {
    let ints = [3, 1, 3].map(Value::Int);
    let with_null = [&ints[..], &[Value::Null]].concat();
    let of_ints = |aggregate, distinct| summed(aggregate, &SqlType::Int4, distinct, &with_null);
    assert_eq!(of_ints(Aggregate::Count, false), "3");
    assert_eq!(of_ints(Aggregate::Count, true), "2");
    assert_eq!(of_ints(Aggregate::Sum, false), "7");
    assert_eq!(of_ints(Aggregate::Sum, true), "4");
    assert_eq!(of_ints(Aggregate::Avg, false), "2.3333333333333333");
    assert_eq!(of_ints(Aggregate::Min, false), "1");
    assert_eq!(of_ints(Aggregate::Max, false), "3");
    assert_eq!(of_ints(Aggregate::ArrayAgg, false), "{3,1,3,NULL}");
    assert_eq!(of_ints(Aggregate::ArrayAgg, true), "{1,3,NULL}");
    let none = |aggregate| summed(aggregate, &SqlType::Int4, false, &[]);
    assert_eq!(none(Aggregate::Count), "0");
    assert_eq!(none(Aggregate::Sum), "null");
    assert_eq!(none(Aggregate::Avg), "null");
    assert_eq!(none(Aggregate::ArrayAgg), "null");
    let large = [Value::Int(i64::MAX), Value::Int(1)];
    let sum = |sql_type| summed(Aggregate::Sum, &sql_type, false, &large);
    assert_eq!(sum(SqlType::Int4), "22003: bigint out of range");
    assert_eq!(sum(SqlType::Int8), "9223372036854775808");
    let open = SqlType::Numeric(Numeric::Open);
    let decimals = [Decimal::new(150, 2), Decimal::new(25, 1)].map(Value::Numeric);
    assert_eq!(summed(Aggregate::Sum, &open, false, &decimals), "4.00");
    assert_eq!(summed(Aggregate::Avg, &open, false, &decimals), "2.0000000000000000");
    let truths = [Value::Bool(true), Value::Null, Value::Bool(false)];
    assert_eq!(summed(Aggregate::BoolAnd, &SqlType::Bool, false, &truths), "f");
    assert_eq!(summed(Aggregate::BoolOr, &SqlType::Bool, false, &truths), "t");
}

#[test]
fn aggregates_of_an_expression_are_taken_out_of_it() {
    let sum = ExprKind::Aggregate {
        aggregate: Aggregate::Sum,
        argument: Some(Box::new(column(0, SqlType::Int4))),
        distinct: false,
        filter: None,
    };
    let more = binary(
        BinaryOperator::Add,
        expr(sum, SqlType::Int8),
        expr(ExprKind::Integer(1), SqlType::Int8),
        SqlType::Int8,
    );
    let mut aggregates = Vec::new();
    let formula = Formula::of_group(&more, &mut aggregates);
    assert_eq!((aggregates.len(), aggregates[0].aggregate), (1, Aggregate::Sum));
    let group = Rows { aggregates: vec![Value::Int(41)], ..Rows::default() };
    assert_eq!(formula.evaluate(&group), Ok(Value::Int(42)));
}

fn schema() -> Schema {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("price", ColumnType::Decimal { scale: 2 }),
        Column::nullable("name", ColumnType::Varchar(5)),
        Column::nullable("code", ColumnType::Char(3)),
        Column::new("made", ColumnType::Date),
        Column::new("at", ColumnType::Timestamp),
        Column::new("ok", ColumnType::Bool),
        Column::new("weight", ColumnType::Float8),
        Column::new("label", ColumnType::Varchar(4)),
    ];
    Schema::new("item", columns, &[0, 8]).expect("the schema is fine")
}

#[test]
fn columns_round_trip_and_refuse_values_out_of_range() {
    let schema = schema();
    let key = [Value::Int(-5), Value::text("ab")];
    let builder = row::append_to_key(KeyBuilder::new(), &schema, 0, &key[0]).expect("it fits");
    let key_words = row::append_to_key(builder, &schema, 8, &key[1]).expect("it fits").key();
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    let values = [
        Value::Numeric(Decimal::new(-1234, 2)),
        Value::text("Ada"),
        Value::Null,
        Value::Date(-1),
        Value::Timestamp(86_400_000_001),
        Value::Bool(true),
        Value::Float(2.5),
    ];
    let mut record = RecordMut::new(&schema, &mut payload);
    for (at, value) in values.iter().enumerate() {
        row::write(&mut record, &schema, at + 1, value).expect("it fits");
    }
    let mut refuse = |column, value| {
        row::write(&mut record, &schema, column, &value).expect_err("it does not fit").to_string()
    };
    assert!(
        refuse(2, Value::text("\u{c4}pfel"))
            .starts_with("22001: value too long for type character varying(5)")
    );
    let null =
        "23502: null value in column \"price\" of relation \"item\" violates not-null constraint";
    assert_eq!(refuse(1, Value::Null), null);
    assert!(
        refuse(1, Value::Numeric(Decimal::new(i128::from(i64::MAX) + 1, 2))).starts_with("22003")
    );
    let record = RecordRef::new(&schema, key_words.words(), &payload);
    let read: Vec<Value> = (0..9).map(|column| row::read(&record, column)).collect();
    assert_eq!(read[1..8], values);
    assert_eq!([&read[0], &read[8]], [&key[0], &key[1]]);
    assert_eq!(row::read_int(&record, 0), Some(-5));
    assert_eq!(row::read_numeric(&record, 1), Some(Decimal::new(-1234, 2)));
    assert_eq!(row::read_numeric(&record, 0), None);
}

#[test]
fn no_row_has_a_key_that_its_columns_cannot_hold() {
    let schema = schema();
    let append = |column, value| row::append_to_key(KeyBuilder::new(), &schema, column, &value);
    assert!(append(0, Value::Int(1 << 31)).is_none());
    assert!(append(0, Value::Null).is_none());
    assert!(append(8, Value::text("abcde")).is_none());
    assert!(append(2, Value::Null).is_some());
    assert!(append(1, Value::Numeric(Decimal::new(1005, 3))).is_none());
    let (short, long) = (Decimal::new(15, 1), Decimal::new(1500, 3));
    let keys =
        [short, long].map(|number| append(1, Value::Numeric(number)).expect("it fits").key());
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn equal_values_have_equal_hashes() {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hashed = |key: &GroupKey| {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish()
    };
    let pairs = [
        (Value::Numeric(Decimal::new(150, 2)), Value::Numeric(Decimal::new(15, 1))),
        (Value::Float(0.0), Value::Float(-0.0)),
        (Value::Float(f64::NAN), Value::Float(-f64::NAN)),
        (Value::Null, Value::Null),
        (Value::Array([Value::Int(1)].into()), Value::Array([Value::Int(1)].into())),
    ];
    for (left, right) in pairs {
        let (left, right) = (GroupKey(vec![left]), GroupKey(vec![right]));
        assert!(left == right, "{left:?} {right:?}");
        assert_eq!(hashed(&left), hashed(&right), "{left:?} {right:?}");
    }
    assert!(GroupKey(vec![Value::Int(1)]) < GroupKey(vec![Value::Null]));
    let sorted = |descending, nulls_first| {
        let mut values = [Value::Int(1), Value::Null, Value::Int(2)];
        values.sort_by(|left, right| order::sort_order(left, right, descending, nulls_first));
        values.map(|value| value.as_int())
    };
    assert_eq!(sorted(true, true), [None, Some(2), Some(1)]);
    assert_eq!(sorted(true, false), [Some(2), Some(1), None]);
    assert_eq!(sorted(false, false), [Some(1), Some(2), None]);
}

#[test]
fn numbers_of_too_many_digits_are_errors_with_advice() {
    let wide = numeric::parse("99999999999999999999999999999999999999").expect("38 digits");
    let error = numeric::add(wide, Decimal::from_int(1)).expect_err("39 digits");
    assert_eq!(error.detail.as_deref(), Some("A numeric has at most 38 digits here."));
    assert!(numeric::multiply(wide, Decimal::new(1, 1)).is_ok());
    assert!(numeric::order(wide, Decimal::new(i128::MAX / 10, 38)).is_gt());
    let error = numeric::fit(Decimal::new(99_995, 4), 3, 2).expect_err("it rounds up");
    let detail =
        "A field with precision 3, scale 2 must round to an absolute value less than 10^1.";
    assert_eq!(error.detail.as_deref(), Some(detail));
    assert!(numeric::parse("NaN").is_err() && numeric::from_float(f64::INFINITY).is_err());
}

/// The expected texts were printed by PostgreSQL.
#[test]
fn floats_between_two_texts_have_an_even_last_digit() {
    for (number, text) in [
        (1e15 + 5.25, "1.0000000000000052e+15"),
        (1e15 + 5.75, "1.0000000000000058e+15"),
        (6e14 + 0.25, "600000000000000.2"),
        (-6e14 - 0.75, "-600000000000000.8"),
        (2e14 + 0.125, "200000000000000.12"),
        (2e14 + 0.375, "200000000000000.38"),
        (0.1, "0.1"),
        (-0.0, "-0"),
        (120.0, "120"),
        (0.00012, "0.00012"),
        (123_456_789_012_345.0, "123456789012345"),
    ] {
        assert_eq!(sql_value::float::text(number), text);
    }
}

#[test]
fn wider_integers_are_the_same_numbers() {
    let between = |from, to| Conversion::between(&from, &to, CastKind::Implicit);
    assert!(matches!(between(SqlType::Int2, SqlType::Int8), Conversion::Nothing));
    assert!(matches!(between(SqlType::Int4, SqlType::Int8), Conversion::Nothing));
    assert!(matches!(between(SqlType::Int8, SqlType::Int4), Conversion::IntToInt(_)));
}

#[test]
fn values_take_the_places_of_others() {
    let long = Value::text(&"x".repeat(40));
    let mut place = Value::Int(1);
    for value in [long.clone(), Value::Null, Value::text("a"), long.clone(), long, true.into()] {
        place.put(value.clone());
        assert_eq!(place, value);
    }
}

#[test]
fn conversions_through_text_print_and_read() {
    let convert = |from: SqlType, to: SqlType, value: Value| {
        Conversion::between(&from, &to, CastKind::ThroughText).apply(value)
    };
    let read = convert(SqlType::Text, SqlType::Int4, Value::text(" 7 "));
    assert_eq!(read, Ok(Value::Int(7)));
    let error = convert(SqlType::Numeric(Numeric::Open), SqlType::Bool, Decimal::new(15, 1).into());
    let message = error.expect_err("1.5 is no truth value").message;
    assert_eq!(message, "invalid input syntax for type boolean: \"1.5\"");
    assert_eq!(convert(SqlType::Bool, SqlType::Text, Value::Bool(true)), Ok(Value::text("t")));
    let padded = convert(SqlType::Char(Some(4)), SqlType::Text, Value::text("ab"));
    assert_eq!(padded, Ok(Value::text("ab  ")));
}

#[test]
fn simple_patterns_match_as_all_patterns_do() {
    use sql_value::like::{Simple, matches};
    // The last text is longer than the limit for searching byte by byte.
    let long = format!("{}ab", "ba".repeat(200));
    let texts = ["", "a", "ab", "ba", "aba", "bab", "%", "xabx", "aab", &long];
    for pattern in ["", "%", "%%", "a", "a%", "%a", "%a%", "ab%", "%ab", "%ab%"] {
        let simple = Simple::of(pattern).expect("it has nothing between the ends");
        for text in texts {
            let plain = matches(text, pattern, false).expect("it has no escapes");
            assert_eq!(simple.matches(text), plain, "{text:?} LIKE {pattern:?}");
        }
    }
    assert!(["a_", "a%b", "\\%", "%%%"].iter().all(|pattern| Simple::of(pattern).is_none()));
}
