//! Ways to read a table: by key, by index, by range, by several of them, or whole.
//!
//! Terms on the leading columns of an index become the access; all other conditions are the scan's
//! filter. Key values have the type of their column and never fail to convert.
//!
//! Decision: docs/decisions/0177-key-values-have-the-columns-type-and-never-fail.md

use crate::block::RelationKind;
use crate::path::{Conditions, OrderColumn, Path, PathKind, add};
use crate::planner::Planner;
use crate::term::{Comparison, Term, truth};
use layout::IndexKind;
use procedure::key_value::{Use, key};
use procedure::node::{Access, Bound, Range};
use sql::SqlType;
use sql::expression::{BinaryOperator, Expr, ExprKind};
use std::rc::Rc;

/// An index of a table; `None` for the primary key.
type Index = Option<usize>;

/// The part of an index that terms select.
#[derive(Default)]
struct Selected {
    equal: Vec<Expr>,
    low: Option<Bound>,
    high: Option<Bound>,
    array: Option<Expr>,
    /// Positions of the conditions that it enforces.
    enforced: Vec<usize>,
    /// Positions of all conditions that it uses; some of them are enforced only roughly.
    used: Vec<usize>,
}

/// An access with its estimates.
struct Candidate {
    access: Access,
    enforced: Vec<usize>,
    rows: f64,
    cost: f64,
    /// Cost until the first row.
    first: f64,
    order: Vec<OrderColumn>,
}

impl Planner<'_> {
    /// Returns the ways to read a table, cheapest per order, for rows that satisfy `conditions`.
    /// Other relations in the conditions are those of enclosing rows. `wanted` is an order that
    /// would be of use.
    pub(crate) fn scans(
        &self,
        relation: usize,
        conditions: &Conditions,
        wanted: &[OrderColumn],
    ) -> Vec<Rc<Path>> {
        let mut paths = Vec::new();
        for path in self.all_scans(relation, conditions, wanted) {
            add(&mut paths, path);
        }
        paths
    }

    /// As [`Self::scans`], without comparing costs.
    pub(crate) fn all_scans(
        &self,
        relation: usize,
        conditions: &Conditions,
        wanted: &[OrderColumn],
    ) -> Vec<Path> {
        let RelationKind::Table(table) = self.logical.relations[relation].kind else {
            return Vec::new();
        };
        let exprs: Vec<&Expr> = conditions.iter().map(|conjunct| &conjunct.expr).collect();
        let selectivity = self.combined(&exprs);
        let table_rows = self.statistics.rows(table);
        let path = |candidate: Candidate| {
            let filter: Conditions = (0..conditions.len())
                .filter(|at| !candidate.enforced.contains(at))
                .map(|at| conditions[at].clone())
                .collect();
            let each: f64 = filter.iter().map(|conjunct| conjunct.cost).sum();
            let is_single = matches!(candidate.access, Access::Key(_));
            let rows = match is_single {
                true => 1.0_f64.min((table_rows * selectivity).max(0.01)),
                false => (table_rows * selectivity).min(candidate.rows).max(0.01),
            };
            Path {
                rows,
                first: candidate.first,
                cost: candidate.cost + candidate.rows * each,
                order: candidate.order,
                kind: PathKind::Scan { relation, access: candidate.access, filter },
            }
        };
        self.candidates(relation, table, &exprs, wanted).into_iter().map(path).collect()
    }

    /// All ways to read a table, without comparing their costs.
    fn candidates(
        &self,
        relation: usize,
        table: usize,
        conditions: &[&Expr],
        wanted: &[OrderColumn],
    ) -> Vec<Candidate> {
        let rows = self.statistics.rows(table);
        let bytes = self.row_bytes[table];
        let mut candidates = vec![Candidate {
            access: Access::All,
            enforced: Vec::new(),
            rows,
            cost: self.costs.all(rows, bytes),
            first: self.costs.round_trip,
            order: Vec::new(),
        }];
        let terms: Vec<Term> = conditions
            .iter()
            .enumerate()
            .filter_map(|(at, expr)| self.term(relation, at, expr))
            .collect();
        let schema = &self.catalog.tables[table];
        let indexes = (0..schema.indexes.len()).map(Some);
        let keys = (!schema.primary_key.is_empty()).then_some(None);
        for index in keys.into_iter().chain(indexes) {
            self.by_index((relation, table), index, conditions, (&terms, wanted), &mut candidates);
        }
        for (at, condition) in conditions.iter().enumerate() {
            candidates.extend(self.by_alternatives((relation, table), (at, condition)));
        }
        candidates
    }

    fn by_index(
        &self,
        (relation, table): (usize, usize),
        index: Index,
        conditions: &[&Expr],
        (terms, wanted): (&[Term], &[OrderColumn]),
        candidates: &mut Vec<Candidate>,
    ) {
        let schema = &self.catalog.tables[table];
        let columns = index.map_or(&schema.primary_key, |index| &schema.indexes[index].columns);
        let marked = self.marked((relation, table), index, conditions);
        let Some(selected) = marked.map(|marked| self.select_behind(table, columns, marked, terms))
        else {
            return;
        };
        let used: Vec<&Expr> = selected.used.iter().map(|&at| conditions[at]).collect();
        let table_rows = self.statistics.rows(table);
        let is_whole = selected.equal.len() == columns.len();
        let is_unique = index.is_none_or(|index| schema.indexes[index].unique);
        let least = match is_unique && !is_whole {
            true => self.rows_of_prefix(table, columns, &selected),
            false => 1.0,
        };
        let found = (table_rows * self.combined(&used)).max(least).min(table_rows);
        let rows = if is_whole && is_unique && selected.array.is_none() { 1.0 } else { found };
        let bytes = self.row_bytes[table];
        let elements = selected.array.as_ref().map_or(1.0, array_length);
        let is_hash = index.is_some_and(|index| schema.indexes[index].kind == IndexKind::Hash);
        let named = self.statistics.named(table, index, is_hash);
        let orders = match is_whole {
            true => vec![(Vec::new(), false)],
            false => self.orders((relation, table), &columns[selected.equal.len()..], wanted),
        };
        for (order, is_backward) in orders {
            let cost = match (is_whole, index) {
                (true, None) => self.costs.key(bytes),
                (true, Some(_)) => self.costs.lookup(rows / elements, bytes),
                (false, _) => self.costs.range(rows / elements, bytes, index.is_none()),
            };
            let can_range = named.is_some_and(|named| named <= selected.equal.len());
            let has_bound = selected.low.is_some() || selected.high.is_some();
            let is_useful = !selected.equal.is_empty() || has_bound || !order.is_empty();
            if !is_whole && (!can_range || !is_useful) {
                continue;
            }
            let Selected { equal, low, high, array, enforced, .. } = &selected;
            let (equal, low, high) = (equal.clone(), low.clone(), high.clone());
            let access = match (is_whole, index) {
                (true, None) => Access::Key(equal),
                (true, Some(index)) => Access::Lookup { index, key: equal },
                (false, _) => Access::Range(Range { index, equal, low, high, is_backward }),
            };
            let access = match array {
                None => access,
                Some(array) => Access::Each {
                    array: array.clone(),
                    access: Box::new(access),
                    is_backward: false,
                },
            };
            candidates.push(Candidate {
                order: if array.is_some() { Vec::new() } else { order },
                enforced: enforced.clone(),
                rows,
                cost: cost * elements,
                first: self.costs.round_trip.min(cost),
                access,
            });
        }
    }

    /// The least number of rows with given values in leading columns of a unique index: without
    /// statistics the columns are taken to have equally many values.
    fn rows_of_prefix(&self, table: usize, columns: &[usize], selected: &Selected) -> f64 {
        let equal = selected.equal.len();
        let is_known = |column: &usize| self.statistics.column(table, *column).distinct.is_some();
        if equal == 0 || columns[..equal].iter().all(is_known) {
            return 1.0;
        }
        let has_bound = selected.low.is_some() || selected.high.is_some();
        let fixed = equal as f64 + if has_bound { 0.5 } else { 0.0 };
        let rows = self.statistics.rows(table);
        rows.powf(1.0 - fixed / columns.len() as f64).max(1.0)
    }

    /// The useful orders of the columns after the equal ones: forward, and backward if the wanted
    /// order begins so.
    fn orders(
        &self,
        (relation, table): (usize, usize),
        columns: &[usize],
        wanted: &[OrderColumn],
    ) -> Vec<(Vec<OrderColumn>, bool)> {
        let of = |is_backward: bool| -> Vec<OrderColumn> {
            let key = |&column: &usize| OrderColumn {
                relation,
                column,
                descending: is_backward,
                nulls_first: is_backward,
                is_not_null: !self.catalog.tables[table].columns[column].nullable,
            };
            columns.iter().map(key).collect()
        };
        let is_wanted = |order: &[OrderColumn]| {
            wanted.iter().any(|wanted| order.iter().any(|key| key.agrees(wanted)))
        };
        let (forward, backward) = (of(false), of(true));
        let mut orders = Vec::new();
        match is_wanted(&forward) {
            true => orders.push((forward, false)),
            false => orders.push((Vec::new(), false)),
        }
        if is_wanted(&backward) {
            orders.push((backward, true));
        }
        orders
    }

    /// As [`Self::select`], behind the marker of a partial index, which enforces these conditions.
    fn select_behind(
        &self,
        table: usize,
        columns: &[usize],
        marked: Option<Vec<usize>>,
        terms: &[Term],
    ) -> Selected {
        let Some(enforced) = marked else { return self.select(table, columns, terms) };
        let mut selected = self.select(table, &columns[1..], terms);
        selected.equal.insert(0, truth(true));
        selected.used.retain(|at| !enforced.contains(at));
        selected.used.extend(&enforced);
        selected.enforced.extend(enforced);
        selected
    }

    /// Selects a part of an index.
    fn select(&self, table: usize, columns: &[usize], terms: &[Term]) -> Selected {
        let types = |column: usize| &self.catalog.tables[table].columns[column].sql_type;
        // Digests may be those of other values.
        let has_digest = |column: usize| self.catalog.tables[table].digest(column).is_some();
        let mut selected = Selected::default();
        for &column in columns {
            let equal = terms.iter().filter(|term| term.column == column);
            let plain = equal.clone().filter(|term| term.comparison == Comparison::Equal);
            let found = plain.into_iter().find_map(|term| {
                let key = key(term.value.clone(), types(column), Use::Equal)?;
                Some((term, key.value, key.is_exact, None))
            });
            let found = found.or_else(|| {
                let mut any = equal.filter(|term| term.comparison == Comparison::Any);
                let is_first = selected.array.is_none();
                any.find_map(|term| each_element(term, types(column)).filter(|_| is_first))
            });
            let Some((term, value, is_exact, array)) = found else { break };
            selected.used.push(term.condition);
            if is_exact && !has_digest(column) {
                selected.enforced.push(term.condition);
            }
            selected.array = selected.array.take().or(array);
            selected.equal.push(value);
        }
        if let Some(&column) = columns.get(selected.equal.len()) {
            let enforced = selected.enforced.len();
            selected.low = bound(terms, (column, types(column)), Use::Low, &mut selected);
            selected.high = bound(terms, (column, types(column)), Use::High, &mut selected);
            if has_digest(column) {
                selected.enforced.truncate(enforced);
            }
        }
        selected
    }

    /// Reads the rows of each alternative of an `OR`.
    fn by_alternatives(
        &self,
        (relation, table): (usize, usize),
        (_, condition): (usize, &Expr),
    ) -> Option<Candidate> {
        let mut alternatives = Vec::new();
        disjuncts(condition, &mut alternatives);
        if alternatives.len() < 2 {
            return None;
        }
        let (mut accesses, mut rows, mut cost) = (Vec::new(), 0.0, 0.0);
        for alternative in alternatives {
            let mut parts = Vec::new();
            crate::expression::conjuncts(alternative.clone(), &mut parts);
            let parts: Vec<&Expr> = parts.iter().collect();
            let candidates = self.candidates(relation, table, &parts, &[]);
            let found = candidates
                .into_iter()
                .filter(|candidate| candidate.access != Access::All)
                .min_by(|one, other| one.cost.total_cmp(&other.cost))?;
            rows += found.rows;
            cost += found.cost;
            match found.access {
                Access::Any(inner) => accesses.extend(inner),
                access => accesses.push(access),
            }
        }
        let rows = f64::min(rows, self.statistics.rows(table));
        let access = Access::Any(accesses);
        Some(Candidate { access, enforced: Vec::new(), rows, cost, first: cost, order: Vec::new() })
    }
}

fn array_length(array: &Expr) -> f64 {
    match &array.kind {
        ExprKind::Array(elements) => elements.len().max(1) as f64,
        _ => 10.0,
    }
}

type Found<'t> = (&'t Term, Expr, bool, Option<Expr>);

/// The value of each element of a term's array.
fn each_element<'t>(term: &'t Term, column: &SqlType) -> Option<Found<'t>> {
    let SqlType::Array(element) = &term.value.sql_type else { return None };
    if let ExprKind::Array(elements) = &term.value.kind {
        // Literals are converted one by one.
        let mut is_exact = true;
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            let element = crate::expression::without_widening(element).clone();
            let found = key(element, column, Use::Equal)?;
            is_exact &= found.is_exact;
            values.push(found.value);
        }
        let sql_type = values.first()?.sql_type.clone();
        let value = Expr { kind: ExprKind::Element, sql_type: sql_type.clone() };
        let sql_type = SqlType::Array(Box::new(sql_type));
        let array = Expr { kind: ExprKind::Array(values), sql_type };
        return Some((term, value, is_exact, Some(array)));
    }
    let value = Expr { kind: ExprKind::Element, sql_type: (**element).clone() };
    let found = key(value, column, Use::Equal)?;
    Some((term, found.value, found.is_exact, Some(term.value.clone())))
}

fn bound(
    terms: &[Term],
    (column, sql_type): (usize, &SqlType),
    purpose: Use,
    selected: &mut Selected,
) -> Option<Bound> {
    for term in terms.iter().filter(|term| term.column == column) {
        let is_included = match (term.comparison, purpose) {
            (Comparison::Low { is_included }, Use::Low)
            | (Comparison::High { is_included }, Use::High) => is_included,
            _ => continue,
        };
        let Some(found) = key(term.value.clone(), sql_type, purpose) else { continue };
        selected.used.push(term.condition);
        // A value out of the column's range was clamped to its minimum or maximum, which is then
        // inside.
        if found.is_exact || is_included && sql_type.is_integer() {
            selected.enforced.push(term.condition);
        }
        let is_included = is_included || !found.is_exact;
        return Some(Bound { value: found.value, is_included });
    }
    None
}

/// Splits a condition at `OR`.
fn disjuncts<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary { operator: BinaryOperator::Or, left, right } => {
            disjuncts(left, parts);
            disjuncts(right, parts);
        }
        _ => parts.push(expr),
    }
}
