//! Text and bytes with their maximal length in the type.
//!
//! A field `name: String[30]` of [`record!`](crate::record!) is stored alike and needs no
//! conversions; these types are for structures that carry the length along.

use std::ops::Deref;

/// Text of at most `N` bytes, up to 1 MiB; statements check the length. If `N` is at most 64, every
/// row has room for the longest text. Otherwise it has room for 63 bytes, and longer texts are
/// stored out of line: see [`record!`](crate::record!#room-for-texts).
///
/// ```
/// use namdb::Text;
///
/// let name: Text<30> = "Ghent".into();
/// assert_eq!(name.len(), 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: u32>(pub String);

impl<const N: u32> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<const N: u32> From<String> for Text<N> {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<const N: u32> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// At most `N` bytes, up to 1 MiB; stored as [`Text`] is.
///
/// ```
/// use namdb::Bytes;
///
/// let hash: Bytes<32> = [7; 32][..].into();
/// assert_eq!(hash[0], 7);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes<const N: u32>(pub Vec<u8>);

impl<const N: u32> From<&[u8]> for Bytes<N> {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl<const N: u32> From<Vec<u8>> for Bytes<N> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl<const N: u32> Deref for Bytes<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Text of at most `N` bytes in which trailing blanks are insignificant, as in SQL's `char(n)`.
/// Otherwise like [`Text`].
///
/// ```
/// use namdb::Char;
///
/// assert_eq!(Char::<3>::from("BE "), Char::from("BE"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Char<const N: u32>(pub(crate) String);

impl<const N: u32> From<&str> for Char<N> {
    fn from(text: &str) -> Self {
        Self(text.trim_end_matches(' ').to_owned())
    }
}

impl<const N: u32> Deref for Char<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
