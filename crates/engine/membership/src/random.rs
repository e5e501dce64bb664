//! Unique random numbers.

/// Draws an identity, a key, or the id of a cluster.
///
/// # Panics
/// If the kernel has no random generator; Linux has one since 3.17.
pub fn draw() -> u64 {
    fabric::identity::draw().expect("the kernel has random numbers")
}
