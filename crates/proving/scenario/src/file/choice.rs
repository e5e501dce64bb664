//! A value of a scenario that may be a list: one of its elements is drawn for each seed.

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use workload::Random;

/// One value, or several to draw from; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice<T>(Vec<T>);

impl<T: Copy> Choice<T> {
    /// This value for every seed.
    pub fn only(value: T) -> Self {
        Self(vec![value])
    }

    /// One of these.
    pub fn of(values: &[T]) -> Self {
        assert!(!values.is_empty(), "there is something to draw from");
        Self(values.to_vec())
    }

    /// The value, in a scenario that was drawn for a seed; the first of several otherwise.
    pub fn get(&self) -> T {
        self.0[0]
    }

    /// Draws one value and drops the others.
    pub(crate) fn draw(&mut self, random: &mut Random) {
        let drawn = self.0[random.below(self.0.len() as u64) as usize];
        self.0 = vec![drawn];
    }

    /// All values to draw from.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize + Copy> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] => only.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de> + Copy> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrSeveral(PhantomData))
    }
}

struct OneOrSeveral<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Copy> Visitor<'de> for OneOrSeveral<T> {
    type Value = Choice<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("one value, or a list of values to draw from")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Choice<T>, E> {
        T::deserialize(value.into_deserializer()).map(Choice::only)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Choice<T>, E> {
        T::deserialize(value.into_deserializer()).map(Choice::only)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Choice<T>, E> {
        T::deserialize(value.into_deserializer()).map(Choice::only)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Choice<T>, A::Error> {
        let values = Vec::deserialize(SeqAccessDeserializer::new(values))?;
        if values.is_empty() {
            return Err(A::Error::custom(
                "an empty list has nothing to draw; name one value at least",
            ));
        }
        Ok(Choice(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Both {
        one: Choice<u32>,
        other: Choice<bool>,
    }

    #[test]
    fn a_value_or_a_list_is_read_and_written() {
        let text = "one = [4, 5, 6]\nother = true\n";
        let mut both: Both = toml::from_str(text).expect("it is as it should be");
        assert_eq!(toml::to_string(&both).expect("it can be written"), text);
        let mut seen = [false; 3];
        for seed in 0..50 {
            let mut drawn = both.one.clone();
            drawn.draw(&mut Random::new(seed));
            seen[drawn.get() as usize - 4] = true;
        }
        assert_eq!(seen, [true; 3]);
        both.other.draw(&mut Random::new(1));
        assert!(both.other.get());
    }

    #[test]
    fn empty_lists_and_wrong_types_are_refused() {
        let refused = |text| toml::from_str::<Both>(text).err().map(|e| e.message().to_owned());
        assert!(refused("one = []\nother = true").is_some_and(|e| e.contains("name one value")));
        assert!(refused("one = -1\nother = true").is_some_and(|e| e.contains("-1")));
        assert!(refused("one = 1\nother = 2").is_some_and(|e| e.contains("integer `2`")));
    }
}
