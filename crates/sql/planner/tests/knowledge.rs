//! Plans depend on statistics, on how tables are stored, and on unit costs; unsupported statements
//! are refused.

use planner::{
    ColumnStatistics, Constant, Costs, PlanError, ProgramError, Statistics, TableOrder,
    TableStatistics, plan_program,
};
use procedure::Workload;
use sql::{Program, Source};

const SCHEMA: &str = "
    CREATE TABLE t (k integer PRIMARY KEY, a integer NOT NULL, b integer);
    CREATE INDEX t_a ON t (a);
    CREATE TABLE u (k integer PRIMARY KEY, t integer NOT NULL);
    CREATE UNIQUE INDEX u_t ON u (t);
";

fn program(statement: &str) -> Program {
    let procedure = format!(
        "CREATE FUNCTION f(p integer) RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n {statement};\nEND\n$$;\n"
    );
    let sources = [Source::new("schema.sql", SCHEMA), Source::new("p.sql", &procedure)];
    Program::parse(&sources[0], &sources[1]).unwrap_or_else(|error| panic!("{error}"))
}

fn planned(statement: &str, statistics: &Statistics) -> Result<Workload, ProgramError> {
    plan_program(&program(statement), statistics, Costs::default())
}

fn explained(statement: &str, statistics: &Statistics) -> String {
    let workload = planned(statement, statistics).unwrap_or_else(|error| panic!("{error}"));
    let procedure = &workload.procedures[0];
    workload.explain(procedure, &procedure.statements[0]).join("\n")
}

fn rows(rows: f64) -> TableStatistics {
    TableStatistics { rows: Some(rows), ..TableStatistics::default() }
}

#[test]
fn a_common_value_is_read_by_a_full_scan_and_a_rare_one_by_an_index() {
    let common = vec![(Constant::Number(1.0), 0.95)];
    let distinct = Some(1000.0);
    let column = ColumnStatistics { distinct, common, ..ColumnStatistics::default() };
    let columns = vec![ColumnStatistics::default(), column];
    let table = TableStatistics { columns, ..rows(10_000.0) };
    let statistics = Statistics { tables: vec![table] };
    let of = |value: i32| explained(&format!("PERFORM b FROM t WHERE a = {value}"), &statistics);
    assert!(of(1).starts_with("Seq Scan"), "{}", of(1));
    assert!(of(2).starts_with("Index Scan using t_a"), "{}", of(2));
}

#[test]
fn a_histogram_tells_long_ranges_from_short_ones() {
    let histogram = (0..=100).map(|bound| Constant::Number(f64::from(bound * 10))).collect();
    let column = ColumnStatistics { histogram, ..ColumnStatistics::default() };
    let columns = vec![ColumnStatistics::default(), column];
    let table = TableStatistics { columns, ..rows(10_000.0) };
    let statistics = Statistics { tables: vec![table] };
    let of = |value: i32| explained(&format!("PERFORM b FROM t WHERE a > {value}"), &statistics);
    assert!(of(5).starts_with("Seq Scan"), "{}", of(5));
    assert!(of(995).starts_with("Index Scan using t_a"), "{}", of(995));
}

#[test]
fn the_smaller_table_is_read_first() {
    let of = |of_t: f64, of_u: f64| {
        let statistics = Statistics { tables: vec![rows(of_t), rows(of_u)] };
        explained("PERFORM t.b FROM t JOIN u ON u.t = t.k", &statistics)
    };
    let few_of_t = of(3.0, 1e6);
    assert!(few_of_t.contains("->  Seq Scan on t  (rows=3)\n"), "{few_of_t}");
    assert!(few_of_t.contains("->  Index Scan using u_t on u"), "{few_of_t}");
    let few_of_u = of(1e6, 3.0);
    assert!(few_of_u.contains("->  Index Scan using t_pkey on t"), "{few_of_u}");
}

#[test]
fn hash_tables_are_not_read_in_order() {
    let order = TableOrder::Stored(vec![None, Some(0)]);
    let table = TableStatistics { order, ..rows(1000.0) };
    let statistics = Statistics { tables: vec![table] };
    let by_key = explained("PERFORM b FROM t WHERE k > p ORDER BY k LIMIT 3", &statistics);
    assert!(by_key.contains("Sort Key: k") && by_key.contains("Seq Scan on t"), "{by_key}");
    let by_index = explained("PERFORM b FROM t ORDER BY a LIMIT 3", &statistics);
    assert!(by_index.contains("Index Scan using t_a on t"), "{by_index}");
    // A range must fix the columns by which the index is partitioned.
    let order = TableOrder::Stored(vec![Some(0), Some(1)]);
    let table = TableStatistics { order, ..rows(1000.0) };
    let statistics = Statistics { tables: vec![table] };
    let by_index = explained("PERFORM b FROM t ORDER BY a LIMIT 3", &statistics);
    assert!(by_index.contains("Seq Scan on t"), "{by_index}");
}

#[test]
fn unit_costs_decide_between_methods() {
    let statement = "PERFORM t.b FROM t JOIN u ON u.k = t.a WHERE t.k < 500";
    let statistics = Statistics { tables: vec![rows(1000.0), rows(2000.0)] };
    let joined = |costs: Costs| {
        let workload = plan_program(&program(statement), &statistics, costs);
        let workload = workload.unwrap_or_else(|error| panic!("{error}"));
        let procedure = &workload.procedures[0];
        workload.explain(procedure, &procedure.statements[0])[0].clone()
    };
    let fast = Costs { byte: 1000.0, ..Costs::default() };
    assert!(joined(fast).starts_with("Nested Loop"), "few rows are moved: {}", joined(fast));
    let far = Costs { round_trip: 1e6, batch_rows: 1.0, ..Costs::default() };
    assert!(joined(far).starts_with("Hash Join"), "few round trips are made: {}", joined(far));
}

#[test]
fn unsupported_statements_are_refused_with_a_sentence() {
    let refused = |statement: &str| {
        let error = planned(statement, &Statistics::default()).expect_err(statement);
        error.to_string()
    };
    let volatile = refused("PERFORM count(*) FROM t GROUP BY random()");
    assert!(volatile.contains("GROUP BY with a volatile function"), "{volatile}");
    let one_of_two = refused("INSERT INTO u VALUES (1, 2) ON CONFLICT (k) DO NOTHING");
    assert!(one_of_two.contains("one of several unique keys"), "{one_of_two}");
    let sixty = (0..60).map(|at| format!("t t{at}")).collect::<Vec<_>>().join(", ");
    let many = format!("EXISTS (SELECT 1 FROM {sixty})");
    let too_many = refused(&format!("PERFORM b FROM t WHERE {many} AND {many} AND {many}"));
    assert!(too_many.contains("at most 128 tables and sub-selects"), "{too_many}");
    assert!(too_many.starts_with("statement 1 of `f`, line "), "{too_many}");
    assert_eq!(PlanError::SQLSTATE, "0A000");
}
