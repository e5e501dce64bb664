//! Plans a statement.

use crate::block::{Body, Logical};
use crate::build::Builder;
use crate::convert::Converter;
use crate::cost::Costs;
use crate::error::{PlanError, Result};
use crate::extreme::add_extreme;
use crate::outer_join::simplify;
use crate::place::Frame;
use crate::planner::Planner;
use crate::statistics::Statistics;
use crate::subquery::unnest;
use crate::write::Change;
use procedure::node::{Node, Operator, Statement};
use sql::expression::Expr;
use sql::query::Query;
use sql::{Catalog, Field};

/// The inputs of planning, beside the statement.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    pub catalog: &'a Catalog,
    pub statistics: &'a Statistics,
    pub costs: Costs,
}

/// A planned statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    pub statement: Statement,
    /// The estimated time, in the unit of [`Costs`].
    pub cost: f64,
}

/// Plans a statement.
///
/// # Errors
///
/// The statement is outside the supported SQL ([`PlanError::SQLSTATE`]).
pub fn plan(knowledge: Knowledge<'_>, query: &Query) -> std::result::Result<Planned, PlanError> {
    let mut converter = Converter::new(knowledge.catalog);
    let catalog = knowledge.catalog;
    let main = match query {
        Query::Select(select) => Main::Block(converter.select(select)?),
        Query::Insert(insert) => Main::Change(converter.insert(catalog, insert)?),
        Query::Update(update) => Main::Change(converter.update(catalog, update)?),
        Query::Delete(delete) => Main::Change(converter.delete(catalog, delete)?),
    };
    finish(knowledge, converter.logical, main, query.outputs())
}

/// Plans an expression with sub-selects, as `SELECT expression`.
///
/// # Errors
///
/// Those of [`plan`].
pub fn plan_expression(
    knowledge: Knowledge<'_>,
    expr: &Expr,
) -> std::result::Result<Planned, PlanError> {
    let mut converter = Converter::new(knowledge.catalog);
    let converted = converter.within(Vec::new(), |converter| converter.expr(expr))?;
    let field = Field { name: "?column?".to_owned(), sql_type: expr.sql_type.clone() };
    finish(knowledge, converter.logical, Main::Expr(converted), vec![field])
}

/// The main part of a statement.
enum Main {
    Block(usize),
    Change(Change),
    Expr(Expr),
}

fn finish(
    knowledge: Knowledge<'_>,
    mut logical: Logical,
    mut main: Main,
    fields: Vec<Field>,
) -> Result<Planned> {
    prepare(knowledge.catalog, &mut logical);
    if let Main::Change(change) = &mut main
        && let Some(from) = change.joins_mut()
    {
        let mut list = std::mem::take(from);
        simplify(&mut list);
        unnest(&mut logical, knowledge.catalog, &mut list);
        *from = list;
    }
    let further = match &main {
        Main::Block(_) => Vec::new(),
        Main::Change(change) => change.exprs(),
        Main::Expr(expr) => vec![expr],
    };
    let Knowledge { catalog, statistics, costs } = knowledge;
    let planner = Planner::new(catalog, statistics, costs, logical, &further);
    let mut builder = Builder { planner: &planner, sub_plans: Vec::new() };
    let (root, cost) = match &main {
        Main::Block(block) => (builder.block(*block, None)?, planner.plan(*block).cost),
        Main::Change(change) => (builder.change(change)?, planner.change_cost(change)),
        Main::Expr(expr) => {
            let outputs = vec![builder.place(&Frame::new(&[], None), expr)?];
            let operator = Operator::Project { condition: None, filter: None, input: None };
            (Node { operator, outputs, rows: 1 }, planner.evaluation_of([expr]))
        }
    };
    let sub_plans = builder.sub_plans;
    Ok(Planned { statement: Statement { root, fields, sub_plans }, cost })
}

/// Simplifies the blocks, inner ones first.
pub(crate) fn prepare(catalog: &Catalog, logical: &mut Logical) {
    let mut number = 0;
    while number < logical.blocks.len() {
        add_extreme(logical, catalog, number);
        if let Body::Plain(plain) = &mut logical.blocks[number].body {
            let mut list = std::mem::take(&mut plain.from);
            simplify(&mut list);
            unnest(logical, catalog, &mut list);
            if let Body::Plain(plain) = &mut logical.blocks[number].body {
                plain.from = list;
            }
        }
        number += 1;
    }
}
