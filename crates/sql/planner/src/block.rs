//! A statement as the planner sees it: relations with numbers that are unique in the statement, and
//! blocks of them.
//!
//! In the expressions of blocks a column has level 0, and its `source` is the number of a relation
//! of the statement. [`sql::expression::ExprKind::SubPlan`] is a sub-select; its `plan` is the
//! number of a block.

use crate::expression::is_volatile;
use crate::set::RelationSet;
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::query::{RoutineCall, RowLock, SetOperation};
use sql::window::WindowCall;

/// The relations and blocks of a statement.
#[derive(Default, Debug)]
pub(crate) struct Logical {
    pub relations: Vec<Relation>,
    pub blocks: Vec<Block>,
}

/// A source of rows.
#[derive(Debug)]
pub(crate) struct Relation {
    pub kind: RelationKind,
    /// The types of its columns.
    pub types: Vec<SqlType>,
    /// Whether the statement updates, deletes or locks its rows.
    pub is_for_change: bool,
    /// How its rows are locked when they are read, before joins. A block that locks those of a
    /// single relation does so after its joins.
    pub lock: Option<RowLock>,
}

#[derive(Clone, Debug)]
pub(crate) enum RelationKind {
    /// A table, by position in the catalog.
    Table(usize),
    /// The rows of a block.
    Query(usize),
    /// The rows of a block, which is sorted for the first window function, with a further column
    /// for each function.
    Windows(usize, Vec<WindowCall>),
    /// `unnest`
    Unnest(Vec<Expr>),
    /// `generate_series`
    Series(Vec<Expr>),
    /// A routine of the catalog.
    Call(RoutineCall),
    /// A recursion of two blocks.
    Recursive { number: usize, first: usize, step: usize, keeps_all: bool },
    /// The last rows of the recursion with this number.
    WorkTable(usize),
}

/// A query.
#[derive(Debug)]
pub(crate) struct Block {
    pub body: Body,
    pub order: Vec<OrderItem>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub lock: Option<RowLock>,
    /// The types of its columns.
    pub types: Vec<SqlType>,
}

#[derive(Debug)]
pub(crate) enum Body {
    Plain(Plain),
    Values(Vec<Vec<Expr>>),
    Set {
        operation: SetOperation,
        /// Whether duplicates are kept.
        all: bool,
        /// Numbers of blocks.
        inputs: [usize; 2],
    },
}

#[derive(Debug)]
pub(crate) struct Plain {
    pub from: List,
    pub group: Vec<Expr>,
    pub is_grouped: bool,
    pub having: Vec<Expr>,
    pub distinct: bool,
    pub outputs: Vec<Expr>,
    /// Outputs of a query for `min` and `max` that read the ends of an index instead.
    pub extreme: Option<Vec<Expr>>,
}

/// A key of `ORDER BY`.
#[derive(Clone, Debug)]
pub(crate) struct OrderItem {
    pub by: By,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum By {
    /// An output column, by position.
    Output(usize),
    Expr(Expr),
}

/// Relations and joins whose rows are combined, with the conditions that the combined rows satisfy.
#[derive(Clone, Default, Debug)]
pub(crate) struct List {
    pub items: Vec<Item>,
    /// Conjuncts.
    pub filter: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Relation(usize),
    List(List),
    /// Keeps the rows of `left` without a match.
    Left {
        left: Box<Item>,
        right: Box<Item>,
        on: Vec<Expr>,
    },
    /// Keeps the rows of both sides without a match.
    Full {
        left: Box<Item>,
        right: Box<Item>,
        on: Vec<Expr>,
    },
    /// A condition on the rows of the list: whether `right` has a match.
    Match {
        right: Box<Item>,
        on: Vec<Expr>,
        /// Whether rows without a match are kept, instead of those with one.
        is_anti: bool,
        /// The same as an inner join.
        distinct: Option<Distinct>,
    },
}

/// A semi-join as an inner join with the distinct values of its right side.
#[derive(Clone, Debug)]
pub(crate) struct Distinct {
    /// The relation of the distinct values.
    pub relation: usize,
    pub on: Vec<Expr>,
}

impl Item {
    /// The relations whose columns its rows have.
    pub fn relations(&self) -> RelationSet {
        match self {
            Self::Relation(relation) => RelationSet::of(*relation),
            Self::List(list) => list.relations(),
            Self::Left { left, right, .. } | Self::Full { left, right, .. } => {
                left.relations().and(right.relations())
            }
            Self::Match { .. } => RelationSet::EMPTY,
        }
    }

    fn for_each_expr<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Self::Relation(_) => {}
            Self::List(list) => list.for_each_expr(visit),
            Self::Left { left, right, on } | Self::Full { left, right, on } => {
                left.for_each_expr(visit);
                right.for_each_expr(visit);
                on.iter().for_each(visit);
            }
            Self::Match { right, on, distinct, .. } => {
                right.for_each_expr(visit);
                on.iter().for_each(&mut *visit);
                distinct.iter().flat_map(|distinct| &distinct.on).for_each(visit);
            }
        }
    }

    /// All relations inside, also those whose columns are not visible outside.
    fn all_relations(&self) -> RelationSet {
        match self {
            Self::List(list) => list.all_relations(),
            Self::Left { left, right, .. } | Self::Full { left, right, .. } => {
                left.all_relations().and(right.all_relations())
            }
            Self::Match { right, distinct, .. } => {
                let values = distinct.as_ref().map(|distinct| RelationSet::of(distinct.relation));
                right.all_relations().and(values.unwrap_or_default())
            }
            Self::Relation(_) => self.relations(),
        }
    }
}

impl List {
    /// Whether a semi-join can be replaced by an inner join.
    pub fn has_distinct(&self) -> bool {
        self.items.iter().any(|item| match item {
            Item::Match { distinct, .. } => distinct.is_some(),
            Item::List(list) => list.has_distinct(),
            _ => false,
        })
    }

    pub fn relations(&self) -> RelationSet {
        self.items.iter().fold(RelationSet::EMPTY, |set, item| set.and(item.relations()))
    }

    pub fn all_relations(&self) -> RelationSet {
        self.items.iter().fold(RelationSet::EMPTY, |set, item| set.and(item.all_relations()))
    }

    pub fn for_each_expr<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.items.iter().for_each(|item| item.for_each_expr(visit));
        self.filter.iter().for_each(visit);
    }
}

impl Block {
    /// The distinct values of expressions over joined relations.
    pub fn distinct(from: List, outputs: Vec<Expr>, types: Vec<SqlType>) -> Self {
        let plain = Plain {
            from,
            group: Vec::new(),
            is_grouped: false,
            having: Vec::new(),
            distinct: true,
            outputs,
            extreme: None,
        };
        let body = Body::Plain(plain);
        Self { body, order: Vec::new(), limit: None, offset: None, lock: None, types }
    }

    pub fn for_each_expr<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.body {
            Body::Plain(plain) => {
                plain.from.for_each_expr(visit);
                plain.group.iter().for_each(&mut *visit);
                plain.having.iter().chain(&plain.outputs).for_each(&mut *visit);
            }
            Body::Values(rows) => rows.iter().flatten().for_each(&mut *visit),
            Body::Set { .. } => {}
        }
        for key in &self.order {
            if let By::Expr(expr) = &key.by {
                visit(expr);
            }
        }
        self.limit.iter().chain(&self.offset).for_each(visit);
    }
}

impl Logical {
    /// Whether two evaluations in one statement may give different values, or have effects.
    pub fn is_volatile(&self, expr: &Expr) -> bool {
        is_volatile(expr) || self.has_effects(expr)
    }

    /// Whether an expression calls volatile routines.
    pub fn has_effects(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| {
            if let ExprKind::SubPlan { plan, .. } = part.kind {
                found |= self.is_drawn(plan);
            }
        });
        found
    }

    /// Whether a block is the value of a volatile routine.
    fn is_drawn(&self, block: usize) -> bool {
        let Body::Plain(plain) = &self.blocks[block].body else { return false };
        let from = plain.from.all_relations();
        let is_call = |number: usize| {
            let kind = &self.relations[number].kind;
            matches!(
                kind,
                RelationKind::Call(RoutineCall { is_volatile: true, is_value: true, .. })
            )
        };
        (0..self.relations.len()).filter(|&number| from.contains(number)).any(is_call)
    }

    /// The relations that an expression uses, also through its sub-selects.
    pub fn relations_of(&self, expr: &Expr) -> RelationSet {
        let mut set = RelationSet::EMPTY;
        expr.visit(&mut |part| match &part.kind {
            ExprKind::Column(column) => set = set.and(RelationSet::of(column.source)),
            ExprKind::SubPlan { plan, .. } => set = set.and(self.free(*plan)),
            _ => {}
        });
        set
    }

    /// The relations of enclosing queries that a block uses.
    pub fn free(&self, block: usize) -> RelationSet {
        let (mut used, mut own) = (RelationSet::EMPTY, RelationSet::EMPTY);
        let block = &self.blocks[block];
        block.for_each_expr(&mut |expr| used = used.and(self.relations_of(expr)));
        match &block.body {
            Body::Plain(plain) => {
                own = plain.from.all_relations();
                for number in 0..self.relations.len() {
                    if own.contains(number) {
                        used = used.and(self.free_of_relation(number));
                    }
                }
            }
            Body::Set { inputs, .. } => {
                used = inputs.iter().fold(used, |set, input| set.and(self.free(*input)));
            }
            Body::Values(_) => {}
        }
        used.without(own)
    }

    /// The relations of enclosing queries that a relation's rows depend on.
    pub fn free_of_relation(&self, relation: usize) -> RelationSet {
        match &self.relations[relation].kind {
            RelationKind::Table(_) | RelationKind::WorkTable(_) => RelationSet::EMPTY,
            RelationKind::Recursive { first, step, .. } => self.free(*first).and(self.free(*step)),
            RelationKind::Query(block) | RelationKind::Windows(block, _) => self.free(*block),
            RelationKind::Unnest(exprs)
            | RelationKind::Series(exprs)
            | RelationKind::Call(RoutineCall { arguments: exprs, .. }) => {
                exprs.iter().fold(RelationSet::EMPTY, |set, expr| set.and(self.relations_of(expr)))
            }
        }
    }
}
