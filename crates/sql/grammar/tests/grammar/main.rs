//! Compares PostgreSQL's parser with ours: ours refuses every text that PostgreSQL's refuses.

#[path = "../../../../sql/sql/tests/sql/changes.rs"]
mod changes;
#[path = "../../../../sql/sql/tests/sql/corpus.rs"]
mod corpus;

mod cases;
mod changed;
mod shipped;
