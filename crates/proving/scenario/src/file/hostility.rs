//! The section of a world's hostility without faults.

use super::choice::Choice;
use serde::{Deserialize, Serialize};
use sim::{Interval, SimConfig, Tearing};

/// The hostility of memory, network and scheduler without faults. The keys are the names of the
/// fields of [`sim::SimConfig`] that they set.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostilityPlan {
    /// The level that provides the values of absent keys.
    pub level: Level,
    /// The order in which a verb's words are touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tearing: Option<Choice<TearingName>>,
    /// Whether all verbs of a batch to one server take effect in the order of posting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_posting_order: Option<Choice<bool>>,
    /// Upper bound of the time between an atomic's read and its write of the word, in nanoseconds;
    /// plain writes in between are lost. No effect where memory is coherent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_window_ns: Option<Choice<u64>>,
    /// One in this many segments of a batch completes long after its last effect; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_completion_one_in: Option<Choice<u32>>,
    /// The longest delay of a late completion, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_completion_ns: Option<Choice<u64>>,
    /// A verb spreads over up to this many nanoseconds per word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word_ns: Option<Choice<u64>>,
    /// One in this many verbs is slow; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_verb_one_in: Option<Choice<u32>>,
    /// The slow-down factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_verb_factor: Option<Choice<u64>>,
    /// One in this many calls arrives twice; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_call_one_in: Option<Choice<u32>>,
    /// One in this many arrivals at a failure point is held; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach_delay_one_in: Option<Choice<u32>>,
    /// The longest time for which an arrival is held, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach_delay_ns: Option<Choice<u64>>,
}

/// Orders in which a verb's words are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TearingName {
    /// All at one moment.
    None,
    /// One after another, from the first to the last.
    InOrder,
    AnyOrder,
}

impl From<TearingName> for Tearing {
    fn from(name: TearingName) -> Self {
        match name {
            TearingName::None => Self::None,
            TearingName::InOrder => Self::InOrder,
            TearingName::AnyOrder => Self::AnyOrder,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The seed switches each kind of hostility on or off.
    #[default]
    Hostile,
    /// Words are still touched one by one, and nothing is slow.
    Quiet,
}

impl HostilityPlan {
    /// The world of a scenario that was drawn for a seed: that of its level, with the values of the
    /// plan.
    pub(crate) fn config(&self, seed: u64) -> SimConfig {
        let mut config = match self.level {
            Level::Hostile => SimConfig::hostile(seed),
            Level::Quiet => SimConfig::new(seed),
        };
        self.weaken_memory(&mut config);
        set(&mut config.slow_verb_one_in, &self.slow_verb_one_in);
        set(&mut config.slow_verb_factor, &self.slow_verb_factor);
        set(&mut config.duplicate_call_one_in, &self.duplicate_call_one_in);
        set(&mut config.reach_delay_one_in, &self.reach_delay_one_in);
        set_bound(&mut config.reach_delay_ns, &self.reach_delay_ns);
        config
    }

    fn weaken_memory(&self, config: &mut SimConfig) {
        if let Some(tearing) = &self.tearing {
            config.tearing = tearing.get().into();
        }
        set(&mut config.in_posting_order, &self.in_posting_order);
        set(&mut config.word_ns, &self.word_ns);
        set(&mut config.atomic_window_ns, &self.atomic_window_ns);
        set(&mut config.late_completion_one_in, &self.late_completion_one_in);
        set_bound(&mut config.late_completion_ns, &self.late_completion_ns);
    }
}

fn set<T: Copy>(value: &mut T, choice: &Option<Choice<T>>) {
    if let Some(choice) = choice {
        *value = choice.get();
    }
}

fn set_bound(interval: &mut Interval, choice: &Option<Choice<u64>>) {
    if let Some(choice) = choice {
        *interval = Interval::new(0, choice.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_values_replace_those_of_the_level() {
        let text = "tearing = \"in-order\"\nin_posting_order = true\nword_ns = 3\n\
            atomic_window_ns = 4\nlate_completion_one_in = 5\nlate_completion_ns = 6\n\
            slow_verb_one_in = 7\nslow_verb_factor = 8\nduplicate_call_one_in = 9\n\
            reach_delay_one_in = 10\nreach_delay_ns = 11\n";
        for level in ["", "level = \"quiet\"\n"] {
            let plan: HostilityPlan =
                toml::from_str(&format!("{level}{text}")).expect("it is right");
            let config = plan.config(12);
            assert_eq!((config.tearing, config.in_posting_order), (Tearing::InOrder, true));
            assert_eq!((config.word_ns, config.atomic_window_ns), (3, 4));
            assert_eq!(config.late_completion_one_in, 5);
            assert_eq!(config.late_completion_ns, Interval::new(0, 6));
            assert_eq!((config.slow_verb_one_in, config.slow_verb_factor), (7, 8));
            assert_eq!((config.duplicate_call_one_in, config.reach_delay_one_in), (9, 10));
            assert_eq!(config.reach_delay_ns, Interval::new(0, 11));
        }
    }
}
