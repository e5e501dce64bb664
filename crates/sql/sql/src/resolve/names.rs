//! The variables that are visible at a point of a procedure.

use crate::expression::Expr;
use std::rc::Rc;
use std::sync::Arc;

/// The visible variables, innermost block last.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Names {
    levels: Vec<Level>,
    /// Whether a column hides a variable of the same name, as in `sql` functions; otherwise such a
    /// name is an error.
    pub(crate) columns_win: bool,
    /// The variables of the parameters `$1`, `$2`, ...
    pub(crate) positional: Vec<usize>,
    /// The names of the file's procedures, which cannot call each other.
    routines: Rc<[String]>,
    /// Whether the statement is one of an SQL session, which has sequences.
    pub(crate) is_session: bool,
    /// Whether namdb plans the statement: PostgreSQL's plans of folders have no `WITH`, no window
    /// functions and no sets.
    pub(crate) has_own_plans: bool,
    /// Values of functions without arguments, such as `current_user`.
    pub(crate) constants: Arc<[(String, Expr)]>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Level {
    label: Option<String>,
    entries: Vec<(String, usize)>,
}

impl Names {
    /// Creates a scope without variables, in a file with these procedures.
    pub(crate) fn in_file(routines: Rc<[String]>) -> Self {
        Self { routines, ..Self::default() }
    }

    /// Whether the file has a procedure called `name`.
    pub(crate) fn is_routine(&self, name: &str) -> bool {
        self.routines.iter().any(|routine| routine == name)
    }

    /// The value of a function without arguments.
    pub(crate) fn constant(&self, name: &str) -> Option<&Expr> {
        self.constants.iter().find(|(constant, _)| constant == name).map(|(_, value)| value)
    }

    /// Opens a block; its variables hide those of enclosing blocks.
    pub(crate) fn open(&mut self, label: Option<&str>) {
        self.levels.push(Level { label: label.map(str::to_owned), entries: Vec::new() });
    }

    /// Closes the innermost block.
    pub(crate) fn close(&mut self) {
        self.levels.pop();
    }

    /// Whether the innermost block declares `name`.
    pub(crate) fn is_declared(&self, name: &str) -> bool {
        self.levels.last().is_some_and(|level| level.entries.iter().any(|(entry, _)| entry == name))
    }

    /// Declares `name` in the innermost block.
    pub(crate) fn declare(&mut self, name: &str, variable: usize) {
        if let Some(level) = self.levels.last_mut() {
            level.entries.push((name.to_owned(), variable));
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.levels.iter().rev().find_map(|level| level.find(name))
    }

    /// The variable `name` of the block labelled `label`; a procedure's name is the label of its
    /// parameters.
    pub(crate) fn find_in(&self, label: &str, name: &str) -> Option<usize> {
        let labelled = |level: &&Level| level.label.as_deref() == Some(label);
        self.levels.iter().rev().find(labelled).and_then(|level| level.find(name))
    }
}

impl Level {
    fn find(&self, name: &str) -> Option<usize> {
        self.entries.iter().find(|(entry, _)| entry == name).map(|(_, variable)| *variable)
    }
}
