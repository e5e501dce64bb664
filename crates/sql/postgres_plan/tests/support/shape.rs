//! Short descriptions of plans, for tests.

use postgres_plan::node::{Bitmap, BitmapSource, Direction, JoinMethod};
use postgres_plan::{Node, Operator, SubPlan};

/// A short description of a plan, as `limit(index part_pkey backward)`.
pub fn shape(node: &Node) -> String {
    let plans = |name: &str, plans: &[SubPlan]| -> String {
        plans.iter().map(|sub| format!("{name}[{}] ", shape(&sub.plan))).collect()
    };
    let inputs: Vec<String> = node.inputs().into_iter().map(shape).collect();
    let inputs = match inputs.is_empty() {
        true => String::new(),
        false => format!("({})", inputs.join(", ")),
    };
    let (init, sub) = (plans("init", &node.init_plans), plans("sub", &node.sub_plans));
    format!("{init}{sub}{}{inputs}", head(&node.operator))
}

fn head(operator: &Operator) -> String {
    match operator {
        Operator::IndexScan(scan) => format!(
            "index {}{}{}",
            if scan.index_only { "only " } else { "" },
            scan.index,
            if scan.direction == Direction::Backward { " backward" } else { "" }
        ),
        Operator::BitmapHeapScan { bitmap, .. } => format!("bitmap {}", bitmap_shape(bitmap)),
        Operator::SequentialScan { relation, .. } => format!("sequential {}", relation.name),
        Operator::TidScan { relation, .. } => format!("tid {}", relation.name),
        Operator::Join(join) => {
            let method = match join.method {
                JoinMethod::NestedLoop => "loop",
                JoinMethod::Hash { .. } => "hash",
                JoinMethod::Merge { .. } => "merge",
            };
            format!("{method} {}", format!("{:?}", join.kind).to_lowercase())
        }
        Operator::Sort { presorted: 0, .. } => "sort".to_owned(),
        Operator::Sort { presorted, .. } => format!("sort {presorted}"),
        Operator::Aggregate { strategy, .. } => format!("{strategy:?}").to_lowercase(),
        Operator::ModifyTable(modify) => {
            let conflict = match &modify.conflict {
                None => "",
                Some(conflict) if conflict.updates => " updating",
                Some(_) => " skipping",
            };
            let operation = format!("{:?}", modify.operation).to_lowercase();
            format!("{operation} {}{conflict}", modify.relation.name)
        }
        Operator::CteScan { query, .. } => format!("query {query}"),
        other => word(other).to_owned(),
    }
}

fn word(operator: &Operator) -> &'static str {
    match operator {
        Operator::Hash { .. } => "hash",
        Operator::Limit { .. } => "limit",
        Operator::Group { .. } => "group",
        Operator::Unique { .. } => "unique",
        Operator::Result { .. } => "result",
        Operator::ProjectSet { .. } => "project set",
        Operator::ValuesScan { .. } => "values",
        Operator::Append { .. } => "append",
        Operator::MergeAppend { .. } => "merge append",
        Operator::Materialize { .. } => "materialize",
        Operator::Memoize { .. } => "memoize",
        Operator::LockRows { .. } => "lock",
        Operator::SubqueryScan { .. } => "subquery",
        Operator::FunctionScan { .. } => "function",
        other => unreachable!("{other:?} has more to tell than a word"),
    }
}

fn bitmap_shape(bitmap: &Bitmap) -> String {
    let list = |parts: &[Bitmap]| parts.iter().map(bitmap_shape).collect::<Vec<_>>().join(", ");
    match &bitmap.source {
        BitmapSource::Index { index, .. } => index.clone(),
        BitmapSource::And(parts) => format!("and({})", list(parts)),
        BitmapSource::Or(parts) => format!("or({})", list(parts)),
    }
}
