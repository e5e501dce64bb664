//! Checks that the tables contain the last updates, as far as terminals remember them.
//!
//! UPDATE_SUBSCRIBER_DATA writes two rows: if it is atomic, the last one of a subscriber determines
//! the bit, and the last one of a facility its number. One that found no facility leaves the bit
//! unchanged, which is then that of an earlier update, or of the load.
//!
//! Decision: docs/decisions/0190-tatps-checks-know-the-last-updates-not-all.md

use super::found::{Found, Seen};
use super::unless;
use crate::driver::CheckResult;
use crate::tatp::config::TatpConfig;
use crate::tatp::journal::{Last, LastUpdates};
use crate::tatp::population::{Loaded, TYPES};

const DATA: &str = "BIT_1 and DATA_A are from the last update of a subscriber's data";
const LOCATION: &str = "VLR_LOCATION is from the last update of a location";

pub fn check(config: &TatpConfig, found: &Found, last: &LastUpdates) -> [CheckResult; 2] {
    let mut data = Comparison::default();
    let mut location = Comparison::default();
    for (s_id, seen) in found.subscribers().filter(|(_, seen)| seen.is_there) {
        let loaded = Loaded::new(config, s_id);
        compare_data(&mut data, &loaded, seen, last);
        location.compare(
            last.of_location(s_id),
            seen.location,
            loaded.location,
            |update| update.value,
            || format!("VLR_LOCATION of {s_id}"),
        );
    }
    [data.result(DATA), location.result(LOCATION)]
}

fn compare_data(data: &mut Comparison, loaded: &Loaded, seen: &Seen, last: &LastUpdates) {
    let s_id = loaded.s_id;
    let bit_1 = last.of_bit_1(s_id);
    let name = || format!("BIT_1 of {s_id}");
    data.compare(bit_1, seen.bit_1.into(), loaded.bit_1.into(), |last| last.bit_1().into(), name);
    for kind in (1..=TYPES).filter(|kind| seen.facilities & 1 << (kind - 1) != 0) {
        let last = last.of_data_a(s_id, kind);
        let [seen, loaded] =
            [seen.data_a, loaded.data_a].map(|data_a| i32::from(data_a[kind as usize - 1]));
        let name = || format!("DATA_A of {s_id}, {kind}");
        data.compare(last, seen, loaded, |last| last.data_a().into(), name);
    }
}

/// The number of compared values, and the first wrong one.
#[derive(Debug, Default)]
struct Comparison {
    count: u64,
    wrong: Option<String>,
}

impl Comparison {
    fn compare(
        &mut self,
        last: Last,
        seen: i32,
        loaded: i32,
        written: impl Fn(&crate::tatp::journal::Update) -> i32,
        name: impl Fn() -> String,
    ) {
        let expected = match &last {
            Last::Forgotten | Last::Open => return,
            Last::Never => loaded,
            Last::Update(update) => written(update),
        };
        self.count += 1;
        if seen != expected {
            let sentence = || format!("{} is {seen} instead of {expected}", name());
            self.wrong.get_or_insert_with(sentence);
        }
    }

    fn result(self, name: &'static str) -> CheckResult {
        unless(name, self.wrong, format!("{} values", self.count))
    }
}
