//! Clients of PostgreSQL over a database: psql, pgbench, the driver of Rust, and drivers of other
//! languages where they are installed.

mod alone;
mod describe;
mod driver;
mod drivers;
mod dump;
mod interleaved;
mod login;
mod memory;
mod parked;
mod pgbench;
mod privileges;
mod programs;
mod psql;
mod styles;
mod syntax;
mod types;
