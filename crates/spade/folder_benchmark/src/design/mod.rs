//! Physical designs of workload folders: from a file, or the default design.
//!
//! ```text
//! uses      how procedures use tables
//! divide    how tables are divided over memory servers
//! home      where the rows of a call are
//! default   the design of a folder without a design file
//! room      trees whose leaves the load fills only partly
//! fit       checks a design, and converts it for the engine
//! notes     differences between a design and what the engine creates
//! ```

mod default;
mod divide;
mod fit;
mod home;
mod notes;
mod room;
mod uses;

pub(crate) use default::default_design;
pub use divide::Division;
pub(crate) use divide::{divide, is_spread};
pub(crate) use fit::fit;
pub use home::Home;
pub(crate) use home::homes;
pub(crate) use notes::notes;
pub(crate) use room::leaf_rows;
pub(crate) use uses::Uses;

use datagen::Population;
use layout::{PhysicalDesign, Storage};
use procedure::node::Workload;
use sql::Load;

/// The workload for which a design is made.
#[derive(Clone, Copy)]
pub(crate) struct DesignContext<'a> {
    pub name: &'a str,
    /// Tables and procedures.
    pub workload: &'a Workload,
    /// Rows at the scale of the design.
    pub population: &'a Population,
    /// How procedures use the tables.
    pub uses: &'a Uses,
    /// Units of `workload.toml`; the population may have others.
    pub usual_units: u64,
}

impl<'a> DesignContext<'a> {
    /// A workload at the scale of its population.
    pub fn of(
        load: &'a Load,
        workload: &'a Workload,
        population: &'a Population,
        uses: &'a Uses,
    ) -> Self {
        Self { name: &load.name, workload, population, uses, usual_units: load.units }
    }

    /// Approximate number of rows of a table; 0 if the population does not include it.
    fn rows(&self, table: usize) -> u64 {
        self.number(table).map_or(0, |table| self.population.row_count(table))
    }

    /// The number of the table in the population.
    fn number(&self, table: usize) -> Option<usize> {
        self.population.table(&self.workload.catalog.tables[table].name)
    }

    /// The range of each column of the primary key; `None` if one is unknown.
    fn key_ranges(&self, table: usize) -> Option<Vec<(i64, u64)>> {
        let table = &self.workload.catalog.tables[table];
        let number = self.population.table(&table.name)?;
        if table.has_hidden_key() {
            return None;
        }
        let ranges = table.primary_key.iter();
        ranges.map(|&column| self.population.column_range(number, column)).collect()
    }
}

fn places(columns: &[(i64, u64)]) -> u64 {
    columns.iter().fold(1, |product: u64, &(_, count)| product.saturating_mul(count))
}

/// The number of slots of a new table.
pub(crate) fn slots(design: &PhysicalDesign) -> u64 {
    match &design.placement {
        _ if design.storage == Storage::Tree => 0,
        layout::Placement::Dense { columns } => places(columns),
        layout::Placement::Hashed { load_percent } => {
            design.size_hint.saturating_mul(100) / u64::from(*load_percent).max(1)
        }
    }
}
