//! Numbers that nobody else has drawn.

/// For identities, keys, and ids of clusters.
///
/// # Panics
/// If the kernel has no generator, which it has since Linux 3.17.
pub fn draw() -> u64 {
    fabric::identity::draw().expect("the kernel has random numbers")
}
