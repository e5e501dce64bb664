//! Prints the query of a view as PostgreSQL's `pg_get_viewdef` does.

use super::expr::{Names, Style, Text};
use super::routine_of;
use sql::Catalog;
use sql::expression::{BinaryOperator, Expr, ExprKind};
use sql::namespace::own_name;
use sql::query::{From, FromKind, Join, JoinKind, OrderBy, OrderKey, Plain, Select, SelectBody};
use sql::types::Field;

/// Prints the full name of a table for a user, with its schema where the session needs it.
pub type ShownName<'n> = dyn Fn(&str) -> String + 'n;

/// The query of a view over the tables of a catalog, without a semicolon. `columns` are those of
/// the view. `None` if the query has a part that is not printed yet, such as a sub-select.
/// `shown` chooses PostgreSQL's form also where it has syntax that namdb does not read.
pub fn view_text(
    catalog: &Catalog,
    query: &Select,
    columns: &[Field],
    shown: Option<&ShownName<'_>>,
) -> Option<String> {
    let SelectBody::Plain(plain) = &query.body else { return None };
    let sources = plain.sources.iter().map(|source| column_names(catalog, source));
    let names = Names { levels: vec![sources.collect::<Option<Vec<_>>>()?] };
    let routine = routine_of(0);
    let style = if shown.is_some() { Style::View } else { Style::Definition };
    let text = Text { routine: &routine, names: &names, style };
    let printer = Printer { catalog, plain, text, shown };
    printer.query(query, columns)
}

/// The columns of a source with its alias.
fn column_names(catalog: &Catalog, source: &From) -> Option<Vec<String>> {
    let FromKind::Table(table) = source.kind else { return None };
    let alias = name(&source.alias);
    let columns = catalog.tables[table].columns.iter();
    Some(columns.map(|column| format!("{alias}.{}", name(&column.name))).collect())
}

/// A name, in double quotes if it needs them.
fn name(name: &str) -> String {
    let is_letter = |letter: char| letter == '_' || letter.is_ascii_lowercase();
    let is_plain = name.starts_with(is_letter)
        && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit())
        && !sql::is_reserved(name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

struct Printer<'p> {
    catalog: &'p Catalog,
    plain: &'p Plain,
    text: Text<'p>,
    shown: Option<&'p ShownName<'p>>,
}

impl Printer<'_> {
    fn query(&self, query: &Select, columns: &[Field]) -> Option<String> {
        let plain = self.plain;
        let mut outputs = Vec::new();
        for (output, column) in plain.outputs.iter().zip(columns) {
            let value = self.value(&output.expr)?;
            // PostgreSQL knows the name of a column, and calls all other values so.
            let own = match &output.expr.kind {
                ExprKind::Column(_) => value.rsplit_once('.').map_or("", |(_, own)| own),
                _ => "\"?column?\"",
            };
            let wanted = name(&column.name);
            let label = if own == wanted { String::new() } else { format!(" AS {wanted}") };
            outputs.push(format!("{value}{label}"));
        }
        let distinct = if plain.distinct { "DISTINCT " } else { "" };
        let mut text = format!(" SELECT {distinct}{}", outputs.join(",\n    "));
        if !plain.joins.is_empty() {
            let trees = plain.joins.iter().map(|join| self.join(join));
            let trees = trees.collect::<Option<Vec<_>>>()?;
            text += &format!("\n   FROM {}", trees.join(",\n    "));
        }
        if let Some(filter) = &plain.filter {
            text += &format!("\n  WHERE {}", self.value(filter)?);
        }
        if !plain.group.is_empty() {
            let keys = plain.group.iter().map(|value| self.key_value(value));
            let keys = keys.collect::<Option<Vec<_>>>()?;
            text += &format!("\n  GROUP BY {}", keys.join(", "));
        }
        if let Some(having) = &plain.having {
            text += &format!("\n HAVING {}", self.value(having)?);
        }
        if !query.order.is_empty() {
            let keys = query.order.iter().map(|key| self.key(key)).collect::<Option<Vec<_>>>()?;
            text += &format!("\n  ORDER BY {}", keys.join(", "));
        }
        if let Some(offset) = &query.offset {
            text += &format!("\n OFFSET {}", self.count(offset)?);
        }
        if let Some(limit) = &query.limit {
            text += &format!("\n LIMIT {}", self.count(limit)?);
        }
        query.lock.is_none().then_some(text)
    }

    fn join(&self, join: &Join) -> Option<String> {
        let (left, right, kind, condition) = match join {
            Join::Source(source) => return Some(self.source(*source)),
            Join::Pair { left, right, kind, condition } => (left, right, kind, condition),
        };
        let Join::Source(right) = **right else { return None };
        let (left, right) = (self.join(left)?, self.source(right));
        let words = match (kind, condition) {
            (JoinKind::Inner, None) => "CROSS JOIN",
            (JoinKind::Inner, Some(_)) => "JOIN",
            (JoinKind::Left, _) => "LEFT JOIN",
            (JoinKind::Right, _) => "RIGHT JOIN",
            (JoinKind::Full, _) => "FULL JOIN",
        };
        let on = match condition {
            Some(condition) => format!(" ON {}", self.value(condition)?),
            None => String::new(),
        };
        Some(format!("{left}\n     {words} {right}{on}"))
    }

    fn source(&self, source: usize) -> String {
        let source = &self.plain.sources[source];
        let FromKind::Table(table) = source.kind else { return String::new() };
        let own = &self.catalog.tables[table].name;
        let (written, is_alike) = match self.shown {
            Some(shown) => (shown(own), own_name(own) == source.alias),
            None => (name(own), *own == source.alias),
        };
        if is_alike { written } else { format!("{written} {}", name(&source.alias)) }
    }

    fn key(&self, key: &OrderKey) -> Option<String> {
        let value = match &key.by {
            OrderBy::Output(at) => self.key_value(&self.plain.outputs.get(*at)?.expr)?,
            OrderBy::Expr(value) => self.key_value(value)?,
        };
        let direction = if key.descending { " DESC" } else { "" };
        let nulls = match (key.nulls_first, key.descending) {
            (true, false) => " NULLS FIRST",
            (false, true) => " NULLS LAST",
            _ => "",
        };
        Some(format!("{value}{direction}{nulls}"))
    }

    /// A value in `GROUP BY` or `ORDER BY`.
    fn key_value(&self, value: &Expr) -> Option<String> {
        let text = self.value(value)?;
        let is_column = matches!(value.kind, ExprKind::Column(_));
        Some(if is_column { text } else { format!("({text})") })
    }

    /// A number of rows, whose type goes without saying.
    fn count(&self, value: &Expr) -> Option<String> {
        match &value.kind {
            ExprKind::Cast { operand, .. } if matches!(operand.kind, ExprKind::Integer(_)) => {
                self.value(operand)
            }
            _ => self.value(value),
        }
    }

    /// A value without parentheses around it.
    fn value(&self, value: &Expr) -> Option<String> {
        if value.has_subquery() {
            return None;
        }
        if let ExprKind::Binary { operator, left, right } = &value.kind
            && let BinaryOperator::And | BinaryOperator::Or = operator
        {
            let (left, right) = (self.operand(*operator, left)?, self.operand(*operator, right)?);
            return Some(format!("{left} {} {right}", operator.sign()));
        }
        let text = self.text.expr(value);
        let is_wrapped = matches!(
            value.kind,
            ExprKind::Binary { .. }
                | ExprKind::Unary { .. }
                | ExprKind::Is { .. }
                | ExprKind::Between { .. }
                | ExprKind::InList { .. }
                | ExprKind::AnyElement { .. }
                | ExprKind::Like { .. }
        );
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        Some(match inner.filter(|_| is_wrapped) {
            Some(inner) => inner.to_owned(),
            None => text,
        })
    }

    /// An operand of `AND` or `OR`.
    fn operand(&self, of: BinaryOperator, value: &Expr) -> Option<String> {
        let text = self.value(value)?;
        let is_or = matches!(value.kind, ExprKind::Binary { operator: BinaryOperator::Or, .. });
        Some(if is_or && of == BinaryOperator::And { format!("({text})") } else { text })
    }
}
