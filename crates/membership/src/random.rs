//! Numbers that nobody else has drawn.

/// A number from the kernel's generator; never 0, which stands for nobody.
///
/// # Panics
/// If the kernel has no generator, which it has since Linux 3.17.
pub fn draw() -> u64 {
    loop {
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        assert_eq!(filled, Ok(bytes.len()), "eight bytes are never delivered in part");
        let number = u64::from_le_bytes(bytes);
        if number != 0 {
            return number;
        }
    }
}
