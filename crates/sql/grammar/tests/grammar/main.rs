//! PostgreSQL's parser and ours read the same files, and what PostgreSQL's refuses, ours refuses.

#[path = "../../../../sql/sql/tests/sql/changes.rs"]
mod changes;
#[path = "../../../../sql/sql/tests/sql/corpus.rs"]
mod corpus;

mod cases;
mod changed;
mod shipped;
