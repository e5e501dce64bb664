//! Why a load cannot be drawn.

/// What is wrong with a load that was read without complaint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// A column of which nothing is said.
    #[error(
        "workload.toml:{line}: nothing says how the column {table}.{column} is drawn, which is NOT NULL and has no default that \
         is the same for every row; give it a line `columns.{column} = ...`"
    )]
    NotSaid {
        /// Where the table's section begins.
        line: u32,
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A draw that does not fit at this scale.
    #[error("{place} of workload.toml: {problem}")]
    Draw {
        /// Of which column or argument.
        place: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// No unit of scale.
    #[error("0 units of scale were asked for; there is at least one")]
    NoUnit,
    /// Tables that need rows of each other.
    #[error(
        "a row of {table} is drawn from rows of {other}, and one of those from a row of {table}; one of them has to come \
         without `column`"
    )]
    Circle {
        /// One of them.
        table: String,
        /// Another.
        other: String,
    },
}

impl PopulationError {
    pub(crate) fn draw(place: &str, problem: impl Into<String>) -> Self {
        Self::Draw { place: place.to_owned(), problem: problem.into() }
    }
}
