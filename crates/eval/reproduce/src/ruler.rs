//! The scale of an axis: its range, and the positions of its numbers.

use crate::record::Axis;
use crate::text::grouped;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Room above the highest point, and to the right of the last.
const ROOM: f64 = 1.06;
/// The largest number of labels of a linear axis.
const NUMBERS_MAX: f64 = 9.0;
/// The positions within a decade at which a logarithmic axis may begin and end.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// Up to this many decades, these positions have labels, too.
const DECADES_WITH_STEPS: f64 = 3.0;

/// A scale with its labels; either linear or logarithmic.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ruler {
    from: f64,
    to: f64,
    numbers: Vec<f64>,
    is_logarithmic: bool,
}

impl Ruler {
    /// The scale for these values; values that cannot be shown are ignored.
    pub(crate) fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let is_logarithmic = axis.is_logarithmic;
        let shown = values.filter(|value| is_shown(axis, *value));
        let (low, high) = shown.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
        // Without values, or with zeros only, any scale will do.
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 1.0) };
        match is_logarithmic {
            true => Self::of_powers(low, high),
            false => Self::from_zero(high * ROOM),
        }
    }

    fn from_zero(to: f64) -> Self {
        let decade = libm::pow(10.0, libm::log10(to / NUMBERS_MAX).floor());
        let steps = STEPS.into_iter().chain([10.0]).map(|step| step * decade);
        let step = steps.into_iter().find(|step| to / step <= NUMBERS_MAX);
        let step = step.expect("ten times the decade is more than a ninth");
        let numbers = (0..=(to / step) as u32).map(|index| f64::from(index) * step).collect();
        Self { from: 0.0, to, numbers, is_logarithmic: false }
    }

    fn of_powers(low: f64, high: f64) -> Self {
        let decades = |value: f64| libm::log10(value).floor() as i32;
        let all = decades(low)..=decades(high) + 1;
        let all =
            all.flat_map(|decade| STEPS.map(|step| step * libm::pow(10.0, f64::from(decade))));
        let steps: Vec<f64> = all.collect();
        // A rounding error in a power must not extend the axis.
        let from = steps.iter().rev().find(|step| **step <= low * (1.0 + 1e-9));
        let to = steps.iter().find(|step| **step >= high * (1.0 - 1e-9) && **step > low);
        let (from, to) = (*from.unwrap_or(&low), *to.unwrap_or(&high));
        let has_steps = libm::log10(to / from) <= DECADES_WITH_STEPS;
        let is_power =
            |value: f64| (libm::log10(value) - libm::round(libm::log10(value))).abs() < 1e-6;
        let is_inside =
            |value: &f64| (from..=to).contains(value) && (has_steps || is_power(*value));
        let numbers = steps.iter().copied().filter(is_inside).collect();
        Self { from, to, numbers, is_logarithmic: true }
    }
}

/// A logarithmic axis cannot show zero or negative values.
pub(crate) fn is_shown(axis: &Axis, value: f64) -> bool {
    value > 0.0 || !axis.is_logarithmic
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = match self.is_logarithmic {
            true => libm::log10(value / self.from) / libm::log10(self.to / self.from),
            false => value / self.to,
        };
        first + libm::round(share * f64::from(last - first)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.numbers.clone()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format(value: &f64) -> String {
        match *value {
            millions if millions >= 999_999.5 => format!("{} M", trimmed(millions / 1e6)),
            thousands if thousands >= 9_999.5 => format!("{} k", trimmed(thousands / 1e3)),
            large if large >= 999.5 => grouped(large.round() as u64),
            small => trimmed(small),
        }
    }
}

fn trimmed(value: f64) -> String {
    format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(is_logarithmic: bool, values: &[f64]) -> Vec<String> {
        let axis = Axis { title: "bytes".to_owned(), is_logarithmic };
        let ruler = Ruler::of(&axis, values.iter().copied());
        ruler.numbers.iter().map(Ruler::format).collect()
    }

    #[test]
    fn numbers_are_round() {
        assert_eq!(numbers(false, &[2.0, 56.0]), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(
            numbers(false, &[0.41]),
            ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4"]
        );
        assert_eq!(
            numbers(true, &[30.0, 0.0, 4000.0]),
            ["20", "50", "100", "200", "500", "1,000", "2,000", "5,000"]
        );
        let decades = numbers(true, &[8.0, 1_048_576.0]);
        assert_eq!(decades, ["10", "100", "1,000", "10 k", "100 k", "1 M"]);
        assert_eq!(numbers(true, &[0.0006, 0.002]), ["0.0005", "0.001", "0.002"]);
        assert_eq!(numbers(true, &[1.0]), ["1", "2"]);
    }

    #[test]
    fn powers_have_equal_distances_and_others_do_not() {
        let axis = |is_logarithmic| Axis { title: String::new(), is_logarithmic };
        let powers = Ruler::of(&axis(true), [1.0, 100.0].into_iter());
        assert_eq!([1.0, 10.0, 100.0].map(|value| powers.map(&value, (0, 200))), [0, 100, 200]);
        let plain = Ruler::of(&axis(false), [100.0].into_iter());
        assert_eq!([0.0, 53.0, 106.0].map(|value| plain.map(&value, (200, 0))), [200, 100, 0]);
    }
}
