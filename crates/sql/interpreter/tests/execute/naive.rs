//! A planner that does not need PostgreSQL: rows by key if a condition fixes the key, else full
//! scans, and nested-loop joins.
//!
//! Its plans are slow and correct, so that tests can execute their own SQL.

use procedure::node::{
    Access, Delete, Insert, Join, JoinKind, JoinMethod, Scan, SortKey, Statement, SubPlan, Update,
    Workload,
};
use procedure::{Node, Operator, Procedure};
use sql::expression::{BinaryOperator, ColumnRef, Expr, ExprKind, SubqueryKind};
use sql::procedure::{Block, Body, Formula, Over, StatementKind};
use sql::query::{
    self, FromKind, IfLocked, InsertSource, LockStrength, OrderBy, Plain, Query, RowLock, Select,
    SelectBody, SetOperation,
};
use sql::{Catalog, Field, Program, Source, SqlType};

/// Plans the procedures of two texts.
pub fn workload(schema: &str, procedures: &str) -> Workload {
    let source = |name, text| Source::new(name, text);
    let program =
        Program::parse(&source("schema.sql", schema), &source("procedures.sql", procedures));
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    of_program(program)
}

/// Plans the procedures of a program.
pub fn of_program(program: Program) -> Workload {
    let Program { catalog, procedures } = program;
    let planned = procedures.into_iter().map(|routine| {
        let mut queries = Vec::new();
        match &routine.body {
            Body::Block(block) => block_queries(block, &mut queries),
            Body::Statements { statements, .. } => {
                queries.extend(statements.iter().map(|sql| (sql.number, sql.query.clone())));
            }
        }
        queries.sort_by_key(|(number, _)| *number);
        let statements = queries.iter().map(|(_, query)| plan(&catalog, query)).collect();
        Procedure { routine, statements }
    });
    let procedures = planned.collect();
    Workload { catalog, procedures }
}

type Numbered = Vec<(u32, Query)>;

fn block_queries(block: &Block, queries: &mut Numbered) {
    block.declarations.iter().filter_map(|(_, value)| value.as_ref()).for_each(|value| {
        formula_query(value, queries);
    });
    block.statements.iter().for_each(|statement| statement_queries(&statement.kind, queries));
}

fn formula_query(formula: &Formula, queries: &mut Numbered) {
    let Some(number) = formula.number else { return };
    let output = query::Output { name: String::new(), expr: formula.expr.clone() };
    let plain = Plain {
        sources: Vec::new(),
        joins: Vec::new(),
        filter: None,
        group: Vec::new(),
        is_grouped: false,
        having: None,
        distinct: false,
        outputs: vec![output],
    };
    let body = SelectBody::Plain(plain);
    let select = Select {
        body,
        order: Vec::new(),
        limit: None,
        offset: None,
        lock: None,
        locked: Vec::new(),
    };
    queries.push((number, Query::Select(Box::new(select))));
}

fn statement_queries(kind: &StatementKind, queries: &mut Numbered) {
    let mut formulas: Vec<&Formula> = Vec::new();
    let mut inside: Vec<&[sql::procedure::Statement]> = Vec::new();
    match kind {
        StatementKind::Block(block) => block_queries(block, queries),
        StatementKind::Called(called) => block_queries(&called.block, queries),
        StatementKind::Assign { value, .. } => formulas.push(value),
        StatementKind::Sql { sql, .. }
        | StatementKind::Perform(sql)
        | StatementKind::ReturnQuery(sql, _) => queries.push((sql.number, sql.query.clone())),
        StatementKind::If { branches, otherwise } => {
            formulas.extend(branches.iter().map(|(condition, _)| condition));
            inside.extend(branches.iter().map(|(_, statements)| &statements[..]));
            inside.push(otherwise);
        }
        StatementKind::Case { operand, branches, otherwise } => {
            formulas.extend(operand.iter().map(|(_, value)| value));
            formulas.extend(branches.iter().map(|(condition, _)| condition));
            inside.extend(branches.iter().map(|(_, statements)| &statements[..]));
            inside.extend(otherwise.as_deref());
        }
        StatementKind::Loop { over, body, .. } => {
            match over {
                Over::Forever => {}
                Over::While(condition) => formulas.push(condition),
                Over::Range { from, to, by, .. } => {
                    formulas.extend([from, to]);
                    formulas.extend(by);
                }
                Over::Rows { sql, .. } => queries.push((sql.number, sql.query.clone())),
                Over::Dynamic(dynamic, _) => formulas.extend(dynamic.formulas()),
                Over::Cursor(open, _) => {
                    formulas.extend(open.formulas());
                    queries.extend(open.sql().map(|sql| (sql.number, sql.query.clone())));
                }
                Over::Elements { array, .. } => formulas.push(array),
            }
            inside.push(body);
        }
        StatementKind::Leave { when, .. } => formulas.extend(when),
        StatementKind::Return(value) | StatementKind::ReturnNext(value) => formulas.extend(value),
        StatementKind::Raise(raise) => formulas.extend(&raise.values),
        StatementKind::Protected(protected) => {
            inside.extend(protected.parts().map(|statements| &statements[..]));
        }
        StatementKind::Execute(dynamic, _) | StatementKind::ReturnExecute(dynamic, _) => {
            formulas.extend(dynamic.formulas());
        }
        StatementKind::Cursor(cursor) => {
            formulas.extend(cursor.formulas());
            queries.extend(cursor.sql().map(|sql| (sql.number, sql.query.clone())));
        }
        StatementKind::GetRowCount(_)
        | StatementKind::GetDiagnostics(_)
        | StatementKind::Reraise
        | StatementKind::RollBack
        | StatementKind::Nothing => {}
    }
    formulas.into_iter().for_each(|formula| formula_query(formula, queries));
    inside.into_iter().flatten().for_each(|inner| statement_queries(&inner.kind, queries));
}

fn plan(catalog: &Catalog, query: &Query) -> Statement {
    let mut planner = Planner { catalog, sub_plans: Vec::new(), levels: Vec::new() };
    let root = planner.query(query);
    Statement { root, fields: query.outputs(), sub_plans: planner.sub_plans }
}

struct Planner<'c> {
    catalog: &'c Catalog,
    sub_plans: Vec<SubPlan>,
    /// Where the columns of each source begin in the row of a query, innermost level last.
    levels: Vec<Vec<usize>>,
}

fn column(at: usize, sql_type: &SqlType) -> Expr {
    let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column: at });
    Expr { kind, sql_type: sql_type.clone() }
}

fn columns(fields: &[Field]) -> Vec<Expr> {
    fields.iter().enumerate().map(|(at, field)| column(at, &field.sql_type)).collect()
}

fn node(operator: Operator, outputs: Vec<Expr>) -> Node {
    Node { operator, outputs, rows: 1 }
}

/// A node that passes its input's columns through.
fn same(operator: impl FnOnce(Box<Node>) -> Operator, input: Node) -> Node {
    let outputs = input.outputs.iter().enumerate();
    let outputs = outputs.map(|(at, output)| column(at, &output.sql_type)).collect();
    node(operator(Box::new(input)), outputs)
}

impl Planner<'_> {
    fn query(&mut self, query: &Query) -> Node {
        match query {
            Query::Select(select) => self.select(select),
            Query::Insert(insert) => self.insert(insert),
            Query::Update(update) => self.update(update),
            Query::Delete(delete) => self.delete(delete),
        }
    }

    fn select(&mut self, select: &Select) -> Node {
        let width = select.fields().len();
        let (mut input, mut keys) = match &select.body {
            SelectBody::Plain(plain) => self.plain(plain, select),
            SelectBody::Values { rows, .. } => {
                self.levels.push(Vec::new());
                let rows: Vec<Vec<Expr>> =
                    rows.iter().map(|row| row.iter().map(|e| self.expr(e)).collect()).collect();
                self.levels.pop();
                let outputs = columns(&select.fields());
                (node(Operator::Values { rows, filter: None }, outputs), Vec::new())
            }
            SelectBody::Set { operation, all, left, right, columns: fields } => {
                assert_eq!(*operation, SetOperation::Union, "folders have no other sets");
                let inputs = vec![self.select(left), self.select(right)];
                let united = node(Operator::Append { inputs }, columns(fields));
                (if *all { united } else { distinct(united) }, Vec::new())
            }
        };
        for key in &select.order {
            if let OrderBy::Output(at) = &key.by {
                keys.push((column(*at, &input.outputs[*at].sql_type), key));
            }
        }
        if !select.order.is_empty() {
            let in_order = |order: &query::OrderKey| {
                let (value, _) = keys.iter().find(|(_, key)| std::ptr::eq(*key, order))?;
                let (descending, nulls_first) = (order.descending, order.nulls_first);
                Some(SortKey { value: value.clone(), descending, nulls_first })
            };
            let keys = select.order.iter().filter_map(in_order).collect();
            input = same(|input| Operator::Sort { keys, input }, input);
        }
        if select.limit.is_some() || select.offset.is_some() {
            self.levels.push(Vec::new());
            let limit = select.limit.as_ref().map(|expr| self.expr(expr));
            let offset = select.offset.as_ref().map(|expr| self.expr(expr));
            self.levels.pop();
            input = same(|input| Operator::Limit { limit, offset, input }, input);
        }
        input.outputs.truncate(width);
        input
    }

    /// A query without `ORDER BY` and `LIMIT`; its sort keys follow its columns.
    fn plain<'s>(
        &mut self,
        plain: &Plain,
        select: &'s Select,
    ) -> (Node, Vec<(Expr, &'s query::OrderKey)>) {
        let locks = select.lock.is_some();
        let input = self.sources(&plain.sources, &plain.joins, plain.filter.as_ref(), locks);
        let mut outputs: Vec<Expr> =
            plain.outputs.iter().map(|output| self.expr(&output.expr)).collect();
        let mut keys = Vec::new();
        for key in &select.order {
            if let OrderBy::Expr(expr) = &key.by {
                let expr = self.expr(expr);
                keys.push((column(outputs.len(), &expr.sql_type), key));
                outputs.push(expr);
            }
        }
        let is_group = plain.is_grouped || !plain.group.is_empty();
        let planned = if is_group {
            let by = plain.group.iter().map(|expr| self.expr(expr)).collect();
            let filter = plain.having.as_ref().map(|expr| self.expr(expr));
            let input = Box::new(input);
            node(Operator::Aggregate { keys: by, is_sorted: false, filter, input }, outputs)
        } else {
            let input = Some(Box::new(input));
            node(Operator::Project { condition: None, filter: None, input }, outputs)
        };
        self.levels.pop();
        (if plain.distinct { distinct(planned) } else { planned }, keys)
    }

    /// The cross product of all sources, filtered by the conditions. Leaves the level of the query
    /// open.
    fn sources(
        &mut self,
        sources: &[query::From],
        joins: &[query::Join],
        filter: Option<&Expr>,
        is_for_change: bool,
    ) -> Node {
        let mut offsets = Vec::new();
        let mut width = 0;
        for source in sources {
            offsets.push(width);
            width += source.columns.len();
        }
        let mut joined: Option<Node> = None;
        for (at, source) in sources.iter().enumerate() {
            let only = sources.len() == 1;
            let next = self.source(source, is_for_change && at == 0, filter.filter(|_| only));
            joined = Some(match joined {
                None => next,
                Some(before) => product(before, next, left_condition(joins, at)),
            });
        }
        self.levels.push(offsets);
        let mut conditions = Vec::new();
        joins.iter().for_each(|join| inner_conditions(join, &mut conditions));
        conditions.extend(filter.cloned());
        let filter = conditions.into_iter().map(|expr| self.expr(&expr)).reduce(and);
        let Some(mut joined) = joined else {
            return node(
                Operator::Project { condition: filter, filter: None, input: None },
                vec![],
            );
        };
        self.resolve_joins(&mut joined);
        if filter.is_some() {
            joined = same(
                |input| Operator::Project { condition: None, filter, input: Some(input) },
                joined,
            );
        }
        match (is_for_change, sources.first().map(|source| &source.kind)) {
            (true, Some(FromKind::Table(table))) => {
                let table = *table;
                let (strength, if_locked) = (LockStrength::Update, IfLocked::Wait);
                let strength = RowLock { strength, if_locked };
                same(|input| Operator::Lock { table, strength, input }, joined)
            }
            _ => joined,
        }
    }

    /// Resolves the conditions of outer joins after all sources are known.
    fn resolve_joins(&mut self, joined: &mut Node) {
        let Operator::Join(join) = &mut joined.operator else { return };
        let width = join.outer.outputs.len();
        self.resolve_joins(&mut join.outer);
        if let Some(condition) = &mut join.join_filter {
            let mut resolved = self.expr(condition);
            shift(&mut resolved, width);
            *condition = resolved;
        }
    }

    fn source(&mut self, source: &query::From, is_for_change: bool, filter: Option<&Expr>) -> Node {
        match &source.kind {
            FromKind::Table(table) => {
                let access = match filter.and_then(|filter| self.by_key(*table, filter)) {
                    Some(key) => Access::Key(key),
                    None => Access::All,
                };
                self.scan(*table, access, is_for_change)
            }
            FromKind::Query(select) => {
                let planned = self.select(select);
                same(
                    |input| Operator::Project { condition: None, filter: None, input: Some(input) },
                    planned,
                )
            }
            FromKind::Windows(_)
            | FromKind::Lateral(_)
            | FromKind::Call(_)
            | FromKind::Recursive(_)
            | FromKind::WorkTable(_) => panic!("folders have no such source"),
            FromKind::Unnest(arrays) => {
                let arrays = self.free(arrays);
                node(Operator::Unnest { arrays, filter: None }, columns(&source.columns))
            }
            FromKind::Series(bounds) => {
                let bounds = self.free(bounds);
                node(Operator::Series { bounds, filter: None }, columns(&source.columns))
            }
        }
    }

    fn free(&mut self, exprs: &[Expr]) -> Vec<Expr> {
        self.levels.push(Vec::new());
        let exprs = exprs.iter().map(|expr| self.expr(expr)).collect();
        self.levels.pop();
        exprs
    }

    fn scan(&self, table: usize, access: Access, is_for_change: bool) -> Node {
        let outputs = columns(&self.catalog.tables[table].fields());
        let scan = Scan { table, access, filter: None, is_ordered: false, is_for_change };
        node(Operator::Scan(scan), outputs)
    }

    /// Returns the whole primary key if a condition equates it with expressions that do not depend
    /// on rows.
    fn by_key(&mut self, table: usize, filter: &Expr) -> Option<Vec<Expr>> {
        let key = self.catalog.tables[table].primary_key.clone();
        let mut parts = Vec::new();
        conjuncts(filter, &mut parts);
        let value = |at: &usize| {
            parts.iter().find_map(|part| {
                let ExprKind::Binary { operator: BinaryOperator::Equal, left, right } = &part.kind
                else {
                    return None;
                };
                let sides = [(left, right), (right, left)];
                let is_column = |e: &Expr| {
                    matches!(e.kind, ExprKind::Column(ColumnRef { level: 0, source: 0, column }) if column == *at)
                };
                sides.into_iter().find(|(one, other)| is_column(one) && is_free(other))
            })
        };
        let values: Option<Vec<_>> = key.iter().map(value).collect();
        let values = values.filter(|values| !values.is_empty())?;
        let exprs: Vec<Expr> = values.into_iter().map(|(_, value)| (**value).clone()).collect();
        Some(self.free(&exprs))
    }

    fn insert(&mut self, insert: &query::Insert) -> Node {
        let table = &self.catalog.tables[insert.table];
        let default = |at: usize| {
            let column = &table.columns[at];
            let null = Expr { kind: ExprKind::Null, sql_type: column.sql_type.clone() };
            column.default.clone().unwrap_or(null)
        };
        let place = |at: usize| insert.columns.iter().position(|column| *column == at);
        self.levels.push(Vec::new());
        let (input, values) = match &insert.source {
            InsertSource::Values(rows) => {
                let row = |row: &Vec<Option<Expr>>| -> Vec<Expr> {
                    let value = |at| place(at).and_then(|place| row[place].clone());
                    (0..table.columns.len())
                        .map(|at| value(at).unwrap_or_else(|| default(at)))
                        .collect()
                };
                let rows: Vec<Vec<Expr>> = rows
                    .iter()
                    .map(|given| row(given).iter().map(|e| self.expr(e)).collect())
                    .collect();
                let values = columns(&table.fields());
                let input = match &rows[..] {
                    [single] => node(
                        Operator::Project { condition: None, filter: None, input: None },
                        single.clone(),
                    ),
                    _ => node(Operator::Values { rows, filter: None }, values.clone()),
                };
                (input, values)
            }
            InsertSource::Select(select, conversions) => {
                let value = |at| match place(at) {
                    Some(place) => conversions[place].clone(),
                    None => default(at),
                };
                let values = (0..table.columns.len()).map(value).collect();
                self.levels.pop();
                let input = self.select(select);
                self.levels.push(Vec::new());
                (input, values)
            }
        };
        self.levels.pop();
        self.levels.push(vec![0]);
        let outputs = insert.returning.iter().map(|output| self.expr(&output.expr)).collect();
        self.levels.pop();
        let ignores_duplicates = insert.on_conflict.is_some();
        let insert = Insert {
            table: insert.table,
            values,
            ignores_duplicates,
            update: None,
            input: Box::new(input),
        };
        node(Operator::Insert(insert), outputs)
    }

    fn update(&mut self, update: &query::Update) -> Node {
        let input = self.sources(&update.sources, &update.joins, update.filter.as_ref(), false);
        let input = for_change(input);
        let own = self.catalog.tables[update.table].columns.len();
        let mut assignments = Vec::new();
        for (at, value) in &update.assignments {
            let value = value.as_ref().expect("the tests write no DEFAULT in an update");
            assignments.push((*at, self.changed(value, own)));
        }
        let outputs = update.returning.iter();
        let outputs = outputs.map(|output| self.changed(&output.expr, own)).collect();
        self.levels.pop();
        let update = Update { table: update.table, assignments, input: Box::new(input) };
        node(Operator::Update(update), outputs)
    }

    fn delete(&mut self, delete: &query::Delete) -> Node {
        let input = self.sources(&delete.sources, &delete.joins, delete.filter.as_ref(), false);
        let input = for_change(input);
        let own = self.catalog.tables[delete.table].columns.len();
        let outputs = delete.returning.iter();
        let outputs = outputs.map(|output| self.changed(&output.expr, own)).collect();
        self.levels.pop();
        let delete = Delete { table: delete.table, input: Box::new(input) };
        node(Operator::Delete(delete), outputs)
    }

    /// An expression over the changed table, source 0, and the input's outputs, source 1.
    fn changed(&mut self, expr: &Expr, own: usize) -> Expr {
        let mut expr = self.expr(expr);
        each_column(&mut expr, &mut |found| {
            if found.level == 0 && found.column >= own {
                found.source = 1;
            }
        });
        expr
    }

    /// An expression over the row of the current query.
    fn expr(&mut self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        self.rewrite(&mut expr);
        expr
    }

    fn rewrite(&mut self, expr: &mut Expr) {
        expr.for_each_child_mut(&mut |child| self.rewrite(child));
        match &mut expr.kind {
            ExprKind::Column(found) => {
                let level = self.levels.len() - 1 - found.level as usize;
                let offset = self.levels[level].get(found.source).copied().unwrap_or(0);
                *found = ColumnRef { source: 0, column: offset + found.column, ..*found };
            }
            ExprKind::Subquery { kind, query } => {
                let root = self.select(query);
                self.sub_plans.push(SubPlan { root, is_correlated: true });
                let plan = self.sub_plans.len() - 1;
                let kind = std::mem::replace(kind, SubqueryKind::Scalar);
                expr.kind = ExprKind::SubPlan { kind, plan };
            }
            _ => {}
        }
    }
}

fn distinct(input: Node) -> Node {
    let keys = input.outputs.iter().enumerate().map(|(at, output)| SortKey {
        value: column(at, &output.sql_type),
        descending: false,
        nulls_first: false,
    });
    let keys = keys.collect();
    let sorted = same(|input| Operator::Sort { keys, input }, input);
    same(|input| Operator::Unique { input }, sorted)
}

fn product(outer: Node, inner: Node, left: Option<Expr>) -> Node {
    let mut outputs: Vec<Expr> = Vec::new();
    for (source, side) in [&outer, &inner].into_iter().enumerate() {
        for (column, output) in side.outputs.iter().enumerate() {
            let kind = ExprKind::Column(ColumnRef { level: 0, source, column });
            outputs.push(Expr { kind, sql_type: output.sql_type.clone() });
        }
    }
    let join = Join {
        method: JoinMethod::NestedLoop,
        kind: if left.is_some() { JoinKind::Left } else { JoinKind::Inner },
        join_filter: left,
        filter: None,
        outer: Box::new(outer),
        inner: Box::new(inner),
    };
    node(Operator::Join(join), outputs)
}

/// Returns the condition of the left join whose right side is this source alone.
fn left_condition(joins: &[query::Join], at: usize) -> Option<Expr> {
    joins.iter().find_map(|join| match join {
        query::Join::Pair { left, right, kind, condition } => {
            if matches!(**right, query::Join::Source(source) if source == at)
                && *kind == query::JoinKind::Left
            {
                return condition.clone();
            }
            left_condition(std::slice::from_ref(left), at)
        }
        query::Join::Source(_) => None,
    })
}

fn inner_conditions(join: &query::Join, conditions: &mut Vec<Expr>) {
    if let query::Join::Pair { left, right, kind, condition } = join {
        inner_conditions(left, conditions);
        inner_conditions(right, conditions);
        if *kind == query::JoinKind::Inner {
            conditions.extend(condition.clone());
        }
    }
}

fn and(left: Expr, right: Expr) -> Expr {
    let operator = BinaryOperator::And;
    let kind = ExprKind::Binary { operator, left: Box::new(left), right: Box::new(right) };
    Expr { kind, sql_type: SqlType::Bool }
}

fn conjuncts<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        _ => parts.push(expr),
    }
}

fn is_free(expr: &Expr) -> bool {
    let mut is_free = true;
    expr.visit(&mut |part| {
        is_free &= !matches!(part.kind, ExprKind::Column(_) | ExprKind::Subquery { .. });
    });
    is_free
}

/// Turns columns from `width` on into those of the inner row.
fn shift(expr: &mut Expr, width: usize) {
    each_column(expr, &mut |found| {
        if found.level == 0 && found.column >= width {
            found.source = 1;
            found.column -= width;
        }
    });
}

fn each_column(expr: &mut Expr, change: &mut dyn FnMut(&mut ColumnRef)) {
    expr.for_each_child_mut(&mut |child| each_column(child, change));
    if let ExprKind::Column(found) = &mut expr.kind {
        change(found);
    }
}

/// Marks the first scan below as one for change.
fn for_change(mut node: Node) -> Node {
    fn mark(node: &mut Node) {
        match &mut node.operator {
            Operator::Scan(scan) => scan.is_for_change = true,
            Operator::Project { input: Some(input), .. } => mark(input),
            Operator::Join(join) => mark(&mut join.outer),
            _ => {}
        }
    }
    mark(&mut node);
    node
}
