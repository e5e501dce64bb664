//! Plans in the text form of PostgreSQL's `EXPLAIN`.

use sql::SqlType;

/// The columns from a node's text to that of its inputs.
const INDENT: usize = 6;

/// A node of a plan as `EXPLAIN` shows it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explained {
    /// Its number in the statement, in the order of [`Node::walk`]: first the nodes of the root,
    /// then those of each sub plan. Nodes that PostgreSQL shows for a part of ours have the number
    /// of their input, or none.
    pub number: Option<usize>,
    /// Such as `Index Scan using t_pkey on t`.
    pub title: String,
    /// Its kind, such as `Index Scan`, and further properties of PostgreSQL's structured formats.
    pub properties: Vec<(&'static str, String)>,
    /// Conditions and keys, with their names.
    pub details: Vec<(&'static str, String)>,
    /// The columns that it delivers, and their types.
    pub outputs: Vec<String>,
    pub types: Vec<SqlType>,
    /// The estimated number of rows; `None` if it has no estimate.
    pub rows: Option<u64>,
    pub inputs: Vec<Self>,
    /// The sub plans of its expressions, with their names, such as `InitPlan 1`.
    pub plans: Vec<(String, Self)>,
}

impl Explained {
    /// Makes all nodes ones without a number.
    pub(super) fn forget_numbers(&mut self) {
        self.number = None;
        self.inputs.iter_mut().for_each(Self::forget_numbers);
        self.plans.iter_mut().for_each(|(_, plan)| plan.forget_numbers());
    }

    /// The lines of the text format. `added` returns the text behind a title, and further details.
    pub fn lines(&self, added: &mut dyn FnMut(&Self) -> (String, Vec<String>)) -> Vec<String> {
        let mut lines = Vec::new();
        self.add_lines(0, "", added, &mut lines);
        lines
    }

    fn add_lines(
        &self,
        at: usize,
        arrow: &str,
        added: &mut dyn FnMut(&Self) -> (String, Vec<String>),
        lines: &mut Vec<String>,
    ) {
        let (behind, further) = added(self);
        let margin = " ".repeat(at - arrow.len());
        lines.push(format!("{margin}{arrow}{}{behind}", self.title));
        let margin = " ".repeat(at + 2);
        let details = self.details.iter().map(|(name, text)| format!("{name}: {text}"));
        lines.extend(details.chain(further).map(|detail| format!("{margin}{detail}")));
        for input in &self.inputs {
            input.add_lines(at + INDENT, "->  ", added, lines);
        }
        for (name, plan) in &self.plans {
            lines.push(format!("{margin}{name}"));
            plan.add_lines(at + 8, "->  ", added, lines);
        }
    }
}
