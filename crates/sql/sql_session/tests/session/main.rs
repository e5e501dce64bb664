//! SQL sessions over a database of this process.

mod calls;
mod catalog;
mod caught;
mod copies;
mod dynamic;
mod explain;
mod grants;
mod interrupts;
mod keys;
mod locks;
mod mixed;
mod parked;
mod parts;
mod postgres;
mod privileges;
mod recursive;
mod rights;
mod roles;
mod routines;
mod sequences;
mod statements;
mod statistics;
mod support;
mod together;
mod transactions;
mod waiting;
