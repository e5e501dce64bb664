//! The names of tables and indexes behind the labels of a region's memory.

use memory::Label;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What memory with one label is for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelName {
    /// The table, or that of the index; of a table in parts the whole.
    pub table: String,
    /// The index; empty for a table's own rows.
    pub index: String,
}

/// Names by label, as far as they are known. Any thread may look.
#[derive(Default)]
pub struct LabelNames(Mutex<BTreeMap<Label, LabelName>>);

impl LabelNames {
    /// Replaces all names by those of now.
    pub fn set(&self, names: BTreeMap<Label, LabelName>) {
        *self.0.lock().expect("no holder panics") = names;
    }

    /// The name behind a label.
    pub fn of(&self, label: Label) -> Option<LabelName> {
        self.0.lock().expect("no holder panics").get(&label).cloned()
    }
}
