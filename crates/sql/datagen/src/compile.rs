//! Compiles a load to its ready-to-draw form.

use crate::arguments::ArgumentDraw;
use crate::draw::{Condition, Distribution, Draw, Length, Ordered, Range, Reference, Shares};
use crate::error::PopulationError;
use crate::number::{self, Form};
use crate::population::{Count, Population, Procedure, Scale, Table};
use crate::rules::Rules;
use crate::sample::Integers;
use fabric::random::Zipf;
use sql::expression::{Expr, ExprKind};
use sql::function::Function;
use sql::load::{self, Amount, ArrayLength, Expectation, Literal, Rows, TableLoad};
use sql::{Load, Program, SqlType};
use sql_value::{Formula, Nothing, Stop, Value};
use std::sync::Arc;

/// Maximum number of distinct values that are shuffled, at any scale.
const ORDERED_MAX: u64 = 64 << 20;

/// A draw of the same value for every row.
fn always(value: Value) -> Distribution {
    Distribution { null: 0.0, draw: Draw::Constant(value) }
}

/// Whether a default differs from row to row.
fn draws(default: &Expr) -> bool {
    let mut found = false;
    default.visit(&mut |part| {
        found |= matches!(part.kind, ExprKind::Function { function: Function::Random, .. });
    });
    found
}

type Result<T> = std::result::Result<T, PopulationError>;

pub(crate) struct Compiler<'a> {
    program: &'a Program,
    load: &'a Load,
    scale: Scale,
    amounts: Expectation<'a>,
    order_count: usize,
}

/// The context of a draw: the names and types that it may refer to.
struct DrawContext<'a> {
    /// Its name in messages.
    name: String,
    /// Whether this is a column. Decimals of columns have a precision; PostgreSQL ignores that of
    /// arguments.
    is_column: bool,
    own: Vec<(&'a str, &'a SqlType)>,
    /// Table and columns of the parent row.
    parent: Option<(&'a str, Vec<(&'a str, &'a SqlType)>)>,
}

impl<'a> DrawContext<'a> {
    fn error(&self, problem: impl Into<String>) -> PopulationError {
        PopulationError::draw(&self.name, problem)
    }

    fn find(&self, name: &str) -> Result<(Reference, &'a SqlType)> {
        let of_parent = self.parent.as_ref().and_then(|(table, columns)| {
            let column = name.strip_prefix(table)?.strip_prefix('.')?;
            let at = columns.iter().position(|(other, _)| *other == column)?;
            Some((Reference::Parent(at), columns[at].1))
        });
        let own = || {
            let at = self.own.iter().position(|(other, _)| *other == name)?;
            Some((Reference::Own(at), self.own[at].1))
        };
        let problem = || self.error(format!("`{name}` is not among the values drawn before this"));
        of_parent.or_else(own).ok_or_else(problem)
    }
}

impl<'a> Compiler<'a> {
    pub fn new(program: &'a Program, load: &'a Load, scale: Scale) -> Self {
        let amounts = Expectation::new(load, scale.units);
        Self { program, load, scale, amounts, order_count: 0 }
    }

    pub fn population(mut self) -> Result<Population> {
        if self.scale.units == 0 {
            return Err(PopulationError::NoUnit);
        }
        let mut tables = Vec::new();
        for table in &self.load.tables {
            tables.push(self.table(table)?);
        }
        for (at, table) in self.load.tables.iter().enumerate() {
            self.check_circle(at, &table.table, &tables)?;
        }
        self.look_at_parents(&mut tables);
        let mut procedures = Vec::new();
        for procedure in &self.load.procedures {
            procedures.push(self.procedure(procedure)?);
        }
        Ok(Population { scale: self.scale, tables, procedures, order_count: self.order_count })
    }

    fn columns(&self, table: &str) -> Vec<(&'a str, &'a SqlType)> {
        let table = self.program.catalog.table(table);
        let columns = table.into_iter().flat_map(|table| &table.columns);
        columns.map(|column| (&*column.name, &column.sql_type)).collect()
    }

    fn table(&mut self, table: &'a TableLoad) -> Result<Table> {
        let columns = self.columns(&table.table);
        let parent = match &table.rows {
            Rows::Counted(_) => None,
            Rows::ForEach { parent, .. } => Some((&**parent, self.columns(parent))),
        };
        let mut context = DrawContext {
            name: format!("the number of rows of {}", table.table),
            is_column: true,
            own: Vec::new(),
            parent,
        };
        let count = match &table.rows {
            Rows::Counted(rows) => {
                let rows = self.amounts.amount(rows).and_then(|rows| u64::try_from(rows).ok());
                let problem = "this is not a valid row count at this scale";
                Count::Rows(rows.ok_or_else(|| context.error(problem))?)
            }
            Rows::ForEach { parent, count } => Count::ForEach {
                parent: self.table_position(parent, &context)?,
                count: self.distribution(count, &SqlType::Int8, &context)?,
            },
        };
        let mut draws = Vec::new();
        for (name, sql_type) in &columns {
            context.name = format!("{}.{name}", table.table);
            let draw = match table.column(name) {
                Some(draw) => self.distribution(draw, sql_type, &context)?,
                // A table without rows needs no draw.
                None if matches!(count, Count::Rows(0)) => always(Value::Null),
                None => self.unsaid(table, name, &context)?,
            };
            draws.push(draw);
            context.own.push((*name, *sql_type));
        }
        let catalog = &self.program.catalog;
        let missing = || context.error(format!("schema.sql has no table `{}`", table.table));
        let rules = Rules::new(catalog, catalog.table(&table.table).ok_or_else(missing)?);
        Ok(Table {
            name: table.table.clone(),
            count,
            columns: draws,
            names: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            types: columns.iter().map(|(_, sql_type)| (*sql_type).clone()).collect(),
            looked_at: 0,
            rules: Arc::new(rules),
        })
    }

    /// A column without a draw has its default, as after an `INSERT` without it.
    fn unsaid(
        &self,
        table: &TableLoad,
        name: &str,
        context: &DrawContext<'_>,
    ) -> Result<Distribution> {
        let column = self.program.catalog.table(&table.table);
        let column = column.and_then(|table| Some(&table.columns[table.column(name)?]));
        let default = column.and_then(|column| column.default.as_ref());
        match default.filter(|default| !draws(default)) {
            Some(default) => {
                let now = self.scale.now_us;
                let value = Formula::compile(default).evaluate(&Nothing { now });
                let problem = |stop| match stop {
                    Stop::Error(error) => context.error(format!("its default fails: {error}")),
                    Stop::Needs(_) => context.error("its default has a sub-select"),
                };
                value.map(always).map_err(problem)
            }
            None if default.is_none() && column.is_some_and(|column| column.nullable) => {
                Ok(always(Value::Null))
            }
            None => Err(PopulationError::NotSaid {
                line: table.line,
                table: table.table.clone(),
                column: name.to_owned(),
            }),
        }
    }

    fn table_position(&self, name: &str, context: &DrawContext<'_>) -> Result<usize> {
        let at = self.load.tables.iter().position(|table| table.table == name);
        at.ok_or_else(|| context.error(format!("schema.sql has no table `{name}`")))
    }

    /// Drawing a row needs rows of its parent, and of the tables whose columns it takes; refuses a
    /// table that needs itself.
    fn check_circle(&self, table: usize, name: &str, tables: &[Table]) -> Result<()> {
        let mut needed = needs(&tables[table]);
        let mut seen = vec![false; tables.len()];
        while let Some(next) = needed.pop() {
            if next == table {
                let via = seen.iter().rposition(|seen| *seen).unwrap_or(table);
                let (table, other) = (name.to_owned(), tables[via].name.clone());
                return Err(PopulationError::Circle { table, other });
            }
            if !std::mem::replace(&mut seen[next], true) {
                needed.extend(needs(&tables[next]));
            }
        }
        Ok(())
    }

    /// Finds the columns of parent rows that child rows refer to; only these are drawn for the
    /// children.
    fn look_at_parents(&self, tables: &mut [Table]) {
        for child in (0..tables.len()).rev() {
            let Count::ForEach { parent, count } = &tables[child].count else { continue };
            let (parent, mut looked_at) = (*parent, 0);
            let mut visit = |draw: &Draw| {
                if let Some(Reference::Parent(column)) = reference(draw) {
                    looked_at = looked_at.max(column + 1);
                }
            };
            walk(count, &mut visit);
            tables[child].columns.iter().for_each(|column| walk(column, &mut visit));
            tables[parent].looked_at = tables[parent].looked_at.max(looked_at);
        }
    }

    fn procedure(&mut self, load: &'a load::ProcedureLoad) -> Result<Procedure> {
        let procedure = self.program.procedure(&load.procedure);
        let inputs = procedure.into_iter().flat_map(|procedure| procedure.inputs());
        let mut context =
            DrawContext { name: String::new(), is_column: false, own: Vec::new(), parent: None };
        let mut arguments = Vec::new();
        for ((_, variable), (name, draw)) in inputs.zip(&load.arguments) {
            context.name = format!("{}.{name}", load.procedure);
            arguments.push(self.distribution(draw, &variable.sql_type, &context)?);
            context.own.push((&variable.name, &variable.sql_type));
        }
        let (name, frequency) = (load.procedure.clone(), load.frequency);
        let argument_draws = arguments.iter().map(ArgumentDraw::of).collect();
        Ok(Procedure { name, frequency, arguments, argument_draws })
    }

    fn distribution(
        &mut self,
        from: &load::Distribution,
        sql_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Distribution> {
        Ok(Distribution { null: from.null, draw: self.draw(&from.draw, sql_type, context)? })
    }

    fn boxed(
        &mut self,
        from: &load::Distribution,
        sql_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Box<Distribution>> {
        self.distribution(from, sql_type, context).map(Box::new)
    }

    fn draw(
        &mut self,
        from: &load::Draw,
        sql_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Draw> {
        use load::Draw as From;
        Ok(match from {
            From::Uniform { range, decimals, except, distinct } => {
                let range = self.range(range, *decimals, sql_type, context)?;
                match (except, distinct) {
                    (_, true) => self.ordered(Ordered::Range(range), context)?,
                    (None, _) => Draw::Uniform { range, except: None },
                    (Some(name), _) => Draw::Uniform { range, except: Some(context.find(name)?.0) },
                }
            }
            From::Nurand { a, c, range } => {
                Draw::Nurand { a: *a, c: *c, range: self.range(range, 0, sql_type, context)? }
            }
            From::Zipf { range, theta, scrambled } => {
                let range = self.range(range, 0, sql_type, context)?;
                let ranks = Zipf::new(range.count(), *theta);
                Draw::Zipf { ranks, is_scrambled: *scrambled, range }
            }
            From::Sequence { range, each } => {
                let range = self.range(range, 0, sql_type, context)?;
                let each = self.amount(each, context)?;
                let each = u64::try_from(each).ok().filter(|each| *each > 0);
                let each = each.ok_or_else(|| context.error("`each` must be at least 1"))?;
                Draw::Sequence { range, each }
            }
            From::Constant(literal) => Draw::Constant(constant(literal, sql_type, context)?),
            From::OneOf { values, weights, distinct } => {
                let values = values.iter().map(|literal| constant(literal, sql_type, context));
                let values = values.collect::<Result<_>>()?;
                match distinct {
                    true => self.ordered(Ordered::List(values), context)?,
                    false => Draw::OneOf { values, shares: Shares::new(weights.iter().copied()) },
                }
            }
            From::Chance(chance) => Draw::Chance(*chance),
            From::Text { length, alphabet, containing, ending } => {
                fits(length.1 as usize + ending.chars().count(), sql_type, context)?;
                let (containing, ending) = (containing.clone(), ending.clone());
                Draw::Text { length: *length, alphabet: *alphabet, containing, ending }
            }
            From::Digits { of, width } => Draw::Digits {
                of: self.boxed(of, &SqlType::Int8, context)?,
                width: *width as usize,
            },
            From::LastName(of) => Draw::LastName(self.boxed(of, &SqlType::Int8, context)?),
            From::Now => Draw::Now { is_date: *sql_type == SqlType::Date },
            _ => self.dependent(from, sql_type, context)?,
        })
    }

    /// Compiles draws that consist of other draws.
    fn dependent(
        &mut self,
        from: &load::Draw,
        sql_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Draw> {
        use load::Draw as From;
        Ok(match from {
            From::Same(name) => {
                Draw::Same { from: context.find(name)?.0, form: Form::of(sql_type, 0) }
            }
            From::Column { table, column, row } => {
                let at = self.table_position(table, context)?;
                let columns = self.columns(table);
                let column = columns.iter().position(|(name, _)| name == column);
                let missing =
                    || context.error(format!("the table `{table}` does not have this column"));
                let column = column.ok_or_else(missing)?;
                let row = match row {
                    Some(row) => Some(self.boxed(row, &SqlType::Int8, context)?),
                    None => None,
                };
                Draw::Column { table: at, column, form: Form::of(sql_type, 0), row }
            }
            From::Mixture(mixture) => {
                let shares = Shares::new(mixture.iter().map(|(weight, _)| *weight));
                let draws =
                    mixture.iter().map(|(_, draw)| self.distribution(draw, sql_type, context));
                Draw::Mixture { draws: draws.collect::<Result<_>>()?, shares }
            }
            From::Cases { by, cases } => {
                let (by, by_type) = context.find(by)?;
                let mut ready = Vec::new();
                for (condition, draw) in cases {
                    let condition = self.condition(condition, by_type, context)?;
                    ready.push((condition, self.distribution(draw, sql_type, context)?));
                }
                Draw::Cases { by, cases: ready }
            }
            From::Array { of, length, distinct } => {
                let SqlType::Array(element) = sql_type else {
                    return Err(context.error(format!("{sql_type} is not an array")));
                };
                let of = self.boxed(of, element, context)?;
                let length = match length {
                    ArrayLength::Drawn(length) => {
                        Length::Drawn(self.boxed(length, &SqlType::Int4, context)?)
                    }
                    ArrayLength::Same(name) => Length::Same(context.find(name)?.0),
                };
                let integers = Integers::of(&of).filter(|_| !distinct);
                Draw::Array { of, integers, length, is_distinct: *distinct }
            }
            _ => return Err(context.error("this kind of draw is unknown")),
        })
    }

    fn condition(
        &self,
        condition: &load::Condition,
        by_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Condition> {
        Ok(match condition {
            load::Condition::Is(literal) => Condition::Is(constant(literal, by_type, context)?),
            load::Condition::Below(bound) => Condition::Below(self.amount(bound, context)?),
            load::Condition::Always => Condition::Always,
        })
    }

    fn ordered(&mut self, values: Ordered, context: &DrawContext<'_>) -> Result<Draw> {
        if values.count() > ORDERED_MAX {
            let problem = format!("`distinct` allows at most {ORDERED_MAX} values");
            return Err(context.error(problem));
        }
        self.order_count += 1;
        Ok(Draw::Ordered { order: self.order_count - 1, values })
    }

    fn amount(&self, amount: &Amount, context: &DrawContext<'_>) -> Result<i64> {
        let problem = "a formula has no value at this scale";
        self.amounts.amount(amount).ok_or_else(|| context.error(problem))
    }

    fn range(
        &self,
        range: &load::Range,
        decimals: u8,
        sql_type: &SqlType,
        context: &DrawContext<'_>,
    ) -> Result<Range> {
        let form = Form::of(sql_type, decimals).ok_or_else(|| {
            context.error(format!("{sql_type} has fewer than {decimals} decimal places"))
        })?;
        let (low, high) = (self.amount(&range.low, context)?, self.amount(&range.high, context)?);
        if low > high {
            let problem = format!(
                "the lower bound {low} is greater than the upper bound {high} at this scale"
            );
            return Err(context.error(problem));
        }
        let (least, most) = match sql_type {
            SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        let largest = i128::from(low).abs().max(i128::from(high).abs());
        let units = form.units(largest).unsigned_abs();
        let is_beyond = number::beyond(sql_type).is_some_and(|beyond| units >= beyond);
        if low < least || high > most || context.is_column && is_beyond {
            let problem = format!("{low} to {high} is out of range for {sql_type} at this scale");
            return Err(context.error(problem));
        }
        Ok(Range { low, high, form })
    }
}

/// A literal as a value of a type.
fn constant(literal: &Literal, sql_type: &SqlType, context: &DrawContext<'_>) -> Result<Value> {
    let read = |text: &str| {
        let text_of =
            |value: Value| Form::of(sql_type, 0).map_or(value.clone(), |form| form.convert(value));
        sql_value::input::read(text, sql_type)
            .map(text_of)
            .map_err(|error| context.error(error.message.clone()))
    };
    match literal {
        Literal::Bool(truth) => Ok(Value::Bool(*truth)),
        Literal::Integer(number) => read(&number.to_string()),
        Literal::Float(number) => read(&number.to_string()),
        Literal::Text(text) => {
            fits(text.chars().count(), sql_type, context)?;
            read(text)
        }
    }
}

/// Refuses texts that may be longer than their type.
fn fits(length: usize, sql_type: &SqlType, context: &DrawContext<'_>) -> Result<()> {
    match sql_type {
        SqlType::Varchar(Some(most)) | SqlType::Char(Some(most)) if length > *most as usize => {
            Err(context.error(format!("a text of {length} characters does not fit {sql_type}")))
        }
        _ => Ok(()),
    }
}

/// The tables whose rows are needed to draw a row of this table.
fn needs(table: &Table) -> Vec<usize> {
    let mut needed = Vec::new();
    let mut visit = |draw: &Draw| {
        if let Draw::Column { table, .. } = draw {
            needed.push(*table);
        }
    };
    table.columns.iter().for_each(|column| walk(column, &mut visit));
    if let Count::ForEach { parent, count } = &table.count {
        walk(count, &mut visit);
        needed.push(*parent);
    }
    needed
}

/// Visits a draw and all draws within it.
fn walk(distribution: &Distribution, visit: &mut impl FnMut(&Draw)) {
    visit(&distribution.draw);
    match &distribution.draw {
        Draw::Digits { of, .. } | Draw::LastName(of) => walk(of, visit),
        Draw::Column { row: Some(row), .. } => walk(row, visit),
        Draw::Mixture { draws, .. } => draws.iter().for_each(|draw| walk(draw, visit)),
        Draw::Cases { cases, .. } => cases.iter().for_each(|(_, draw)| walk(draw, visit)),
        Draw::Array { of, length, .. } => {
            walk(of, visit);
            if let Length::Drawn(length) = length {
                walk(length, visit);
            }
        }
        _ => {}
    }
}

/// The value that a draw itself refers to.
fn reference(draw: &Draw) -> Option<Reference> {
    match draw {
        Draw::Same { from, .. } => Some(*from),
        Draw::Cases { by, .. } => Some(*by),
        Draw::Uniform { except, .. } => *except,
        Draw::Array { length: Length::Same(from), .. } => Some(*from),
        _ => None,
    }
}
