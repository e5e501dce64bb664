//! Keys of the four tables and of the index on subscribers' numbers.

use super::schema::NUMBER_DIGITS;
use layout::{Key, KeyBuilder};

/// A subscriber's number as digits, with leading zeros.
pub type Number = [u8; NUMBER_DIGITS];

/// The key of a subscriber.
#[inline]
pub fn subscriber(s_id: i32) -> Key {
    KeyBuilder::new().int4(s_id).key()
}

/// The key of a subscriber's access of one type, and that of a special facility of one type.
#[inline]
pub fn typed(s_id: i32, kind: i16) -> Key {
    KeyBuilder::new().int4(s_id).int2(kind).key()
}

/// The key of a call forwarding.
#[inline]
pub fn call_forwarding(s_id: i32, sf_type: i16, start_time: i16) -> Key {
    KeyBuilder::new().int4(s_id).int2(sf_type).int2(start_time).key()
}

/// The key of a number in the index `subscriber_number`.
#[inline]
pub fn number(digits: &Number) -> Key {
    KeyBuilder::new().padded(digits, NUMBER_DIGITS as u32).key()
}

/// The number of a subscriber: the digits of S_ID.
#[inline]
pub fn number_of(s_id: i32) -> Number {
    let mut digits = [b'0'; NUMBER_DIGITS];
    let mut rest = s_id as u32;
    let mut place = NUMBER_DIGITS;
    while rest > 0 {
        place -= 1;
        digits[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_subscriber_with_zeros_in_front() {
        assert_eq!(&number_of(7), b"000000000000007");
        assert_eq!(&number_of(i32::MAX), b"000002147483647");
    }
}
