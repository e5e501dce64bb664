//! All metrics of servers, as constants. `cargo xtask metrics` writes docs/metrics.md from them.

mod compute_server;
mod directory;
mod memory_server;
mod server;
mod sql_server;

use crate::definition::Definition;
pub use compute_server::*;
pub use directory::*;
pub use memory_server::*;
pub use server::*;
pub use sql_server::*;

/// Metrics of one kind of server.
pub struct Chapter {
    /// Heading of the kind of server.
    pub title: &'static str,
    /// Text before the table.
    pub introduction: &'static str,
    /// In reading order.
    pub metrics: &'static [&'static Definition],
}

/// The chapters of docs/metrics.md.
pub const CHAPTERS: &[Chapter] =
    &[EVERY_SERVER, MEMORY_SERVERS, COMPUTE_SERVERS, SQL_SERVERS, DIRECTORIES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let metrics = CHAPTERS.iter().flat_map(|chapter| chapter.metrics);
        let mut names: Vec<&str> = metrics.map(|metric| metric.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(count > 30 && names.len() == count, "each name is defined once");
    }

    #[test]
    fn alerts_for_operators_name_metrics_that_there_are() {
        const TEXT: &str = include_str!("../../../../../docs/operating.md");
        let alerts = TEXT.split("```promql").nth(1).and_then(|text| text.split("```").next());
        let is_word = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        let words = alerts.expect("there are some").split(|letter| !is_word(letter));
        let named: Vec<&str> = words.filter(|word| word.starts_with("namdb_")).collect();
        assert!(named.len() > 8, "{named:?}");
        for name in named {
            let mut metrics = CHAPTERS.iter().flat_map(|chapter| chapter.metrics);
            assert!(metrics.any(|metric| metric.name == name), "{name}");
        }
    }
}
