//! Sets of relations.

/// Maximum number of relations of a statement, including those of its sub-selects.
pub(crate) const RELATIONS_MAX: usize = 128;

/// A set of relations, by their numbers in the statement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RelationSet(u128);

impl RelationSet {
    pub const EMPTY: Self = Self(0);

    pub fn of(relation: usize) -> Self {
        Self(1 << relation)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, relation: usize) -> bool {
        self.0 & (1 << relation) != 0
    }

    pub fn is_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_united_and_compared() {
        let (first, last) = (RelationSet::of(0), RelationSet::of(RELATIONS_MAX - 1));
        let both = first.and(last);
        assert!(first.is_in(both) && !both.is_in(first) && both.meets(last));
        assert_eq!(both.without(first), last);
        assert_eq!(both.common(first), first);
        assert!(!first.meets(last) && RelationSet::EMPTY.is_in(first));
    }
}
