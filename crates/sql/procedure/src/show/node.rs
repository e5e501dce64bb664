//! Prints nodes.

use super::expr::{Names, Style, Text};
use crate::node::{
    Access, Bound, Insert, Join, JoinKind, JoinMethod, Node, Operator, Range, Scan, SortKey,
    Statement, Update, Workload,
};
use sql::expression::{Expr, ExprKind};
use sql::query::{RowLock, SetOperation};
use sql::window::WindowCall;
use sql::{Procedure, Table};

/// A statement that is being printed.
pub(super) struct Shown<'w> {
    workload: &'w Workload,
    routine: &'w Procedure,
    statement: &'w Statement,
    pub(super) lines: Vec<String>,
}

impl<'w> Shown<'w> {
    pub(super) fn new(
        workload: &'w Workload,
        routine: &'w Procedure,
        statement: &'w Statement,
    ) -> Self {
        Self { workload, routine, statement, lines: Vec::new() }
    }

    fn line(&mut self, depth: usize, text: String) {
        self.lines.push(format!("{}{text}", "  ".repeat(depth)));
    }

    /// Prints a node, and returns the names of its outputs.
    pub(super) fn node(&mut self, node: &'w Node, around: &Names, depth: usize) -> Vec<String> {
        let at = self.lines.len();
        let sources = self.inputs(node, around, depth + 1);
        let below = self.lines.split_off(at);
        let names = around.within(sources);
        let text = Text { routine: self.routine, names: &names, style: Style::Exact };
        let rows = match node.rows {
            1 => "1 row".to_owned(),
            rows => format!("{rows} rows"),
        };
        let (title, details) = self.title(node, &text, around);
        let outputs: Vec<String> = node.outputs.iter().map(|output| text.expr(output)).collect();
        self.line(depth, format!("{title}, {rows}"));
        details.into_iter().for_each(|detail| self.line(depth + 2, detail));
        if !outputs.is_empty() {
            self.line(depth + 2, format!("output {}", outputs.join(", ")));
        }
        self.lines.extend(below);
        self.sub_plans(node, &names, depth + 1);
        let called = node.outputs.iter().zip(outputs);
        called
            .map(|(output, name)| if is_name(output) { name } else { format!("({name})") })
            .collect()
    }

    /// Prints the inputs, and returns the names of the node's sources.
    fn inputs(&mut self, node: &'w Node, around: &Names, depth: usize) -> Vec<Vec<String>> {
        let own = |table: usize| self.columns(table);
        match &node.operator {
            Operator::Scan(scan) => vec![own(scan.table)],
            Operator::Insert(insert) => {
                let own = own(insert.table);
                self.node(&insert.input, around, depth);
                vec![own]
            }
            Operator::Update(Update { table, input, .. })
            | Operator::Delete(crate::node::Delete { table, input }) => {
                let own = own(*table);
                vec![own, self.node(input, around, depth)]
            }
            Operator::Join(join) => {
                let outer = self.node(&join.outer, around, depth);
                let inside = around.within(vec![outer.clone()]);
                let is_loop = join.method == JoinMethod::NestedLoop;
                let inner = self.node(&join.inner, if is_loop { &inside } else { around }, depth);
                vec![outer, inner]
            }
            Operator::Values { rows, .. } => {
                vec![
                    (1..=rows.first().map_or(0, Vec::len))
                        .map(|at| format!("column{at}"))
                        .collect(),
                ]
            }
            Operator::Unnest { arrays, .. } => {
                vec![(1..=arrays.len()).map(|at| format!("element{at}")).collect()]
            }
            Operator::Series { .. } => vec![vec!["number".to_owned()]],
            Operator::Call { width, .. }
            | Operator::Recursive { width, .. }
            | Operator::WorkTable { width, .. } => {
                vec![(1..=*width).map(|at| format!("column{at}")).collect()]
            }
            Operator::Shared { plan, .. } => {
                let width =
                    self.statement.sub_plans.get(*plan).map_or(0, |plan| plan.root.outputs.len());
                vec![(1..=width).map(|at| format!("shared{at}")).collect()]
            }
            Operator::Window { calls, input } => {
                let mut names = self.node(input, around, depth);
                names.extend(calls.iter().map(|call| call.function.name().to_owned()));
                vec![names]
            }
            _ => {
                let inputs: Vec<Vec<String>> = node
                    .inputs()
                    .into_iter()
                    .map(|(input, _)| self.node(input, around, depth))
                    .collect();
                inputs.into_iter().take(1).collect()
            }
        }
    }

    fn columns(&self, table: usize) -> Vec<String> {
        let table = &self.workload.catalog.tables[table];
        table.columns.iter().map(|column| format!("{}.{}", table.name, column.name)).collect()
    }

    /// Prints the sub plans of a node.
    fn sub_plans(&mut self, node: &'w Node, names: &Names, depth: usize) {
        let mut plans = Vec::new();
        node.for_each_expr(&mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { plan, .. } = &part.kind {
                    plans.push(*plan);
                }
            });
        });
        plans.sort_unstable();
        plans.dedup();
        let statement = self.statement;
        for plan in plans {
            let Some(sub) = statement.sub_plans.get(plan) else { continue };
            let when = if sub.is_correlated { "for each row" } else { "once" };
            self.line(depth, format!("plan {plan}, {when}:"));
            let alone = Names::default();
            self.node(&sub.root, if sub.is_correlated { names } else { &alone }, depth + 1);
        }
    }

    /// Returns the title line of a node, and further lines with details.
    fn title(&self, node: &Node, text: &Text<'_>, around: &Names) -> (String, Vec<String>) {
        let mut details = Vec::new();
        let mut detail = |name: &str, expr: &Option<Expr>| {
            details.extend(expr.iter().map(|expr| format!("{name} {}", text.expr(expr))));
        };
        let title = match &node.operator {
            Operator::Scan(scan) => {
                detail("where", &scan.filter);
                self.scan(scan, around)
            }
            Operator::Join(join) => {
                detail("joined where", &join.join_filter);
                detail("where", &join.filter);
                self::join(join, text)
            }
            Operator::Sort { keys, .. } => format!("sort by {}", sort_keys(keys, text)),
            Operator::Limit { limit, offset, .. } => {
                detail("limit", limit);
                detail("offset", offset);
                "limit".to_owned()
            }
            Operator::Aggregate { keys, is_sorted, filter, .. } => {
                detail("where", filter);
                match (&keys[..], is_sorted) {
                    ([], _) => "aggregate".to_owned(),
                    (keys, true) => format!("sorted groups by {}", text.list(keys)),
                    (keys, false) => format!("groups by {}", text.list(keys)),
                }
            }
            Operator::Unique { .. } => "unique".to_owned(),
            Operator::Project { condition, filter, .. } => {
                detail("if", condition);
                detail("where", filter);
                "project".to_owned()
            }
            Operator::Values { rows, filter } => {
                detail("where", filter);
                let rows: Vec<String> =
                    rows.iter().map(|row| format!("({})", text.list(row))).collect();
                format!("values {}", rows.join(", "))
            }
            Operator::Unnest { arrays, filter } => {
                detail("where", filter);
                format!("unnest {}", text.list(arrays))
            }
            Operator::Series { bounds, filter } => {
                detail("where", filter);
                format!("generate_series {}", text.list(bounds))
            }
            Operator::Shared { plan, filter } => {
                detail("where", filter);
                format!("rows of plan {plan}")
            }
            Operator::Append { .. } => "append".to_owned(),
            Operator::MergeAppend { keys, .. } => format!("merge by {}", sort_keys(keys, text)),
            Operator::SetOperation { operation, all, .. } => set_title(*operation, *all),
            Operator::Window { calls, .. } => window_title(calls),
            Operator::Lock { table, strength, .. } => {
                format!("lock {} {}", self.table(*table).name, how(strength))
            }
            Operator::Insert(insert) => return self.insert(insert, around),
            Operator::Update(update) => return self.update(update, text),
            Operator::Delete(delete) => format!("delete {}", self.table(delete.table).name),
            running => running_title(running, text, &mut detail),
        };
        (title, details)
    }

    fn table(&self, table: usize) -> &'w Table {
        &self.workload.catalog.tables[table]
    }

    fn insert(&self, insert: &Insert, around: &Names) -> (String, Vec<String>) {
        let table = self.table(insert.table);
        // The values are over the input, the outputs over the new row.
        let input: Vec<String> =
            (1..=insert.input.outputs.len()).map(|at| format!("input.{at}")).collect();
        let names = around.within(vec![input]);
        let text = Text { routine: self.routine, names: &names, style: Style::Exact };
        let pairs = table.columns.iter().zip(&insert.values);
        let values = pairs
            .map(|(column, value)| format!("{} = {}", column.name, text.expr(value)))
            .collect();
        let skipping = if insert.ignores_duplicates { " on conflict do nothing" } else { "" };
        (format!("insert {}{skipping}", table.name), values)
    }

    fn update(&self, update: &Update, text: &Text<'_>) -> (String, Vec<String>) {
        let table = self.table(update.table);
        let set = |(column, value): &(usize, Expr)| {
            format!("{} = {}", table.columns[*column].name, text.expr(value))
        };
        (format!("update {}", table.name), update.assignments.iter().map(set).collect())
    }

    fn scan(&self, scan: &Scan, around: &Names) -> String {
        let table = self.table(scan.table);
        let names = around.within(Vec::new());
        let text = Text { routine: self.routine, names: &names, style: Style::Exact };
        let access = access(table, &scan.access, &text);
        let ordered = if scan.is_ordered { ", in order" } else { "" };
        let change = if scan.is_for_change { ", for change" } else { "" };
        format!("{} {access}{ordered}{change}", table.name)
    }
}

pub(super) fn is_name(output: &Expr) -> bool {
    matches!(output.kind, ExprKind::Column(_) | ExprKind::Variable(_))
}

fn equalities(table: &Table, columns: &[usize], values: &[Expr], text: &Text<'_>) -> Vec<String> {
    let pairs = columns.iter().zip(values);
    pairs
        .map(|(column, value)| format!("{} = {}", table.columns[*column].name, text.expr(value)))
        .collect()
}

fn access(table: &Table, shown: &Access, text: &Text<'_>) -> String {
    match shown {
        Access::Key(key) => {
            format!("by key {}", equalities(table, &table.primary_key, key, text).join(", "))
        }
        Access::Lookup { index, key } => {
            let index = &table.indexes[*index];
            format!("by {} {}", index.name, equalities(table, &index.columns, key, text).join(", "))
        }
        Access::Range(range) => self::range(table, range, text),
        Access::Any(accesses) => {
            let parts: Vec<String> =
                accesses.iter().map(|part| access(table, part, text)).collect();
            format!("any of [{}]", parts.join("; "))
        }
        Access::Each { array, access: each, is_backward } => {
            let backward = if *is_backward { " backward" } else { "" };
            let (array, each) = (text.expr(array), access(table, each, text));
            format!("for each element of {array}{backward} {each}")
        }
        Access::All => "full scan".to_owned(),
    }
}

fn range(table: &Table, range: &Range, text: &Text<'_>) -> String {
    let (name, columns) = match range.index {
        None => ("key", &table.primary_key),
        Some(index) => (&*table.indexes[index].name, &table.indexes[index].columns),
    };
    let mut parts = equalities(table, columns, &range.equal, text);
    let next = columns.get(range.equal.len()).map_or("?", |column| &*table.columns[*column].name);
    let mut bound = |bound: &Option<Bound>, sign: &str| {
        parts.extend(bound.iter().map(|bound| {
            let equal = if bound.is_included { "=" } else { "" };
            format!("{next} {sign}{equal} {}", text.expr(&bound.value))
        }));
    };
    bound(&range.low, ">");
    bound(&range.high, "<");
    let backward = if range.is_backward { " backward" } else { "" };
    format!("range of {name}{backward} {}", parts.join(", ")).trim_end().to_owned()
}

fn join(join: &Join, text: &Text<'_>) -> String {
    let kind = match join.kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
    };
    match &join.method {
        JoinMethod::NestedLoop => format!("{kind} join, for each outer row"),
        JoinMethod::Equal { pairs, is_ordered } => {
            let pair = |(outer, inner): &(Expr, Expr)| {
                format!("{} = {}", text.expr(outer), text.expr(inner))
            };
            let pairs: Vec<String> = pairs.iter().map(pair).collect();
            let ordered = if *is_ordered { ", in order" } else { "" };
            format!("{kind} join by {}{ordered}", pairs.join(", "))
        }
    }
}

fn sort_keys(keys: &[SortKey], text: &Text<'_>) -> String {
    let key = |key: &SortKey| {
        let descending = if key.descending { " descending" } else { "" };
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " nulls first",
            (true, false) => " nulls last",
            _ => "",
        };
        format!("{}{descending}{nulls}", text.expr(&key.value))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn set_title(operation: SetOperation, all: bool) -> String {
    let all = if all { " all" } else { "" };
    format!("{}{all}", operation.name().to_lowercase())
}

/// The title of a node that runs other plans, or reads their rows.
fn running_title(
    operator: &Operator,
    text: &Text<'_>,
    detail: &mut dyn FnMut(&str, &Option<Expr>),
) -> String {
    match operator {
        Operator::Recursive { number, filter, .. } => {
            detail("where", filter);
            format!("recursion {number}")
        }
        Operator::WorkTable { number, filter, .. } => {
            detail("where", filter);
            format!("last rows of recursion {number}")
        }
        Operator::Call { routine, arguments, filter, .. } => {
            detail("where", filter);
            format!("call {routine} {}", text.list(arguments))
        }
        _ => String::new(),
    }
}

fn how(lock: &RowLock) -> &'static str {
    if lock.strength.is_exclusive() { "exclusive" } else { "shared" }
}

fn window_title(calls: &[WindowCall]) -> String {
    let names: Vec<&str> = calls.iter().map(|call| call.function.name()).collect();
    format!("window functions {}", names.join(", "))
}
