//! Clients of PostgreSQL over a database: psql, pgbench, the driver of Rust, and the driver of
//! Python where it is installed.

mod describe;
mod driver;
mod login;
mod pgbench;
mod privileges;
mod programs;
mod psql;
mod python;
mod styles;
mod syntax;
mod types;
