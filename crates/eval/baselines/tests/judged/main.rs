//! Judges histories of the engines: clients appended to lists and read them, in worlds as hostile
//! as the fabric's contract allows.

mod lists;
mod nam_db;
mod rsi;
mod trad_si;
