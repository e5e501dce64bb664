//! Physical designs of workload folders: the one that a file says, made to fit, or one that follows from procedures and
//! load.
//!
//! ```text
//! uses      what procedures do with tables
//! divide    how tables are divided among memory servers
//! home      where the rows of a call are
//! default   the design where no file is
//! room      trees whose leaves the load leaves room in
//! fit       whether a design fits the workload, and what the engine is told
//! notes     what the engine does otherwise than a design says
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

/// What a design is made for.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The workload's name.
    pub name: &'a str,
    /// Its tables and procedures.
    pub workload: &'a Workload,
    /// Its rows.
    pub population: &'a Population,
    /// What is done with them.
    pub uses: &'a Uses,
    /// The units of scale that `workload.toml` says; its rows may be of others.
    pub usual_units: u64,
}

impl<'a> Subject<'a> {
    /// A workload at the scale of its population.
    pub fn of(
        load: &'a Load,
        workload: &'a Workload,
        population: &'a Population,
        uses: &'a Uses,
    ) -> Self {
        Self { name: &load.name, workload, population, uses, usual_units: load.units }
    }

    /// About how many rows a table has, by its position in the catalog; none that the population does not know.
    fn rows(&self, table: usize) -> u64 {
        self.number(table).map_or(0, |table| self.population.row_count(table))
    }

    /// The table's number in the population, by its position in the catalog.
    fn number(&self, table: usize) -> Option<usize> {
        self.population.table(&self.workload.catalog.tables[table].name)
    }

    /// The range of each column of the primary key, if all are known.
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

/// How many places a dense placement has.
fn places(columns: &[(i64, u64)]) -> u64 {
    columns.iter().fold(1, |product: u64, &(_, count)| product.saturating_mul(count))
}

/// How many slots the buckets of a table have when it is made.
pub(crate) fn slots(design: &PhysicalDesign) -> u64 {
    match &design.placement {
        _ if design.storage == Storage::Tree => 0,
        layout::Placement::Dense { columns } => places(columns),
        layout::Placement::Hashed { load_percent } => {
            design.size_hint.saturating_mul(100) / u64::from(*load_percent).max(1)
        }
    }
}
