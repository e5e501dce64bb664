//! Names the nodes of plans, and prints their expressions, as PostgreSQL's `EXPLAIN` does.
//!
//! A join of equal values is shown as a hash join, or as a merge join if its result is in order. A
//! table name stands for an alias, which plans do not have. Estimates are numbers of rows.

use super::explained::Explained;
use super::expr::{ELEMENT, Names, Style, Text};
use super::node::is_name;
use crate::node::{
    Access, Delete, Insert, Join, JoinKind, JoinMethod, Node, Operator, Range, Scan, SortKey,
    Statement, Update,
};
use sql::expression::{Expr, ExprKind};
use sql::query::SetOperation;
use sql::window::WindowCall;
use sql::{Catalog, Procedure, Table};

/// Names of columns without names.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|at| format!("column{at}")).collect()
}

/// The estimate behind a title.
fn estimate(node: &Explained) -> (String, Vec<String>) {
    (node.rows.map(|rows| format!("  (rows={rows})")).unwrap_or_default(), Vec::new())
}

pub(super) fn explain(
    catalog: &Catalog,
    routine: &Procedure,
    statement: &Statement,
) -> Vec<String> {
    explained(catalog, routine, statement).lines(&mut estimate)
}

pub(super) fn explained(
    catalog: &Catalog,
    routine: &Procedure,
    statement: &Statement,
) -> Explained {
    let mut numbers = Vec::new();
    let plans = statement.sub_plans.iter().map(|plan| &plan.root);
    for root in std::iter::once(&statement.root).chain(plans) {
        root.walk(&mut |node| numbers.push(node));
    }
    let scans = numbers.iter().filter(|node| matches!(node.operator, Operator::Scan(_)));
    let is_qualified = scans.count() > 1;
    let explain = Explain { catalog, routine, statement, is_qualified, numbers };
    explain.node(&statement.root, &Names::default())
}

struct Explain<'e> {
    catalog: &'e Catalog,
    routine: &'e Procedure,
    statement: &'e Statement,
    /// Whether columns are printed with their table.
    is_qualified: bool,
    /// The nodes, by their numbers.
    numbers: Vec<&'e Node>,
}

impl<'e> Explain<'e> {
    fn text<'t>(&self, names: &'t Names) -> Text<'t>
    where
        'e: 't,
    {
        Text { routine: self.routine, names, style: Style::Explain }
    }

    fn table(&self, table: usize) -> &'e Table {
        &self.catalog.tables[table]
    }

    fn columns(&self, table: usize) -> Vec<String> {
        let table = self.table(table);
        let name = |column: &str| match self.is_qualified {
            true => format!("{}.{column}", table.name),
            false => column.to_owned(),
        };
        let mut columns: Vec<String> =
            table.visible().iter().map(|column| name(&column.name)).collect();
        let names = Names { levels: vec![vec![columns.clone()]] };
        let text = self.text(&names);
        let hidden = table.computed.iter().map(|value| super::bracketed(value, text.expr(value)));
        columns.extend(hidden);
        columns
    }

    fn node(&self, node: &Node, around: &Names) -> Explained {
        let (sources, inputs) = self.inputs(node, around);
        let names = around.within(sources);
        let text = self.text(&names);
        let outputs = node.outputs.iter().map(|output| match is_name(output) {
            true => text.expr(output),
            false => format!("({})", text.expr(output)),
        });
        let mut explained = Explained {
            number: self.numbers.iter().position(|known| std::ptr::eq(*known, node)),
            title: self.title(node),
            properties: self.properties(node),
            details: self.details(node, &text, around),
            outputs: outputs.collect(),
            types: node.outputs.iter().map(|output| output.sql_type.clone()).collect(),
            rows: Some(node.rows),
            inputs: Vec::new(),
            plans: self.sub_plans(node, &names),
        };
        if let Operator::Scan(Scan { access: Access::Any(accesses), table, .. }) = &node.operator {
            explained.inputs.push(self.alternatives(*table, accesses, around));
        }
        explained.inputs.extend(inputs);
        explained
    }

    /// The names of a node's sources, and its inputs.
    fn inputs(&self, node: &Node, around: &Names) -> (Vec<Vec<String>>, Vec<Explained>) {
        match &node.operator {
            Operator::Scan(scan) => (vec![self.columns(scan.table)], Vec::new()),
            Operator::Insert(Insert { table, input, .. }) => {
                (vec![self.columns(*table)], vec![self.node(input, around)])
            }
            Operator::Update(Update { table, input, .. })
            | Operator::Delete(Delete { table, input }) => {
                let input = self.node(input, around);
                (vec![self.columns(*table), input.outputs.clone()], vec![input])
            }
            Operator::Join(join) => {
                let outer = self.node(&join.outer, around);
                let of_outer = around.within(vec![outer.outputs.clone()]);
                let inner = match &join.method {
                    JoinMethod::NestedLoop => self.node(&join.inner, &of_outer),
                    JoinMethod::Equal { pairs, is_ordered } => {
                        let above = match (pairs.is_empty(), is_ordered) {
                            (true, _) => "Materialize",
                            (false, true) => "Sort",
                            (false, false) => "Hash",
                        };
                        below(above, self.node(&join.inner, around))
                    }
                };
                (vec![outer.outputs.clone(), inner.outputs.clone()], vec![outer, inner])
            }
            Operator::Values { rows, .. } => {
                let width = rows.first().map_or(0, Vec::len);
                let names = (1..=width).map(|at| format!("\"*VALUES*\".column{at}"));
                (vec![names.collect()], Vec::new())
            }
            Operator::Unnest { arrays, .. } => {
                (vec![(1..=arrays.len()).map(|_| "unnest".to_owned()).collect()], Vec::new())
            }
            Operator::Series { .. } => (vec![vec!["generate_series".to_owned()]], Vec::new()),
            Operator::Recursive { width, first, step, .. } => {
                let (first, step) = (self.node(first, around), self.node(step, around));
                (vec![numbered(*width)], vec![first, step])
            }
            Operator::WorkTable { width, .. } => (vec![numbered(*width)], Vec::new()),
            Operator::Call { routine, width, .. } => {
                (vec![vec![routine.clone(); *width]], Vec::new())
            }
            Operator::Shared { plan, .. } => {
                let plan = self.statement.sub_plans.get(*plan);
                let width = plan.map_or(0, |plan| plan.root.outputs.len());
                (vec![(1..=width).map(|at| format!("column{at}")).collect()], Vec::new())
            }
            Operator::Window { calls, input } => {
                let input = self.node(input, around);
                let mut names = input.outputs.clone();
                names.extend(calls.iter().map(call_title));
                (vec![names], vec![input])
            }
            _ => {
                let inputs = node.inputs().into_iter();
                let inputs: Vec<Explained> =
                    inputs.map(|(input, _)| self.node(input, around)).collect();
                (inputs.iter().take(1).map(|input| input.outputs.clone()).collect(), inputs)
            }
        }
    }

    /// The sub plans of a node's expressions.
    fn sub_plans(&self, node: &Node, names: &Names) -> Vec<(String, Explained)> {
        let mut plans = Vec::new();
        node.for_each_expr(&mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { plan, .. } = part.kind {
                    plans.push(plan);
                }
            });
        });
        plans.sort_unstable();
        plans.dedup();
        let named = |plan: usize| {
            let sub = self.statement.sub_plans.get(plan)?;
            let kind = if sub.is_correlated { "SubPlan" } else { "InitPlan" };
            Some((format!("{kind} {}", plan + 1), self.node(&sub.root, names)))
        };
        plans.into_iter().filter_map(named).collect()
    }

    /// The properties of structured formats.
    fn properties(&self, node: &Node) -> Vec<(&'static str, String)> {
        let title = self.title(node);
        let mut properties = Vec::new();
        let mut kind = title.split(" on ").next().unwrap_or(&title).to_owned();
        match &node.operator {
            Operator::Scan(scan) => {
                let kind = match scan.access {
                    Access::All => "Seq Scan",
                    Access::Any(_) => "Bitmap Heap Scan",
                    _ => "Index Scan",
                };
                properties.push(("Node Type", kind.to_owned()));
                if kind == "Index Scan" {
                    let is_backward = title.contains(" Backward ");
                    let direction = if is_backward { "Backward" } else { "Forward" };
                    properties.push(("Scan Direction", direction.to_owned()));
                    properties.push(("Index Name", self.index_name(scan.table, &scan.access)));
                }
                properties.push(("Relation Name", self.table(scan.table).name.clone()));
                return properties;
            }
            Operator::Join(join) => {
                kind = join_title(join).split(' ').next().unwrap_or_default().to_owned();
                kind = match &*kind {
                    "Nested" => "Nested Loop".to_owned(),
                    kind => format!("{kind} Join"),
                };
                properties.push(("Join Type", format!("{:?}", join.kind)));
            }
            Operator::Aggregate { keys, is_sorted, .. } => {
                kind = "Aggregate".to_owned();
                let strategy = match (keys.is_empty(), is_sorted) {
                    (true, _) => "Plain",
                    (false, true) => "Sorted",
                    (false, false) => "Hashed",
                };
                properties.push(("Strategy", strategy.to_owned()));
            }
            Operator::Insert(Insert { table, .. })
            | Operator::Update(Update { table, .. })
            | Operator::Delete(Delete { table, .. }) => {
                properties.push(("Operation", kind));
                properties.push(("Relation Name", self.table(*table).name.clone()));
                kind = "ModifyTable".to_owned();
            }
            _ => {}
        }
        properties.insert(0, ("Node Type", kind));
        properties
    }

    fn index_name(&self, table: usize, access: &Access) -> String {
        let table = self.table(table);
        let named = |index: Option<usize>| match index {
            None => table.primary_key_name.clone(),
            Some(index) => table.indexes[index].name.clone(),
        };
        match access {
            Access::Key(_) => named(None),
            Access::Lookup { index, .. } => named(Some(*index)),
            Access::Range(range) => named(range.index),
            Access::Each { access, .. } => self.index_name(self.position(table), access),
            Access::Any(_) | Access::All => String::new(),
        }
    }

    fn position(&self, table: &Table) -> usize {
        self.catalog.position(&table.name).unwrap_or_default()
    }

    fn title(&self, node: &Node) -> String {
        match &node.operator {
            Operator::Scan(scan) => self.scan_title(scan),
            Operator::Join(join) => join_title(join),
            Operator::Sort { .. } => "Sort".to_owned(),
            Operator::Limit { .. } => "Limit".to_owned(),
            Operator::Aggregate { keys, is_sorted, .. } => match (keys.is_empty(), is_sorted) {
                (true, _) => "Aggregate".to_owned(),
                (false, true) => "GroupAggregate".to_owned(),
                (false, false) => "HashAggregate".to_owned(),
            },
            Operator::Unique { .. } => "Unique".to_owned(),
            Operator::Project { .. } => "Result".to_owned(),
            Operator::Values { .. } => "Values Scan on \"*VALUES*\"".to_owned(),
            Operator::Unnest { .. } => "Function Scan on unnest".to_owned(),
            Operator::Series { .. } => "Function Scan on generate_series".to_owned(),
            Operator::Call { routine, .. } => format!("Function Scan on {routine}"),
            Operator::Recursive { .. } => "Recursive Union".to_owned(),
            Operator::WorkTable { .. } => "WorkTable Scan".to_owned(),
            Operator::Append { .. } => "Append".to_owned(),
            Operator::MergeAppend { .. } => "Merge Append".to_owned(),
            Operator::SetOperation { operation, all, .. } => set_title(*operation, *all),
            Operator::Window { .. } => "WindowAgg".to_owned(),
            Operator::Shared { plan, .. } => format!("CTE Scan on plan {}", plan + 1),
            Operator::Lock { .. } => "LockRows".to_owned(),
            Operator::Insert(insert) => format!("Insert on {}", self.table(insert.table).name),
            Operator::Update(update) => format!("Update on {}", self.table(update.table).name),
            Operator::Delete(delete) => format!("Delete on {}", self.table(delete.table).name),
        }
    }

    fn scan_title(&self, scan: &Scan) -> String {
        let name = &self.table(scan.table).name;
        match &scan.access {
            Access::All => format!("Seq Scan on {name}"),
            Access::Any(_) => format!("Bitmap Heap Scan on {name}"),
            access => {
                let backward = match access {
                    Access::Range(Range { is_backward: true, .. }) => " Backward",
                    _ => "",
                };
                let index = self.index_name(scan.table, access);
                format!("Index Scan{backward} using {index} on {name}")
            }
        }
    }

    fn details(&self, node: &Node, text: &Text<'_>, around: &Names) -> Vec<(&'static str, String)> {
        let mut details = Vec::new();
        let mut detail = |name: &'static str, expr: &Option<Expr>| {
            details.extend(expr.iter().map(|expr| (name, text.expr(expr))));
        };
        match &node.operator {
            Operator::Scan(scan) => {
                let filter = scan.filter.iter().map(|filter| ("Filter", text.expr(filter)));
                let condition = self.condition(scan.table, &scan.access, around);
                let condition = condition.map(|condition| match scan.access {
                    Access::Any(_) => ("Recheck Cond", condition),
                    _ => ("Index Cond", condition),
                });
                return condition.into_iter().chain(filter).collect();
            }
            Operator::Join(join) => {
                if let JoinMethod::Equal { pairs, is_ordered } = &join.method
                    && !pairs.is_empty()
                {
                    let pair = |(outer, inner): &(Expr, Expr)| {
                        format!("({} = {})", text.expr(outer), text.expr(inner))
                    };
                    let pairs = both(pairs.iter().map(pair).collect());
                    let name = if *is_ordered { "Merge Cond" } else { "Hash Cond" };
                    details.extend(pairs.map(|pairs| (name, pairs)));
                }
                let mut detail = |name: &'static str, expr: &Option<Expr>| {
                    details.extend(expr.iter().map(|expr| (name, text.expr(expr))));
                };
                detail("Join Filter", &join.join_filter);
                detail("Filter", &join.filter);
            }
            Operator::Sort { keys, .. } | Operator::MergeAppend { keys, .. } => {
                details.push(("Sort Key", sort_keys(keys, text)));
            }
            Operator::Aggregate { keys, filter, .. } => {
                let keys = (!keys.is_empty()).then(|| ("Group Key", text.list(keys)));
                let filter = filter.iter().map(|filter| ("Filter", text.expr(filter)));
                details = keys.into_iter().chain(filter).collect();
            }
            Operator::Project { condition, filter, .. } => {
                detail("One-Time Filter", condition);
                detail("Filter", filter);
            }
            Operator::Values { filter, .. }
            | Operator::Unnest { filter, .. }
            | Operator::Series { filter, .. }
            | Operator::Call { filter, .. }
            | Operator::Recursive { filter, .. }
            | Operator::WorkTable { filter, .. }
            | Operator::Shared { filter, .. } => detail("Filter", filter),
            Operator::Insert(Insert { update: Some(_), .. }) => {
                details.push(("Conflict Resolution", "UPDATE".to_owned()));
            }
            Operator::Insert(Insert { ignores_duplicates: true, .. }) => {
                details.push(("Conflict Resolution", "NOTHING".to_owned()));
            }
            _ => {}
        }
        details
    }

    /// The condition that an access enforces.
    fn condition(&self, table: usize, access: &Access, around: &Names) -> Option<String> {
        let schema = self.table(table);
        let names = around.within(Vec::new());
        let outside = self.text(&names);
        let columns = self.columns(table);
        let is_marker = |at: usize| schema.marker(at).is_some();
        let equal = |own: &[usize], key: &[Expr]| -> Vec<String> {
            let pairs = own.iter().zip(key).filter(|(at, _)| !is_marker(**at));
            pairs
                .map(|(&at, value)| format!("({} = {})", columns[at], outside.expr(value)))
                .collect()
        };
        let of_index = |index: Option<usize>| match index {
            None => &schema.primary_key,
            Some(index) => &schema.indexes[index].columns,
        };
        match access {
            Access::Key(key) => both(equal(of_index(None), key)),
            Access::Lookup { index, key } => both(equal(of_index(Some(*index)), key)),
            Access::Range(range) => {
                let own = of_index(range.index);
                let mut parts = equal(own, &range.equal);
                let next = own.get(range.equal.len()).map(|&at| &columns[at]);
                for (bound, sign) in [(&range.low, '>'), (&range.high, '<')] {
                    if let (Some(bound), Some(next)) = (bound, next) {
                        let equal = if bound.is_included { "=" } else { "" };
                        let value = outside.expr(&bound.value);
                        parts.push(format!("({next} {sign}{equal} {value})"));
                    }
                }
                both(parts)
            }
            Access::Each { array, access, .. } => {
                let condition = self.condition(table, access, around)?;
                let array = format!("ANY ({})", outside.expr(array));
                Some(condition.replace(ELEMENT, &array))
            }
            Access::Any(accesses) => {
                let parts = accesses.iter();
                let parts = parts.filter_map(|part| self.condition(table, part, around));
                Some(format!("({})", parts.collect::<Vec<_>>().join(" OR ")))
            }
            Access::All => None,
        }
    }

    fn alternatives(&self, table: usize, accesses: &[Access], around: &Names) -> Explained {
        let named = |kind: &str, title: String, inputs: Vec<Explained>| Explained {
            title,
            properties: vec![("Node Type", kind.to_owned())],
            inputs,
            ..Explained::default()
        };
        let scan = |access: &Access| {
            let index = self.index_name(table, access);
            let kind = "Bitmap Index Scan";
            let mut scan = named(kind, format!("{kind} on {index}"), Vec::new());
            scan.properties.push(("Index Name", index));
            let condition = self.condition(table, access, around);
            scan.details.extend(condition.map(|condition| ("Index Cond", condition)));
            scan
        };
        let scans = accesses.iter().map(scan).collect();
        named("BitmapOr", "BitmapOr".to_owned(), scans)
    }
}

/// The conjunction of conditions.
fn both(parts: Vec<String>) -> Option<String> {
    match &parts[..] {
        [] => None,
        [part] => Some(part.clone()),
        parts => Some(format!("({})", parts.join(" AND "))),
    }
}

/// A node that has the rows of another one, prepared for a join.
fn below(title: &str, inner: Explained) -> Explained {
    Explained {
        number: inner.number,
        title: title.to_owned(),
        properties: vec![("Node Type", title.to_owned())],
        details: Vec::new(),
        outputs: inner.outputs.clone(),
        types: inner.types.clone(),
        rows: inner.rows,
        inputs: vec![inner],
        plans: Vec::new(),
    }
}

fn call_title(call: &WindowCall) -> String {
    format!("{}(...) OVER (...)", call.function.name())
}

fn set_title(operation: SetOperation, all: bool) -> String {
    let name = match operation {
        SetOperation::Union => "Union",
        SetOperation::Intersect => "Intersect",
        SetOperation::Except => "Except",
    };
    format!("HashSetOp {name}{}", if all { " All" } else { "" })
}

fn join_title(join: &Join) -> String {
    let kind = match join.kind {
        JoinKind::Inner => "",
        JoinKind::Left => " Left",
        JoinKind::Right => " Right",
        JoinKind::Full => " Full",
        JoinKind::Semi => " Semi",
        JoinKind::Anti => " Anti",
    };
    let is_loop = match &join.method {
        JoinMethod::NestedLoop => true,
        JoinMethod::Equal { pairs, .. } => pairs.is_empty(),
    };
    match (&join.method, is_loop) {
        (_, true) if kind.is_empty() => "Nested Loop".to_owned(),
        (_, true) => format!("Nested Loop{kind} Join"),
        (JoinMethod::Equal { is_ordered: true, .. }, _) => format!("Merge{kind} Join"),
        _ => format!("Hash{kind} Join"),
    }
}

fn sort_keys(keys: &[SortKey], text: &Text<'_>) -> String {
    let key = |key: &SortKey| {
        let order = match (key.descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        format!("{}{order}", text.expr(&key.value))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}
