//! Serde: numbers, dates and times as text where people read it, as integers elsewhere.

use crate::calendar::{Date, Timestamp};
use crate::decimal::Decimal;
use crate::text::{Bytes, Char, Text};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! numbers {
    ($([$($generic:tt)*] $value:ty, $inner:ty;)+) => {$(
        impl<$($generic)*> Serialize for $value {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => self.0.serialize(serializer),
                }
            }
        }

        impl<'de, $($generic)*> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match deserializer.is_human_readable() {
                    true => String::deserialize(deserializer)?.parse().map_err(Error::custom),
                    false => <$inner>::deserialize(deserializer).map(Self),
                }
            }
        }
    )+};
}

numbers! {
    [const SCALE: u8] Decimal<SCALE>, i64;
    [] Date, i32;
    [] Timestamp, i64;
}

macro_rules! texts {
    ($($value:ident => $inner:ty, $from:expr;)+) => {$(
        impl<const N: u32> Serialize for $value<N> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de, const N: u32> Deserialize<'de> for $value<N> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let from: fn($inner) -> Self = $from;
                <$inner>::deserialize(deserializer).map(from)
            }
        }
    )+};
}

texts! {
    Text => String, Text;
    Char => String, |text| text.as_str().into();
    Bytes => Vec<u8>, Bytes;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn comes_back<T>(value: T, text: &str)
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug,
    {
        assert_eq!(serde_json::to_string(&value).expect("it is written"), text);
        assert_eq!(serde_json::from_str::<T>(text).expect("it is read"), value);
    }

    #[test]
    fn values_are_texts_in_json() {
        comes_back(Decimal::<2>(-1234), "\"-12.34\"");
        comes_back(Date(0), "\"2000-01-01\"");
        comes_back(Timestamp(1), "\"2000-01-01 00:00:00.000001Z\"");
        comes_back(Text::<4>::from("a "), "\"a \"");
        comes_back(Bytes::<4>(vec![1, 255]), "[1,255]");
        assert_eq!(serde_json::from_str::<Char<4>>("\"a \"").expect("it is read"), Char::from("a"));
        let refused = serde_json::from_str::<Decimal<2>>("\"1.234\"").expect_err("too many digits");
        assert!(refused.to_string().contains("more digits after the point"), "{refused}");
    }

    crate::record! {
        #[derive(Serialize, Deserialize)]
        struct Order in "order" {
            key { number: u64 }
            #[serde(rename = "sum")]
            total: Decimal<2>,
        }
    }

    #[test]
    fn records_derive_serde() {
        comes_back(Order { number: 1, total: Decimal(250) }, r#"{"number":1,"sum":"2.50"}"#);
    }
}
