//! What tests with a PostgreSQL share.

use postgres_plan::CollectError;

/// What a PostgreSQL gives; none where it is not installed, which is said, and a failure where it has to be.
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
