//! Helpers of tests that use PostgreSQL.

use postgres_plan::CollectError;

/// The value; if PostgreSQL is not installed, prints this and returns `None`, or panics where it
/// must be installed.
pub fn unless_absent<T>(result: Result<T, CollectError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
