//! Transactions in one process: their operations ([`basic`], [`columns`], [`long`], [`in_row`],
//! [`horizon`]), costs ([`budgets`]) and limits ([`limits`], [`full`]); lanes ([`lanes`]), kept
//! leaves ([`kept`]), dropped tables and indexes ([`dropped`]), failed statements ([`failed`]),
//! tables in parts ([`parts`]), copied tables ([`copies`]), savepoints ([`savepoints`]) and
//! newer snapshots ([`renewed`]). All in one program, so that transactions are compiled once.

mod basic;
mod budgets;
mod columns;
mod copies;
mod dropped;
mod failed;
mod full;
mod horizon;
mod in_row;
mod kept;
mod lanes;
mod limits;
mod long;
mod new_tables;
mod parked;
mod parts;
mod renewed;
mod savepoints;
