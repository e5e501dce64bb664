//! Unique random numbers.

/// Draws an identity, a key, or the id of a cluster.
///
/// # Panics
/// If the kernel has no random generator; Linux has one since 3.17.
pub fn draw() -> u64 {
    fabric::identity::draw().expect("the kernel has random numbers")
}

/// Draws the identity of a member: it may own slots of the timestamp vector, where 0, 1 and the
/// highest bit have meanings of their own.
pub fn draw_identity() -> u64 {
    loop {
        let drawn = draw() >> 1;
        if drawn > 1 {
            return drawn;
        }
    }
}
