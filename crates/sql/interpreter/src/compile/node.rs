//! Compiles plans.

use super::columns::{self, Columns};
use super::execution::{execution, note_fast_paths};
use crate::bind::BoundTable;
use crate::plan::{
    self, Aggregate, Bound, ConflictUpdate, Delete, Insert, Join, List, Operator, Output, Outputs,
    Range, Scan, SetOperation, SortKey, SubPlan, Term, Update,
};
use crate::row_lock::RowLockMode;
use procedure::Node;
use procedure::node::{self, JoinMethod, Statement};
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::query::RowLock;
use sql_value::{AggregateCall, Formula};

/// Compiles a statement; returns also the tables that it scans fully. The error says why the
/// physical design of a table does not support it.
pub(super) fn compile(
    statement: &Statement,
    tables: &[BoundTable],
) -> Result<(plan::Statement, Vec<usize>), String> {
    let mut compiler = Compiler {
        tables,
        statement,
        correlated: statement.sub_plans.iter().map(|plan| plan.is_correlated).collect(),
        writes: false,
        whole: Vec::new(),
        numbers: Vec::new(),
    };
    let plans = statement.sub_plans.iter().map(|plan| &plan.root);
    for root in std::iter::once(&statement.root).chain(plans) {
        root.walk(&mut |node| compiler.numbers.push(node));
    }
    let width = statement.fields.len();
    let root = compiler.node(&statement.root, &(0..width).collect(), Some(width))?;
    let mut plans = Vec::with_capacity(statement.sub_plans.len());
    for (plan, wanted) in statement.sub_plans.iter().zip(columns::wanted(statement)) {
        let all = (0..plan.root.outputs.len()).collect();
        plans.push(SubPlan { root: compiler.node(&plan.root, &all, None)?, wanted });
    }
    let execution = execution(&root, compiler.tables);
    let mut looked_at = Vec::new();
    for expr in &statement.root.outputs {
        expr.visit(&mut |part| {
            if let ExprKind::Variable(variable) | ExprKind::Field { variable, .. } = part.kind {
                looked_at.push(variable);
            }
        });
    }
    // Sub plans may be inside of each other.
    let sub_plans = statement.sub_plans.iter().map(|plan| &plan.root);
    let height = sub_plans.chain([&statement.root]).map(height).sum();
    let (mut reads, mut stable, mut has_calls) = (Vec::new(), Vec::new(), false);
    for node in &compiler.numbers {
        match &node.operator {
            node::Operator::Scan(scan) => reads.push(scan.table),
            node::Operator::Call { routine, is_volatile, .. } => {
                has_calls = true;
                stable.extend((!is_volatile).then(|| routine.clone()));
            }
            _ => {}
        }
    }
    reads.truncate(if has_calls { reads.len() } else { 0 });
    let writes = compiler.writes;
    let ahead = None;
    let statement =
        plan::Statement { root, plans, writes, execution, ahead, looked_at, reads, height, stable };
    Ok((statement, compiler.whole))
}

/// The number of nodes from this one to the lowest one.
fn height(node: &Node) -> usize {
    let inputs = node.inputs();
    1 + inputs.into_iter().map(|(input, _)| height(input)).max().unwrap_or(0)
}

struct Compiler<'c> {
    tables: &'c [BoundTable],
    statement: &'c Statement,
    correlated: Vec<bool>,
    writes: bool,
    /// Tables that are scanned fully.
    whole: Vec<usize>,
    /// The nodes, by their numbers.
    numbers: Vec<&'c Node>,
}

impl Compiler<'_> {
    /// Compiles a node and its used `columns`; with `width`, only that many of its outputs.
    fn node(
        &mut self,
        node: &Node,
        needed: &Columns,
        width: Option<usize>,
    ) -> Result<plan::Node, String> {
        let given = &node.outputs[..width.unwrap_or(node.outputs.len())];
        let with_drawn: Columns;
        let needed = if self.statement.sub_plans.is_empty() {
            needed
        } else {
            let drawn = (0..given.len()).filter(|&at| self.draws(&given[at]));
            with_drawn = needed.iter().copied().chain(drawn).collect();
            &with_drawn
        };
        let mut calls = Vec::new();
        let is_group = matches!(node.operator, node::Operator::Aggregate { .. });
        let mut list = self.outputs(given, needed, is_group.then_some(&mut calls));
        let looked = given.iter().enumerate().filter(|(at, _)| needed.contains(at));
        let looked: Vec<&Expr> = looked.map(|(_, expr)| expr).collect();
        let operator = self.operator(node, &looked, calls)?;
        // Drop unused outputs at the end.
        let used = list.outputs.iter().rposition(|output| !matches!(output, Output::Unused));
        let width = used.map_or(0, |last| last + 1);
        list.outputs.truncate(width);
        let is_same = input_width(&operator) == Some(width)
            && (0..width).all(|at| column_of(&given[at]) == Some((0, at)));
        let outputs = if is_same { Outputs::Same } else { Outputs::List(list) };
        let correlated = self.correlated(node);
        let number = self.number(node);
        let mut compiled = plan::Node { number, operator, outputs, width, correlated };
        note_fast_paths(&mut compiled);
        Ok(compiled)
    }

    /// Whether a value depends on no row.
    fn is_free(&self, expr: &Expr) -> bool {
        let mut is_free = true;
        expr.visit(&mut |part| {
            is_free &= match &part.kind {
                ExprKind::Column(_) | ExprKind::Element => false,
                ExprKind::SubPlan { plan, .. } => !self.correlated[*plan],
                ExprKind::Function { function, .. } => !function.is_volatile(),
                _ => true,
            };
        });
        is_free
    }

    fn number(&self, node: &Node) -> usize {
        let number = self.numbers.iter().position(|known| std::ptr::eq(*known, node));
        number.unwrap_or_default()
    }

    /// Whether an output calls a routine that may change something, and so runs for each row, also
    /// where nobody needs its value.
    fn draws(&self, expr: &Expr) -> bool {
        let mut plans = Vec::new();
        columns::sub_plans(expr, &mut plans);
        let is_drawn = |operator: &node::Operator| {
            matches!(operator, node::Operator::Call { is_volatile: true, is_value: true, .. })
        };
        plans.into_iter().any(|plan| {
            let mut found = false;
            let root = &self.statement.sub_plans[plan].root;
            root.walk(&mut |node| found |= is_drawn(&node.operator));
            found
        })
    }

    fn outputs(
        &mut self,
        given: &[Expr],
        needed: &Columns,
        mut calls: Option<&mut Vec<AggregateCall>>,
    ) -> List {
        let mut list = List::default();
        for (at, expr) in given.iter().enumerate() {
            let output = match (needed.contains(&at), &mut calls) {
                (false, _) => Output::Unused,
                (true, Some(calls)) => of_group(expr, calls),
                (true, None) => output(expr),
            };
            list.uses_sub_plans |= matches!(&output, Output::Term(term) if term.uses_sub_plans);
            list.outputs.push(output);
        }
        list
    }

    /// Lists the correlated sub plans that a node's expressions use.
    fn correlated(&self, node: &Node) -> Vec<usize> {
        let mut plans = Vec::new();
        node.for_each_expr(&mut |expr| columns::sub_plans(expr, &mut plans));
        plans.retain(|&plan| self.correlated.get(plan).copied().unwrap_or(false));
        plans
    }

    /// Compiles an input whose columns these expressions use as `source`.
    fn input<'e>(
        &mut self,
        input: &Node,
        source: usize,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Box<plan::Node>, String> {
        Ok(Box::new(self.node(input, &self.looked_at(source, exprs), None)?))
    }

    /// Returns the columns of a source that expressions use.
    fn looked_at<'e>(&self, source: usize, exprs: impl IntoIterator<Item = &'e Expr>) -> Columns {
        let mut columns = Columns::new();
        for expr in exprs {
            columns::of_source(self.statement, expr, (0, source), &mut columns);
        }
        columns
    }

    /// Compiles an input whose columns are all used.
    fn whole(&mut self, input: &Node) -> Result<plan::Node, String> {
        self.node(input, &(0..input.outputs.len()).collect(), None)
    }

    fn operator(
        &mut self,
        node: &Node,
        looked: &[&Expr],
        calls: Vec<AggregateCall>,
    ) -> Result<Operator, String> {
        let looked = looked.iter().copied();
        Ok(match &node.operator {
            node::Operator::Scan(scan) => Operator::Scan(self.scan(node, scan)?),
            node::Operator::Join(join) => Operator::Join(Box::new(self.join(join, looked)?)),
            node::Operator::Sort { keys, input } => {
                let exprs = looked.chain(keys.iter().map(|key| &key.value));
                Operator::Sort { keys: sort_keys(keys), input: self.input(input, 0, exprs)? }
            }
            node::Operator::Limit { limit, offset, input } => {
                let input = self.input(input, 0, looked)?;
                let (limit, offset) = (limit.as_ref().map(term), offset.as_ref().map(term));
                Operator::Limit { limit, offset, input }
            }
            node::Operator::Aggregate { keys, is_sorted, filter, input } => {
                self.aggregate((keys, filter.as_ref()), *is_sorted, calls, input, looked)?
            }
            node::Operator::Unique { input } => {
                Operator::Unique { input: Box::new(self.whole(input)?) }
            }
            node::Operator::Project { condition, filter, input } => {
                let input = input.as_ref().map(|input| self.input(input, 0, looked.chain(filter)));
                let (condition, filter) = (condition.as_ref().map(term), filter.as_ref().map(term));
                Operator::Project { condition, filter, input: input.transpose()? }
            }
            node::Operator::Values { rows, filter } => {
                let rows = rows.iter().map(list).collect();
                Operator::Values { rows, filter: filter.as_ref().map(term) }
            }
            node::Operator::Unnest { arrays, filter } => {
                Operator::Unnest { arrays: terms(arrays), filter: filter.as_ref().map(term) }
            }
            node::Operator::Series { bounds, filter } => {
                Operator::Series { bounds: terms(bounds), filter: filter.as_ref().map(term) }
            }
            node::Operator::Append { inputs } => Operator::Append { inputs: self.all(inputs)? },
            node::Operator::MergeAppend { keys, inputs } => {
                Operator::MergeAppend { keys: sort_keys(keys), inputs: self.all(inputs)? }
            }
            node::Operator::SetOperation { operation, all, left, right } => {
                self.set_operation((*operation, *all), left, right)?
            }
            node::Operator::Window { calls, input } => {
                Operator::Window(Box::new(super::window::window(calls, self.whole(input)?)))
            }
            node::Operator::Shared { plan, filter } => {
                Operator::Shared { plan: *plan, filter: filter.as_ref().map(term) }
            }
            node::Operator::Lock { input, strength, .. } => {
                self.writes = true;
                lock(*strength, self.input(input, 0, looked)?)
            }
            node::Operator::Insert(insert) => {
                self.writes = true;
                Operator::Insert(Box::new(self.insert(insert)?))
            }
            node::Operator::Update(update) => {
                self.writes = true;
                Operator::Update(Box::new(self.update(update, looked)?))
            }
            node::Operator::Delete(delete) => self.delete(delete, looked)?,
            running => self.running(running)?,
        })
    }

    /// Compiles what runs other plans, and reads their rows.
    fn running(&mut self, operator: &node::Operator) -> Result<Operator, String> {
        Ok(match operator {
            node::Operator::Call { routine, arguments, is_volatile, is_value, filter, .. } => {
                let is_free = arguments.iter().all(|argument| self.is_free(argument));
                Operator::Call(Box::new(plan::RoutineCall {
                    routine: routine.clone(),
                    arguments: terms(arguments),
                    filter: filter.as_ref().map(term),
                    is_volatile: *is_volatile,
                    is_kept: is_free && !is_value,
                }))
            }
            node::Operator::Recursive { number, keeps_all, first, step, filter, .. } => {
                let (first, step) = (self.whole(first)?, self.whole(step)?);
                let (filter, keeps_all) = (filter.as_ref().map(term), *keeps_all);
                let number = *number;
                let recursion = plan::Recursion { number, keeps_all, first, step, filter };
                Operator::Recursive(Box::new(recursion))
            }
            node::Operator::WorkTable { number, filter, .. } => {
                Operator::WorkTable { number: *number, filter: filter.as_ref().map(term) }
            }
            _ => return Err("a node that runs no other plan".to_owned()),
        })
    }

    fn set_operation(
        &mut self,
        (operation, all): (sql::query::SetOperation, bool),
        left: &Node,
        right: &Node,
    ) -> Result<Operator, String> {
        let is_except = operation == sql::query::SetOperation::Except;
        let (left, right) = (self.whole(left)?, self.whole(right)?);
        Ok(Operator::SetOperation(Box::new(SetOperation { is_except, all, left, right })))
    }

    fn delete<'e>(
        &mut self,
        delete: &node::Delete,
        looked: impl Iterator<Item = &'e Expr>,
    ) -> Result<Operator, String> {
        self.writes = true;
        let input = *self.input(&delete.input, 1, looked)?;
        Ok(Operator::Delete(Box::new(Delete { table: delete.table, input })))
    }

    fn all(&mut self, inputs: &[Node]) -> Result<Vec<plan::Node>, String> {
        inputs.iter().map(|input| self.whole(input)).collect()
    }

    fn aggregate<'e>(
        &mut self,
        (keys, filter): (&'e [Expr], Option<&'e Expr>),
        is_sorted: bool,
        mut calls: Vec<AggregateCall>,
        input: &Node,
        looked: impl Iterator<Item = &'e Expr>,
    ) -> Result<Operator, String> {
        let exprs: Vec<&Expr> = looked.chain(filter).chain(keys).collect();
        let compiled = filter.map(|filter| Term {
            uses_sub_plans: uses_sub_plans(filter),
            formula: Formula::of_group(filter, &mut calls),
        });
        let input = *self.input(input, 0, exprs)?;
        let keys = list(keys);
        Ok(Operator::Aggregate(Box::new(Aggregate {
            keys,
            is_sorted,
            is_plain: false,
            calls,
            filter: compiled,
            input,
        })))
    }

    fn join<'e>(
        &mut self,
        join: &'e node::Join,
        looked: impl Iterator<Item = &'e Expr>,
    ) -> Result<Join, String> {
        let pairs: &[(Expr, Expr)] = match &join.method {
            JoinMethod::NestedLoop => &[],
            JoinMethod::Equal { pairs, .. } => pairs,
        };
        let both = pairs.iter().flat_map(|(outer, inner)| [outer, inner]);
        let exprs: Vec<&Expr> =
            looked.chain(both).chain(&join.join_filter).chain(&join.filter).collect();
        let side = |pick: fn(&(Expr, Expr)) -> &Expr| {
            let exprs: Vec<Expr> = pairs.iter().map(|pair| pick(pair).clone()).collect();
            list(&exprs)
        };
        let is_equal = matches!(join.method, JoinMethod::Equal { .. });
        let mut of_outer = self.looked_at(0, exprs.iter().copied());
        if !is_equal {
            columns::of_inside(self.statement, &join.inner, (1, 0), &mut of_outer);
        }
        Ok(Join {
            equal: is_equal.then(|| (side(|pair| &pair.0), side(|pair| &pair.1))),
            kind: join.kind,
            join_filter: join.join_filter.as_ref().map(term),
            filter: join.filter.as_ref().map(term),
            outer: self.node(&join.outer, &of_outer, None)?,
            inner: *self.input(&join.inner, 1, exprs.iter().copied())?,
            keyed: None,
        })
    }

    fn insert(&mut self, insert: &node::Insert) -> Result<Insert, String> {
        let table = &self.tables[insert.table];
        let update = insert.update.as_deref();
        let update = update.map(|update| Box::new(conflict_update(table, update)));
        let Node { operator, outputs, .. } = &*insert.input;
        if let node::Operator::Project { condition: None, filter: None, input: None } = operator
            && let Some(values) =
                insert.values.iter().map(|value| inlined(value, outputs)).collect()
        {
            let values: Vec<&Expr> = values;
            let outputs: Vec<Output> = values.into_iter().map(output).collect();
            let uses_sub_plans =
                outputs.iter().any(|output| matches!(output, Output::Term(t) if t.uses_sub_plans));
            return Ok(Insert {
                table: insert.table,
                values: List { outputs, uses_sub_plans },
                ignores_duplicates: insert.ignores_duplicates,
                update,
                input: None,
                row: self.number(&insert.input),
            });
        }
        Ok(Insert {
            table: insert.table,
            values: list(&insert.values),
            ignores_duplicates: insert.ignores_duplicates,
            update,
            input: Some(*self.input(&insert.input, 0, &insert.values)?),
            row: 0,
        })
    }

    fn update<'e>(
        &mut self,
        update: &'e node::Update,
        looked: impl Iterator<Item = &'e Expr>,
    ) -> Result<Update, String> {
        let table = &self.tables[update.table];
        let concerns = |own: &[usize]| update.assignments.iter().any(|(at, _)| own.contains(at));
        let referrers = table.referrers.iter().map(|referrer| &referrer.key);
        let of_references =
            table.references.iter().chain(referrers).any(|other| concerns(&other.own));
        let of_indexes = table.indexes.iter().any(|index| index.unique && concerns(&index.columns));
        let of_sizes = table.large_keys.iter().any(|key| concerns(&key.columns));
        let of_computed = table.computed.iter().any(|value| concerns(&value.inputs));
        let is_whole = !table.checks.is_empty()
            || of_computed
            || of_references
            || of_indexes
            || of_sizes
            || concerns(&table.key_columns);
        let assigned: Vec<&Expr> = update.assignments.iter().map(|(_, value)| value).collect();
        let values: Vec<Expr> = assigned.iter().map(|value| (*value).clone()).collect();
        Ok(Update {
            table: update.table,
            columns: update.assignments.iter().map(|(at, _)| *at).collect(),
            values: list(&values),
            is_whole,
            mode: mode_of(table, concerns),
            input: *self.input(&update.input, 1, looked.chain(assigned))?,
        })
    }

    fn scan(&mut self, node: &Node, scan: &node::Scan) -> Result<Scan, String> {
        let mut access = self.access(scan.table, &scan.access)?;
        if let plan::Access::Range(range) = &mut access {
            let has_digests = |&at: &usize| self.tables[scan.table].columns[at].digests.is_some();
            let rest = &range.columns[range.equal.len()..];
            range.sorts_ties = scan.is_ordered && rest.iter().any(has_digests);
        }
        let read = self.looked_at(0, node.outputs.iter().chain(&scan.filter));
        let schema = &self.tables[scan.table].schema;
        let reads_long = schema.long_columns().iter().any(|column| read.contains(column));
        Ok(Scan {
            table: scan.table,
            access,
            filter: scan.filter.as_ref().map(term),
            is_for_change: scan.is_for_change,
            reads_long,
        })
    }

    fn access(&mut self, table: usize, access: &node::Access) -> Result<plan::Access, String> {
        Ok(match access {
            node::Access::Key(key) => plan::Access::Key(key.iter().map(term).collect()),
            node::Access::Lookup { index, key } => {
                let index = &self.tables[table].indexes[*index];
                plan::Access::Lookup {
                    index: index.id,
                    columns: index.columns.clone(),
                    key: key.iter().map(term).collect(),
                }
            }
            node::Access::Range(range) => plan::Access::Range(self.range(table, range)?),
            node::Access::Any(accesses) => {
                let accesses = accesses.iter().map(|access| self.access(table, access));
                plan::Access::Any(accesses.collect::<Result<_, _>>()?)
            }
            node::Access::Each { array, access, is_backward } => plan::Access::Each {
                array: term(array),
                access: Box::new(self.access(table, access)?),
                is_backward: *is_backward,
            },
            node::Access::All => {
                self.whole.push(table);
                plan::Access::All
            }
        })
    }

    fn range(&self, table: usize, range: &node::Range) -> Result<Range, String> {
        let table = &self.tables[table];
        let index = range.index.map(|index| &table.indexes[index]);
        let named = index.map_or(table.named, |index| index.named);
        let what = || index.map_or("its primary key".to_owned(), |index| index.name.clone());
        if let Some(named) = named.filter(|named| *named > range.equal.len()) {
            return Err(format!(
                "it scans table {} in the order of {}, which is partitioned among memory servers by its first \
                 {named} columns, but fixes only {} of them by equality; create the tables again",
                table.name,
                what(),
                range.equal.len()
            ));
        }
        if named.is_none() {
            return Err(format!(
                "it scans table {} in the order of {}, which is stored as a hash table; store it as a tree",
                table.name,
                what()
            ));
        }
        let columns = index.map_or(&table.key_columns, |index| &index.columns);
        let stored = index.map_or(table.schema.key(), |index| &index.stored);
        let bound = |bound: &node::Bound| Bound {
            value: term(&bound.value),
            is_included: bound.is_included,
        };
        Ok(Range {
            index: index.map(|index| index.id),
            columns: columns.clone(),
            stored: stored.to_vec(),
            words: index.map_or(table.schema.key_words(), |index| index.words),
            equal: range.equal.iter().map(term).collect(),
            low: range.low.as_ref().map(bound),
            high: range.high.as_ref().map(bound),
            is_backward: range.is_backward,
            sorts_ties: false,
        })
    }
}

/// Returns the width of the rows that the outputs are over, if the outputs could be the input
/// unchanged.
fn input_width(operator: &Operator) -> Option<usize> {
    match operator {
        Operator::Sort { input, .. }
        | Operator::Limit { input, .. }
        | Operator::Unique { input }
        | Operator::Project { input: Some(input), .. }
        | Operator::Lock { input, .. } => Some(input.width),
        Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
            inputs.first().map(|input| input.width)
        }
        Operator::SetOperation(operation) => Some(operation.left.width),
        Operator::Window(window) => Some(window.input.width + window.calls.len()),
        Operator::Values { rows, .. } => rows.first().map(|row| row.outputs.len()),
        Operator::Unnest { arrays, .. } => Some(arrays.len()),
        Operator::Series { .. } => Some(1),
        _ => None,
    }
}

fn uses_sub_plans(expr: &Expr) -> bool {
    let mut plans = Vec::new();
    columns::sub_plans(expr, &mut plans);
    !plans.is_empty()
}

fn lock(lock: RowLock, mut input: Box<plan::Node>) -> Operator {
    if let Operator::Lock { keeps_ids, .. } = &mut input.operator {
        *keeps_ids = true;
    }
    let (mode, if_locked) = (lock.strength.into(), lock.if_locked);
    Operator::Lock { mode, if_locked, keeps_ids: false, input }
}

/// The mode of the locks of an update that concerns these columns: that of a key keeps those away
/// who reference the row.
pub(crate) fn mode_of(table: &BoundTable, concerns: impl Fn(&[usize]) -> bool) -> RowLockMode {
    let mut unique = table.indexes.iter().filter(|index| index.unique);
    match concerns(table.schema.key()) || unique.any(|index| concerns(&index.columns)) {
        true => RowLockMode::Update,
        false => RowLockMode::NoKeyUpdate,
    }
}

fn conflict_update(table: &BoundTable, update: &node::ConflictUpdate) -> ConflictUpdate {
    let concerns = |own: &[usize]| update.assignments.iter().any(|(at, _)| own.contains(at));
    let values: Vec<Expr> = update.assignments.iter().map(|(_, value)| value.clone()).collect();
    ConflictUpdate {
        index: update.index,
        columns: update.assignments.iter().map(|(column, _)| *column).collect(),
        values: list(&values),
        filter: update.filter.as_ref().map(term),
        mode: mode_of(table, concerns),
    }
}

fn terms(exprs: &[Expr]) -> Vec<Term> {
    exprs.iter().map(term).collect()
}

pub(super) fn term(expr: &Expr) -> Term {
    Term { formula: Formula::compile(expr), uses_sub_plans: uses_sub_plans(expr) }
}

/// Returns source and column if the expression is a column of level 0.
fn column_of(expr: &Expr) -> Option<(usize, usize)> {
    match expr.kind {
        ExprKind::Column(ColumnRef { level: 0, source, column }) => Some((source, column)),
        _ => None,
    }
}

pub(super) fn output(expr: &Expr) -> Output {
    match column_of(expr) {
        Some((0, column)) => Output::Column(column),
        Some((_, column)) => Output::Inner(column),
        None => Output::Term(term(expr)),
    }
}

pub(super) fn of_group(expr: &Expr, calls: &mut Vec<AggregateCall>) -> Output {
    match column_of(expr) {
        Some((0, column)) => Output::Column(column),
        _ => Output::Term(Term {
            uses_sub_plans: uses_sub_plans(expr),
            formula: Formula::of_group(expr, calls),
        }),
    }
}

fn list<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> List {
    let outputs: Vec<Output> = exprs.into_iter().map(output).collect();
    let uses_sub_plans =
        outputs.iter().any(|output| matches!(output, Output::Term(term) if term.uses_sub_plans));
    List { outputs, uses_sub_plans }
}

fn sort_keys(keys: &[node::SortKey]) -> Vec<SortKey> {
    let key = |key: &node::SortKey| SortKey {
        value: output(&key.value),
        descending: key.descending,
        nulls_first: key.nulls_first,
    };
    keys.iter().map(key).collect()
}

/// Returns the expression that an inserted value comes from, if the input is a single row of
/// expressions.
fn inlined<'e>(value: &'e Expr, input: &'e [Expr]) -> Option<&'e Expr> {
    match column_of(value) {
        Some((0, column)) => input.get(column),
        Some(_) => None,
        None => {
            let mut looks = false;
            value.visit(&mut |part| {
                looks |= column_of(part).is_some() || matches!(part.kind, ExprKind::SubPlan { .. });
            });
            (!looks).then_some(value)
        }
    }
}
