//! The structure of `workload.toml` as written.

use super::amount::Amount;
use super::distribution::{Alphabet, Literal};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// Sorted by name, each name with its position in the file.
pub(super) type Named<T> = BTreeMap<Spanned<String>, T>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoad {
    pub name: Spanned<String>,
    pub unit: Spanned<String>,
    pub units: Spanned<u64>,
    #[serde(default)]
    pub machines: RawMachines,
    pub tables: Named<RawTable>,
    pub procedures: Spanned<Named<RawProcedure>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a section such as { count = 8, threads = 16 }")]
pub(super) struct RawMachines {
    pub count: Option<Spanned<u32>>,
    pub threads: Option<Spanned<u32>>,
    pub memory_gib: Option<Spanned<f64>>,
    pub profile: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section with `rows` and `columns`")]
pub(super) struct RawTable {
    pub rows: Spanned<RawRows>,
    pub for_each: Option<Spanned<String>>,
    #[serde(default)]
    pub columns: Named<Spanned<RawDistribution>>,
}

/// The row count: an amount, or the draw of the number for one parent row.
pub(super) enum RawRows {
    Amount(Amount),
    Drawn(Box<RawDistribution>),
}

impl<'de> Deserialize<'de> for RawRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RowsVisitor)
    }
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = RawRows;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "an integer, a formula such as \"10 * units\", or a draw such as { uniform = [1, 4] }",
        )
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RawRows, E> {
        Ok(RawRows::Amount(Amount::constant(number)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RawRows, E> {
        Amount::parse(text).map(RawRows::Amount).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawRows, A::Error> {
        let drawn = RawDistribution::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RawRows::Drawn(Box::new(drawn)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section with `frequency` and `arguments`")]
pub(super) struct RawProcedure {
    pub frequency: Spanned<f64>,
    pub succeeds: Option<Spanned<RawSuccess>>,
    #[serde(default)]
    pub rows: Named<Spanned<i64>>,
    #[serde(default)]
    pub arguments: Named<Spanned<RawDistribution>>,
}

/// A share of calls, or its minimum and maximum.
#[derive(Clone, Copy)]
pub(super) enum RawSuccess {
    One(f64),
    Between([f64; 2]),
}

impl<'de> Deserialize<'de> for RawSuccess {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SuccessVisitor)
    }
}

struct SuccessVisitor;

impl<'de> Visitor<'de> for SuccessVisitor {
    type Value = RawSuccess;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "a share of calls from 0 to 1, such as 0.98, or its bounds, such as [0.9, 1]",
        )
    }

    fn visit_i64<E: de::Error>(self, share: i64) -> Result<RawSuccess, E> {
        Ok(RawSuccess::One(share as f64))
    }

    fn visit_f64<E: de::Error>(self, share: f64) -> Result<RawSuccess, E> {
        Ok(RawSuccess::One(share))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, bounds: A) -> Result<RawSuccess, A::Error> {
        two(SeqAccessDeserializer::new(bounds)).map(RawSuccess::Between)
    }
}

/// A TOML table with the key of one draw and that draw's further keys.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a draw such as { uniform = [1, 10] }")]
pub(super) struct RawDistribution {
    pub null: Option<f64>,

    #[serde(deserialize_with = "pair")]
    pub uniform: Option<[Amount; 2]>,
    pub decimals: Option<u8>,
    pub except: Option<String>,

    pub nurand: Option<RawNurand>,
    pub zipf: Option<RawZipf>,
    #[serde(deserialize_with = "pair")]
    pub sequence: Option<[Amount; 2]>,
    pub each: Option<Amount>,

    pub constant: Option<Literal>,
    pub one_of: Option<Vec<Literal>>,
    pub weights: Option<Vec<f64>>,
    pub chance: Option<f64>,

    #[serde(deserialize_with = "pair")]
    pub text: Option<[u32; 2]>,
    pub alphabet: Option<Alphabet>,
    pub containing: Option<String>,
    pub ending: Option<String>,
    pub digits: Option<Box<Spanned<RawDistribution>>>,
    pub width: Option<u32>,
    pub last_name: Option<Box<Spanned<RawDistribution>>>,

    pub same: Option<String>,
    pub column: Option<String>,
    pub row: Option<Box<Spanned<RawDistribution>>>,

    pub mixture: Option<Vec<RawShare>>,
    pub cases: Option<Vec<RawCase>>,
    pub by: Option<String>,

    pub array: Option<Box<Spanned<RawDistribution>>>,
    pub length: Option<Box<Spanned<RawDistribution>>>,
    pub length_of: Option<String>,
    pub distinct: Option<bool>,

    pub now: Option<bool>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { a = 255, c = 223, range = [0, 999] }")]
pub(super) struct RawNurand {
    pub a: i64,
    #[serde(default)]
    pub c: i64,
    #[serde(deserialize_with = "two")]
    pub range: [Amount; 2],
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { range = [1, 10], theta = 0.9 }")]
pub(super) struct RawZipf {
    #[serde(deserialize_with = "two")]
    pub range: [Amount; 2],
    pub theta: f64,
    #[serde(default)]
    pub scrambled: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { weight = 1, draw = { constant = 0 } }")]
pub(super) struct RawShare {
    pub weight: f64,
    pub draw: Spanned<RawDistribution>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { is = 1, draw = { constant = 0 } }")]
pub(super) struct RawCase {
    pub is: Option<Literal>,
    pub below: Option<Amount>,
    pub draw: Spanned<RawDistribution>,
}

/// Refuses more than two values; serde's own tuples ignore the rest.
struct PairVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairVisitor<T> {
    type Value = [T; 2];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("two bounds, such as [1, 10]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<[T; 2], A::Error> {
        let mut next = |at| {
            let value = values.next_element()?;
            value.ok_or_else(|| de::Error::invalid_length(at, &"two bounds, such as [1, 10]"))
        };
        let pair = [next(0)?, next(1)?];
        let mut count = 2;
        while values.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        match count {
            2 => Ok(pair),
            _ => Err(de::Error::invalid_length(count, &self)),
        }
    }
}

fn two<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<[T; 2], D::Error> {
    deserializer.deserialize_seq(PairVisitor(PhantomData))
}

fn pair<'de, D, T>(deserializer: D) -> Result<Option<[T; 2]>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    two(deserializer).map(Some)
}
