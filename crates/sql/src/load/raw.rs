//! `workload.toml` as it is written.

use super::amount::Amount;
use super::distribution::{Alphabet, Literal};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Names in the order of the alphabet, each with its place in the file.
pub(super) type Named<T> = BTreeMap<Spanned<String>, T>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoad {
    pub name: String,
    pub unit: String,
    pub units: Spanned<u64>,
    #[serde(default)]
    pub machines: RawMachines,
    pub tables: Named<RawTable>,
    pub procedures: Spanned<Named<RawProcedure>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawMachines {
    pub count: Spanned<u32>,
    pub threads: Spanned<u32>,
    pub memory_gib: Option<Spanned<f64>>,
    pub profile: Option<String>,
}

impl Default for RawMachines {
    fn default() -> Self {
        let one = || Spanned::new(0..0, 1);
        Self { count: one(), threads: one(), memory_gib: None, profile: None }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTable {
    pub rows: Spanned<Amount>,
    #[serde(default)]
    pub columns: Named<Spanned<RawDistribution>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProcedure {
    pub frequency: Spanned<f64>,
    #[serde(default)]
    pub arguments: Named<Spanned<RawDistribution>>,
}

/// A table with the name of one draw, and what goes with it.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawDistribution {
    pub null: Option<f64>,

    pub uniform: Option<[Amount; 2]>,
    pub decimals: Option<u8>,
    pub except: Option<String>,

    pub nurand: Option<RawNurand>,
    pub zipf: Option<RawZipf>,
    pub sequence: Option<[Amount; 2]>,
    pub each: Option<Amount>,

    pub constant: Option<Literal>,
    pub one_of: Option<Vec<Literal>>,
    pub weights: Option<Vec<f64>>,
    pub chance: Option<f64>,

    pub text: Option<[u32; 2]>,
    pub alphabet: Option<Alphabet>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNurand {
    pub a: i64,
    #[serde(default)]
    pub c: i64,
    pub range: [Amount; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawZipf {
    pub range: [Amount; 2],
    pub theta: f64,
    #[serde(default)]
    pub scrambled: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShare {
    pub weight: f64,
    pub draw: Spanned<RawDistribution>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    pub is: Literal,
    pub draw: Spanned<RawDistribution>,
}
