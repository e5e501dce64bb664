//! Parses the output of `EXPLAIN (VERBOSE, FORMAT XML)` of PostgreSQL 14 to 16; later versions
//! print sub plans differently.
//!
//! Unknown nodes and attributes are refused, because ignoring one might change the meaning of the
//! plan.
//!
//! Decision: docs/decisions/0165-stored-plans-contain-costs-and-their-statement.md

mod fields;
mod node;
mod scan;

use crate::expression::{Expression, ExpressionError, SortKey};
use crate::node::Plan;
use fields::Fields;
use roxmltree::{Document, Node as Xml, ParsingOptions};
use std::collections::BTreeSet;
use std::fmt;

/// Maximum depth of a plan: more than any statement's plan has.
const DEPTH_MAX: usize = 40;
/// Maximum number of XML elements, which bounds the memory for a damaged file.
const ELEMENTS_MAX: u32 = 1_000_000;
/// Maximum size of a file.
pub(crate) const BYTES_MAX: usize = 16 << 20;

/// The statement of a plan, for messages and for the meaning of `$n`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The file's name in messages.
    pub file: String,
    pub statement: String,
    /// Number of parameters of the statement.
    pub parameters: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct PlanError {
    pub file: String,
    /// The line, from 1; 0 if the error is about the whole file.
    pub line: u32,
    pub statement: String,
    /// The path of nodes from the root; empty if the error is not about a node.
    pub node: String,
    /// The problem, and the remedy.
    pub sentence: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}", self.line)?;
        }
        write!(formatter, ": in the plan of {}", self.statement)?;
        if !self.node.is_empty() {
            write!(formatter, ", node {}", self.node)?;
        }
        write!(formatter, ": {}", self.sentence)
    }
}

///
/// # Errors
/// The text is not a plan, or has a node or attribute that this crate does not know.
pub fn read(text: &str, origin: &Origin) -> Result<Plan, PlanError> {
    let refuse = |line, sentence: String| PlanError {
        file: origin.file.clone(),
        line,
        statement: origin.statement.clone(),
        node: String::new(),
        sentence,
    };
    if text.len() > BYTES_MAX {
        return Err(refuse(
            0,
            format!("the file has more than {} MiB, the maximum of a plan", BYTES_MAX >> 20),
        ));
    }
    check_nesting(text)
        .map_err(|line| refuse(line, "the elements are nested too deeply for a plan".to_owned()))?;
    let options = ParsingOptions { nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| refuse(error.pos().row, format!("this is not XML: {error}")))?;
    let reader = Reader::new(&document, origin);
    let explain = document.root_element();
    let query = reader.only_child(explain, "explain", "Query")?;
    let plan = reader.only_child(query, "Query", "Plan")?;
    Ok(Plan { root: reader.node(plan, "")? })
}

/// The XML parser is recursive, so deeply nested files are refused before. Returns the line.
fn check_nesting(text: &str) -> Result<(), u32> {
    // A node takes two levels, its attributes one more, and lists in them another.
    let depth_max = 2 * DEPTH_MAX + 4;
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let end = if rest.starts_with("<!--") { "-->" } else { ">" };
        // The XML parser reports unclosed tags.
        let Some(length) = rest.find(end).map(|position| position + end.len()) else { break };
        let (tag, behind) = rest.split_at(length);
        match tag.as_bytes()[1] {
            b'/' => depth = depth.saturating_sub(1),
            b'!' | b'?' => {}
            _ => depth += usize::from(!tag.ends_with("/>")),
        }
        if depth > depth_max {
            let before = text.len() - rest.len();
            return Err(text[..before].matches('\n').count() as u32 + 1);
        }
        rest = behind;
    }
    Ok(())
}

/// The context shared by all nodes of a plan.
struct Reader<'a> {
    document: &'a Document<'a>,
    origin: &'a Origin,
    /// The numbers of the init plans' output columns.
    delivered: BTreeSet<u32>,
    /// The alias of unqualified columns, if the plan has a single relation.
    only_alias: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(document: &'a Document<'a>, origin: &'a Origin) -> Self {
        let texts = |name: &'static str| {
            let named = move |element: &Xml<'_, '_>| element.tag_name().name() == name;
            document.descendants().filter(named).filter_map(|element| element.text())
        };
        let aliases: BTreeSet<&str> = texts("Alias").collect();
        let mut names = aliases.iter();
        let only_alias = names.next().filter(|_| names.next().is_none());
        Self {
            document,
            origin,
            delivered: texts("Subplan-Name").flat_map(|name| delivers(name).1).collect(),
            only_alias: only_alias.map(|alias| (*alias).to_owned()),
        }
    }

    fn line(&self, element: Xml<'_, '_>) -> u32 {
        self.document.text_pos_at(element.range().start).row
    }

    fn error<T>(&self, element: Xml<'_, '_>, node: &str, sentence: String) -> Result<T, PlanError> {
        Err(PlanError {
            file: self.origin.file.clone(),
            line: self.line(element),
            statement: self.origin.statement.clone(),
            node: node.to_owned(),
            sentence,
        })
    }

    /// The only child, which must have this name.
    fn only_child<'x>(
        &self,
        parent: Xml<'x, 'x>,
        called: &str,
        name: &str,
    ) -> Result<Xml<'x, 'x>, PlanError> {
        if parent.tag_name().name() != called {
            let found = parent.tag_name().name();
            return self.error(parent, "", format!("<{called}> is expected instead of <{found}>"));
        }
        let mut children = parent.children().filter(Xml::is_element);
        match (children.next(), children.next()) {
            (Some(child), None) if child.tag_name().name() == name => Ok(child),
            (_, Some(other)) => {
                let other = other.tag_name().name();
                let sentence = format!(
                    "<{called}> has <{other}>, but may only have <{name}>; explain with (VERBOSE, FORMAT XML) only"
                );
                self.error(parent, "", sentence)
            }
            _ => self.error(parent, "", format!("<{called}> has no <{name}>")),
        }
    }

    /// Parses an expression, and resolves unqualified columns and parameters, which depend on the
    /// whole plan.
    fn expression(
        &self,
        element: Xml<'_, '_>,
        node: &str,
        text: &str,
    ) -> Result<Expression, PlanError> {
        self.settle(element, node, Expression::parse(text))
    }

    fn sort_key(&self, element: Xml<'_, '_>, node: &str, text: &str) -> Result<SortKey, PlanError> {
        match SortKey::parse(text) {
            Ok(key) => Ok(SortKey { value: self.settle(element, node, Ok(key.value))?, ..key }),
            Err(error) => self.error(element, node, error.to_string()),
        }
    }

    fn settle(
        &self,
        element: Xml<'_, '_>,
        node: &str,
        parsed: Result<Expression, ExpressionError>,
    ) -> Result<Expression, PlanError> {
        let mut expression = match parsed {
            Ok(expression) => expression,
            Err(error) => return self.error(element, node, error.to_string()),
        };
        expression.change(&mut |part| {
            match part {
                Expression::Column { relation: relation @ None, .. } => {
                    relation.clone_from(&self.only_alias);
                }
                Expression::Parameter(number) => *part = self.parameter(element, node, *number)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(expression)
    }

    /// PostgreSQL prints parameters of the statement and columns of init plans alike.
    fn parameter(
        &self,
        element: Xml<'_, '_>,
        node: &str,
        number: u32,
    ) -> Result<Expression, PlanError> {
        let is_parameter = (1..=self.origin.parameters).contains(&number);
        match (is_parameter, self.delivered.contains(&number)) {
            (true, false) => Ok(Expression::Parameter(number)),
            (false, true) => Ok(Expression::InitPlanOutput(number)),
            (true, true) => {
                let sentence = format!(
                    "the statement has variables and a sub-select that is computed first, such as (SELECT max(id) + 1 FROM t), and \
                     PostgreSQL's plan calls one of each ${number}; compute it by a statement before, as in `SELECT max(id) + 1 \
                     INTO next FROM t`, and write `next` here"
                );
                self.error(element, node, sentence)
            }
            (false, false) => {
                let count = self.origin.parameters;
                self.error(
                    element,
                    node,
                    format!("the statement has {count} parameters, but the plan uses ${number}"),
                )
            }
        }
    }
}

/// Splits `InitPlan 1 (returns $0,$1)` into the name and the numbers.
fn delivers(name: &str) -> (&str, Vec<u32>) {
    let Some((name, rest)) = name.split_once(" (returns ") else { return (name, Vec::new()) };
    let numbers = rest.trim_end_matches(')').split(',');
    (name, numbers.filter_map(|number| number.strip_prefix('$')?.parse().ok()).collect())
}

#[cfg(test)]
mod tests;
