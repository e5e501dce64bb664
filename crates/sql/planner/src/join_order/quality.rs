//! Compares chosen plans with the best of all orders and accesses.
//!
//! All ways to join are built without dropping any: each split of each set, in both directions,
//! with cross products, each way to read each table, and both join methods. The chosen plan must be
//! within twice the least cost in 99 % of random statements of two to five tables.

use super::{Mask, Solver};
use crate::block::Body;
use crate::convert::Converter;
use crate::cost::Costs;
use crate::join::Step;
use crate::path::{Conditions, Path, cheapest};
use crate::planner::Planner;
use crate::problem::Input;
use crate::statement::prepare;
use crate::statistics::{ColumnStatistics, Statistics, TableStatistics};
use sql::procedure::{Body as Routine, StatementKind};
use sql::query::Query;
use sql::{Program, Source};
use std::fmt::Write;
use std::rc::Rc;

/// Statements with two to five tables.
const STATEMENTS: [usize; 4] = [400, 300, 200, 100];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

fn schema() -> String {
    let mut schema = String::new();
    for table in 0..5 {
        let indexes = ["(a)", "(b, a)", "(c)"];
        let _ = writeln!(
            schema,
            "CREATE TABLE t{table} (k integer PRIMARY KEY, a integer, b integer, c integer);"
        );
        for (at, columns) in indexes.iter().enumerate().take(table % 4) {
            let _ = writeln!(schema, "CREATE INDEX t{table}_{at} ON t{table} {columns};");
        }
    }
    schema
}

fn statement(random: &mut Random, count: usize) -> String {
    let column = |random: &mut Random| ["k", "a", "b", "c"][random.below(4)];
    let mut text = "SELECT x0.k FROM t".to_owned();
    let _ = write!(text, "{} x0", random.below(5));
    let mut conditions = Vec::new();
    for at in 1..count {
        let before = random.below(at);
        let (own, other) = (column(random), column(random));
        let joined = format!("x{at}.{own} = x{before}.{other}");
        let table = random.below(5);
        match random.below(8) {
            0 => {
                let _ = write!(text, " LEFT JOIN t{table} x{at} ON {joined}");
            }
            1 if at + 1 == count => {
                conditions.push(format!("EXISTS (SELECT 1 FROM t{table} x{at} WHERE {joined})"));
            }
            _ => {
                let _ = write!(text, " JOIN t{table} x{at} ON {joined}");
            }
        }
    }
    for _ in 0..random.below(3) {
        let comparison = ["=", "=", "<", ">"][random.below(4)];
        conditions.push(format!("x0.{} {comparison} {}", column(random), random.below(1000)));
    }
    match conditions.is_empty() {
        true => text,
        false => format!("{text} WHERE {}", conditions.join(" AND ")),
    }
}

fn statistics(random: &mut Random) -> Statistics {
    let table = |random: &mut Random| {
        let rows = 10_f64.powi(1 + random.below(5) as i32);
        let column = |random: &mut Random| ColumnStatistics {
            distinct: Some((rows / 10_f64.powi(random.below(4) as i32)).max(1.0)),
            ..ColumnStatistics::default()
        };
        let columns = (0..4).map(|_| column(random)).collect();
        TableStatistics { rows: Some(rows), columns, ..TableStatistics::default() }
    };
    Statistics { tables: (0..5).map(|_| table(random)).collect() }
}

impl Solver<'_> {
    /// The cost of the cheapest of all ways.
    fn least(&self) -> f64 {
        let count = self.problem.units.len();
        let all: Mask = (1 << count) - 1;
        let mut known: Vec<Vec<Rc<Path>>> = vec![Vec::new(); 1 << count];
        for at in 0..count {
            known[1 << at] = self.every_scan(at, &self.local(at));
        }
        for mask in 1..=all {
            if mask.count_ones() < 2 || !self.is_complete(mask) {
                continue;
            }
            let mut least = f64::INFINITY;
            let mut paths = Vec::new();
            let rows = self.rows(mask);
            for outer in (1..mask).filter(|outer| outer & !mask == 0) {
                let inner = mask & !outer;
                if !self.can_join(outer, inner) {
                    continue;
                }
                let step = Step::new(self, outer, inner, rows);
                let mut note = |path: Path| {
                    least = least.min(path.cost);
                    // Only the costs of the whole are of interest.
                    if mask != all {
                        paths.push(Rc::new(path));
                    }
                };
                let looped = step.can_loop();
                let looped = looped.map(|at| self.every_scan(at, &step.looped_conditions(at)));
                for outer in &known[outer as usize] {
                    known[inner as usize].iter().for_each(|inner| note(step.equal(outer, inner)));
                    for inner in looped.iter().flatten() {
                        note(step.nested_loop(outer, inner));
                    }
                }
            }
            if mask == all {
                return least;
            }
            known[mask as usize] = paths;
        }
        cheapest(&known[all as usize]).map_or(f64::INFINITY, |path| path.cost)
    }

    fn every_scan(&self, unit: usize, conditions: &Conditions) -> Vec<Rc<Path>> {
        match &self.unit(unit).input {
            Input::Relation(relation) if self.planner.is_table(*relation) => {
                let scans = self.planner.all_scans(*relation, conditions, &[]);
                scans.into_iter().map(Rc::new).collect()
            }
            _ => self.paths_with(unit, conditions),
        }
    }
}

/// The cost of the chosen plan, and the least cost of all.
fn costs_of(schema: &Source, text: &str, statistics: &Statistics) -> (f64, f64) {
    let procedure = format!(
        "CREATE FUNCTION f() RETURNS SETOF integer LANGUAGE plpgsql AS $$\nBEGIN\n RETURN QUERY {text};\nEND\n$$;\n"
    );
    let program = Program::parse(schema, &Source::new("p.sql", &procedure));
    let program = program.unwrap_or_else(|error| panic!("{text}: {error}"));
    let Routine::Block(block) = &program.procedures[0].body else { panic!("it has a block") };
    let StatementKind::ReturnQuery(sql, _) = &block.statements[0].kind else {
        panic!("it returns a query")
    };
    let Query::Select(select) = &sql.query else { panic!("it selects") };
    let mut converter = Converter::default();
    let main = converter.select(select).expect("it is supported");
    let mut logical = converter.logical;
    prepare(&program.catalog, &mut logical);
    let planner = Planner::new(&program.catalog, statistics, Costs::default(), logical, &[]);
    let Body::Plain(plain) = &planner.logical.blocks[main].body else { panic!("it is plain") };
    let none = Conditions::new();
    let (mut chosen, mut least) = (f64::INFINITY, f64::INFINITY);
    for problem in planner.problems(&plain.from) {
        let paths = Solver::solve(&planner, &problem, &[], &none);
        let found = cheapest(&paths).map_or(f64::INFINITY, |path| path.cost);
        chosen = chosen.min(found);
        least = least.min(Solver::new(&planner, &problem, &[], &none).least());
    }
    (chosen, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_plans_are_within_twice_the_best() {
        let mut random = Random(7);
        let schema = Source::new("schema.sql", &schema());
        let (mut count, mut good, mut worst) = (0, 0, 1.0_f64);
        for (more, statements) in STATEMENTS.into_iter().enumerate() {
            for _ in 0..statements {
                let text = statement(&mut random, 2 + more);
                let statistics = statistics(&mut random);
                let (chosen, least) = costs_of(&schema, &text, &statistics);
                let ratio = chosen / least;
                assert!(
                    ratio > 0.999_999,
                    "{text}: the search is not exhaustive, {chosen} {least}"
                );
                count += 1;
                good += usize::from(ratio <= 2.0);
                worst = worst.max(ratio);
            }
        }
        let percent = 100.0 * good as f64 / count as f64;
        println!(
            "{percent:.2} % of {count} plans cost at most twice the least; worst ratio {worst:.3}"
        );
        assert!(percent >= 99.0, "{percent} %");
    }
}
