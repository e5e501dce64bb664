//! Roles and their privileges, as a version of the catalog has them.
//!
//! ```text
//! role      a role and its stored form
//! roles     all roles of a catalog, and which of them have the privileges of others
//! verifier  passwords, as they are stored: SCRAM-SHA-256 verifiers
//! login     who may connect
//! object    owners and grants of objects    privilege  privileges as letters and words
//! required  the privileges that statements need
//! ```
//!
//! Decisions:
//! - docs/decisions/0348-roles-are-definitions-of-the-catalog.md
//! - docs/decisions/0350-a-plan-is-for-an-identity-that-may-run-it.md

pub(crate) mod login;
pub(crate) mod object;
pub(crate) mod privilege;
pub(crate) mod required;
pub(crate) mod role;
pub(crate) mod roles;
pub mod verifier;

/// The number of the role that owns the database, as in PostgreSQL. Without other roles, every user
/// has it.
pub(crate) const OWNER: i64 = 10;
