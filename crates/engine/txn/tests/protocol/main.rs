//! Tests of the protocol under weak memory, random delays, crashes and lost completions.
//!
//! [`litmus`] tests the anomalies one by one; [`threads`] does so on real memory, its own and that
//! of other processes ([`processes`]). [`random`] mixes all operations, [`contents`] does so with
//! more rows, [`copies`] with copied tables. [`catalog`] runs catalog changes concurrently,
//! [`filling`] creates indexes over tables in use, [`freezing`] has the lock under which vectors
//! are frozen. [`killed`] and [`parts`] kill compute servers, [`recovered`] recovers them,
//! [`detected`] measures how soon, [`dropped`] drops futures, [`lost`] erases the memory of a
//! server. [`replicated`] promotes a replica of one that has died, and so does
//! [`replicated_messages`] over `tcp`. [`slots`] starts lanes at the same time, [`fresh`] checks
//! the
//! age of snapshots. [`redo`] replays the log of a database whose power failed. [`mutants`] shows
//! that these tests detect a removed guard; [`played`] does so for guards that only a certain
//! course of events needs. [`parked`] parks transactions. [`undecided`] stops a memory server for
//! a while.

#[path = "../support/mod.rs"]
mod support;

mod catalog;
mod contents;
mod copies;
mod detected;
mod dropped;
mod filling;
mod freezing;
mod fresh;
mod killed;
mod litmus;
mod lost;
mod mutants;
mod parked;
mod parts;
mod played;
mod processes;
mod random;
mod recovered;
mod redo;
mod replicated;
mod replicated_messages;
mod slots;
mod threads;
mod undecided;
