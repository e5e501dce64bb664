//! Names of the tables and indexes that use a region's memory.

use memory::Label;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The purpose of memory with one label.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelName {
    /// Name of the table, or of the index's table; for a partitioned table, the name of the whole.
    pub table: String,
    /// Name of the index; empty for a table's rows.
    pub index: String,
}

/// The known names by label. Any thread may read them.
#[derive(Default)]
pub struct LabelNames(Mutex<BTreeMap<Label, LabelName>>);

impl LabelNames {
    /// Replaces all names.
    pub fn set(&self, names: BTreeMap<Label, LabelName>) {
        *self.0.lock().expect("no holder panics") = names;
    }

    /// The name of a label.
    pub fn of(&self, label: Label) -> Option<LabelName> {
        self.0.lock().expect("no holder panics").get(&label).cloned()
    }
}
