//! No plan makes the lowering panic: neither plans of other statements, nor plans with pieces lost,
//! changed or exchanged. An accepted plan refers only to columns that exist.

#[path = "support/corpus.rs"]
mod corpus;

use corpus::{lowered, origin, program, stored};
use postgres_plan::{Origin, Plan, read};
use procedure::{Node, Operator, Workload};
use proptest::prelude::*;
use sql::expression::{Expr, ExprKind};
use sql::{Procedure, Program};
use std::sync::LazyLock;

/// The texts of a procedure's plans, with their origins.
type Texts = Vec<(String, Origin)>;

/// The program, and for each procedure the texts of its plans with their origins.
static CORPUS: LazyLock<(Program, Vec<Texts>)> = LazyLock::new(|| {
    let program = program();
    let texts = |routine: &Procedure| -> Texts {
        routine.statements.iter().map(|embedded| (stored(embedded), origin(embedded))).collect()
    };
    let texts = program.procedures.iter().map(texts).collect();
    (program, texts)
});

/// Checks that each column in an expression exists in its node's scope.
fn check(workload: &Workload) {
    for procedure in &workload.procedures {
        for statement in &procedure.statements {
            let outside = |plan: &procedure::node::SubPlan| !plan.is_correlated;
            check_node(workload, &statement.root, &[]);
            let alone = statement.sub_plans.iter().filter(|plan| outside(plan));
            alone.for_each(|plan| check_node(workload, &plan.root, &[]));
            assert!(statement.fields.len() <= statement.root.outputs.len());
            let _ = workload.operations(procedure);
        }
    }
}

/// Number of columns of each source, by level.
type Widths = [Vec<usize>];

fn check_node(workload: &Workload, node: &Node, around: &Widths) {
    let own = |table: usize| workload.catalog.tables[table].columns.len();
    let inputs = node.inputs();
    let widths: Vec<usize> = match &node.operator {
        Operator::Scan(scan) => vec![own(scan.table)],
        Operator::Insert(insert) => {
            let input = vec![insert.input.outputs.len()];
            let levels = [&[input][..], around].concat();
            insert.values.iter().for_each(|value| check_expr(value, &levels));
            assert_eq!(insert.values.len(), own(insert.table));
            vec![own(insert.table)]
        }
        Operator::Update(update) => vec![own(update.table), update.input.outputs.len()],
        Operator::Delete(delete) => vec![own(delete.table), delete.input.outputs.len()],
        Operator::Values { rows, .. } => vec![rows.first().map_or(0, Vec::len)],
        Operator::Unnest { arrays, .. } => vec![arrays.len()],
        Operator::Series { .. } => vec![1],
        Operator::Call { width, .. }
        | Operator::Recursive { width, .. }
        | Operator::WorkTable { width, .. } => vec![*width],
        _ => inputs.iter().map(|(input, _)| input.outputs.len()).collect(),
    };
    let levels = [&[widths.clone()][..], around].concat();
    if !matches!(node.operator, Operator::Insert(_)) {
        node.for_each_expr(&mut |expr| check_expr(expr, &levels));
    }
    node.outputs.iter().for_each(|output| check_expr(output, &levels));
    for (at, (input, is_inner)) in inputs.iter().enumerate() {
        let inside = [&[vec![widths[0]]][..], around].concat();
        check_node(workload, input, if *is_inner && at == 1 { &inside[..] } else { around });
    }
}

fn check_expr(expr: &Expr, levels: &Widths) {
    expr.visit(&mut |part| {
        if let ExprKind::Column(column) = &part.kind {
            let level = levels.get(column.level as usize).expect("the level is there");
            assert!(column.column < level[column.source], "{column:?} of {levels:?}");
        }
        assert!(!matches!(part.kind, ExprKind::Subquery { .. }), "a sub-select without a plan");
    });
}

#[test]
fn accepted_plans_refer_to_existing_columns() {
    let (program, texts) = &*CORPUS;
    let mut count = 0;
    for (routine, texts) in program.procedures.iter().zip(texts) {
        let plans: Result<Vec<Plan>, _> =
            texts.iter().map(|(text, origin)| read(text, origin)).collect();
        if let Ok(workload) =
            plans.map_err(drop).and_then(|plans| lowered(program, routine, &plans).map_err(drop))
        {
            check(&workload);
            count += 1;
        }
    }
    assert!(count > 80, "only {count} procedures were taken");
}

/// A mutation of a plan at one position.
#[derive(Clone, Debug)]
enum Damage {
    /// Deletes this many characters.
    Lost(usize),
    /// Inserts a piece.
    Put(&'static str),
    /// Replaces one word by another everywhere.
    Exchanged(&'static str, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces =
        ["(", ")", "$0", "$1", "::text", " AND ", "(SubPlan 1)", "<Item>1</Item>", "id", "1"];
    let exchanged = [
        ("Index Scan", "Seq Scan"),
        ("part_pkey", "part_maker"),
        ("Insert", "Update"),
        ("Update", "Delete"),
        ("part", "sale"),
        ("sale", "part"),
        ("id", "name"),
        ("Inner", "Outer"),
        ("Forward", "Backward"),
        ("=", "+"),
        ("<Item>", "<Item>NOT "),
        ("::integer", "::text"),
        ("InitPlan", "SubPlan"),
        ("Left", "Full"),
    ];
    prop_oneof![
        (1..60_usize).prop_map(Damage::Lost),
        prop::sample::select(pieces.to_vec()).prop_map(Damage::Put),
        prop::sample::select(exchanged.to_vec()).prop_map(|(from, to)| Damage::Exchanged(from, to)),
    ]
}

fn damaged(text: &str, at: usize, damage: &Damage) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = at % characters.len();
    let before: String = characters[..at].iter().collect();
    match damage {
        Damage::Lost(count) => before + &characters[at..].iter().skip(*count).collect::<String>(),
        Damage::Put(piece) => before + piece + &characters[at..].iter().collect::<String>(),
        Damage::Exchanged(from, to) => text.replace(from, to),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn damaged_plans_are_taken_or_refused(
        routine in any::<prop::sample::Index>(),
        damages in prop::collection::vec((any::<usize>(), damage()), 1..3),
    ) {
        let (program, texts) = &*CORPUS;
        let at = routine.index(texts.len());
        let read_damaged = |(text, origin): &(String, Origin)| {
            let text = damages.iter().fold(text.clone(), |text, (at, damage)| damaged(&text, *at, damage));
            read(&text, origin)
        };
        let plans: Result<Vec<Plan>, _> = texts[at].iter().map(read_damaged).collect();
        if let Ok(plans) = plans && let Ok(workload) = lowered(program, &program.procedures[at], &plans) {
            check(&workload);
        }
    }

    #[test]
    fn plans_of_other_statements_are_taken_or_refused(
        routine in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let (program, texts) = &*CORPUS;
        let at = routine.index(texts.len());
        let (text, origin) = &texts[other.index(texts.len())][0];
        if let Ok(plan) = read(text, origin) {
            let plans = vec![plan; texts[at].len()];
            if let Ok(workload) = lowered(program, &program.procedures[at], &plans) {
                check(&workload);
            }
        }
    }
}
