//! Transactions in one process: what they do ([`basic`], [`columns`], [`long`], [`horizon`]), what
//! they cost ([`budgets`]), where they end ([`limits`], [`full`]), what becomes of lanes
//! ([`lanes`]), of leaves that they keep ([`kept`]), of futures that are dropped ([`dropped`]) and
//! of statements that fail ([`failed`]), and tables in parts ([`parts`]) and in copies
//! ([`copies`]). One program, so that transactions are compiled once.

mod basic;
mod budgets;
mod columns;
mod copies;
mod dropped;
mod failed;
mod full;
mod horizon;
mod kept;
mod lanes;
mod limits;
mod long;
mod parts;
