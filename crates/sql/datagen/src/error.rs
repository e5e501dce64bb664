//! Errors of a load that is valid in itself but cannot be drawn at some scale.

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// A column without a draw.
    #[error(
        "workload.toml:{line}: the column {table}.{column} has no draw, is NOT NULL, and has no default \
         that is the same for every row; add a line `columns.{column} = ...`"
    )]
    NotSaid {
        /// The line where the table's section begins.
        line: u32,
        table: String,
        column: String,
    },
    /// A draw that is invalid at this scale.
    #[error("{place} of workload.toml: {problem}")]
    Draw {
        /// The column or argument.
        place: String,
        /// The problem, and the remedy.
        problem: String,
    },
    /// The scale is 0.
    #[error("the scale must be at least 1 unit, not 0")]
    NoUnit,
    /// Tables whose rows depend on each other.
    #[error(
        "rows of {table} and {other} depend on each other; draw the columns of one of them without `column`"
    )]
    Circle { table: String, other: String },
}

impl PopulationError {
    pub(crate) fn draw(place: &str, problem: impl Into<String>) -> Self {
        Self::Draw { place: place.to_owned(), problem: problem.into() }
    }
}
