//! A database with a directory, in simulated worlds whose power fails at any operation of the disk.

#[expect(dead_code, reason = "the protocol tests of `txn` use the rest")]
#[path = "../../../txn/tests/support/mod.rs"]
mod support;

mod changes;
mod copies;
mod creation;
mod damage;
mod harm;
mod indexes;
mod ledger;
mod life;
mod lists;
mod lives;
mod losses;
mod machine;
mod mutants;
mod room;
