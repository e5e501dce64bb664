//! Privileges and lists of grants, in PostgreSQL's letters.

use super::object::Kind;
use std::collections::BTreeMap;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Privileges(u16);

/// The privileges with their letters and words, in the order in which PostgreSQL prints them.
const ALL: [(char, &str); 12] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
];

impl Privileges {
    pub const NONE: Self = Self(0);
    const EVERY: Self = Self(u16::MAX);
    pub const INSERT: Self = Self(1);
    pub const SELECT: Self = Self(1 << 1);
    pub const UPDATE: Self = Self(1 << 2);
    pub const DELETE: Self = Self(1 << 3);
    pub const TRUNCATE: Self = Self(1 << 4);
    pub const REFERENCES: Self = Self(1 << 5);
    pub const EXECUTE: Self = Self(1 << 7);
    pub const USAGE: Self = Self(1 << 8);
    pub const CREATE: Self = Self(1 << 9);
    const TEMPORARY: Self = Self(1 << 10);
    pub const CONNECT: Self = Self(1 << 11);

    /// All privileges that there are for a kind of object.
    pub const fn all(kind: Kind) -> Self {
        match kind {
            Kind::Table | Kind::View => Self(0b111_1111),
            Kind::Sequence => Self(Self::SELECT.0 | Self::UPDATE.0 | Self::USAGE.0),
            Kind::Routine => Self::EXECUTE,
            Kind::Type => Self::USAGE,
            Kind::Schema => Self(Self::USAGE.0 | Self::CREATE.0),
            Kind::Database => Self(Self::CREATE.0 | Self::TEMPORARY.0 | Self::CONNECT.0),
        }
    }

    /// Those that everybody has for a new object.
    pub const fn of_public(kind: Kind) -> Self {
        match kind {
            Kind::Table | Kind::View | Kind::Sequence => Self::NONE,
            Kind::Routine => Self::EXECUTE,
            Kind::Schema | Kind::Type => Self::USAGE,
            Kind::Database => Self(Self::TEMPORARY.0 | Self::CONNECT.0),
        }
    }

    /// The privilege with this word.
    pub fn named(word: &str) -> Option<Self> {
        let word = if word.eq_ignore_ascii_case("TEMP") { "TEMPORARY" } else { word };
        let at = ALL.iter().position(|(_, name)| name.eq_ignore_ascii_case(word))?;
        Some(Self(1 << at))
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The words of these privileges.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        ALL.iter().enumerate().filter(move |(at, _)| self.0 & 1 << at != 0).map(|(_, one)| one.1)
    }

    /// The letters; those with a grant option have a star.
    pub fn letters(self, options: Self) -> String {
        let mut text = String::new();
        for (at, (letter, _)) in ALL.iter().enumerate() {
            if self.0 & 1 << at != 0 {
                text.push(*letter);
                text.extend((options.0 & 1 << at != 0).then_some('*'));
            }
        }
        text
    }

    /// Privileges and grant options in a text of letters.
    fn parse(text: &str) -> (Self, Self) {
        let (mut found, mut options, mut last) = (Self::NONE, Self::NONE, Self::NONE);
        for letter in text.chars() {
            match ALL.iter().position(|(known, _)| *known == letter) {
                Some(at) => {
                    last = Self(1 << at);
                    found = found.with(last);
                }
                None if letter == '*' => options = options.with(last),
                None => {}
            }
        }
        (found, options)
    }
}

/// The number that stands for all roles.
pub(crate) const PUBLIC: i64 = 0;

/// The privileges that one role has granted to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    pub grantee: i64,
    pub grantor: i64,
    pub privileges: Privileges,
    /// Those that the grantee may grant further.
    pub options: Privileges,
}

impl Grant {
    /// Reads a stored grant: `16384=ar*/10`.
    pub fn parse(text: &str) -> Option<Self> {
        let (grantee, rest) = text.split_once('=')?;
        let (letters, grantor) = rest.split_once('/')?;
        let (privileges, options) = Privileges::parse(letters);
        let (grantee, grantor) = (grantee.parse().ok()?, grantor.parse().ok()?);
        Some(Self { grantee, grantor, privileges, options })
    }

    pub fn stored(&self) -> String {
        format!("{}={}/{}", self.grantee, self.privileges.letters(self.options), self.grantor)
    }
}

/// The grants of a new object.
pub(crate) fn default_grants(kind: Kind, owner: i64) -> Vec<Grant> {
    let (all, public) = (Privileges::all(kind), Privileges::of_public(kind));
    let none = Privileges::NONE;
    let of = |grantee, privileges| Grant { grantee, grantor: owner, privileges, options: none };
    let everybody = (!public.is_empty()).then(|| of(PUBLIC, public));
    everybody.into_iter().chain([of(owner, all)]).collect()
}

/// Adds privileges to a list of grants.
pub(crate) fn add(grants: &mut Vec<Grant>, new: Grant) {
    let same = |one: &&mut Grant| one.grantee == new.grantee && one.grantor == new.grantor;
    match grants.iter_mut().find(same) {
        Some(old) => {
            old.privileges = old.privileges.with(new.privileges);
            old.options = old.options.with(new.options);
        }
        // An entry without a privilege would only keep its roles from being dropped.
        None if new.privileges.is_empty() => {}
        None => grants.push(new),
    }
}

/// The grants that lead back to the owner: each grantor has the grant options itself. Grants in a
/// circle hold one another up, and are no reason for any of them.
fn well_founded(grants: &[Grant], owner: i64) -> Vec<Grant> {
    let mut options = BTreeMap::from([(owner, Privileges::EVERY)]);
    let held = |options: &BTreeMap<i64, Privileges>, role: i64| {
        options.get(&role).copied().unwrap_or_default()
    };
    loop {
        let before = options.clone();
        for one in grants {
            let new = one.options.common(held(&options, one.grantor));
            options.insert(one.grantee, held(&options, one.grantee).with(new));
        }
        if options == before {
            break;
        }
    }
    let kept = grants.iter().map(|one| {
        let may = held(&options, one.grantor);
        Grant { privileges: one.privileges.common(may), options: one.options.common(may), ..*one }
    });
    kept.filter(|one| !one.privileges.is_empty()).collect()
}

/// Whether a new grant would give options back to a role from which the grantor has them.
pub(crate) fn is_circular(grants: &[Grant], owner: i64, new: Grant) -> bool {
    if new.grantor == owner || new.grantee == owner {
        return false;
    }
    let without = grants.iter().map(|one| match one.grantee == new.grantee {
        true => Grant { options: one.options.without(new.options), ..*one },
        false => *one,
    });
    let without = well_founded(&without.collect::<Vec<_>>(), owner);
    !options_of(&without, new.grantor).has_all(new.options)
}

/// The privileges that a role itself may grant.
pub(crate) fn options_of(grants: &[Grant], role: i64) -> Privileges {
    let own = grants.iter().filter(|one| one.grantee == role);
    own.fold(Privileges::NONE, |all, one| all.with(one.options))
}

/// Takes privileges back that a role has granted, or only their grant options.
///
/// # Errors
/// The grantee has granted them further, and `cascade` does not take those grants back, too.
pub(crate) fn remove(
    grants: &mut Vec<Grant>,
    owner: i64,
    taken: Grant,
    only_options: bool,
    cascade: bool,
) -> Result<(), ()> {
    let is_taken = |one: &Grant| one.grantee == taken.grantee && one.grantor == taken.grantor;
    let before = well_founded(grants, owner);
    let mut after = before.clone();
    if let Some(old) = after.iter_mut().find(|one| is_taken(one)) {
        old.options = old.options.without(taken.privileges);
        if !only_options {
            old.privileges = old.privileges.without(taken.privileges);
        }
    }
    let after = well_founded(&after, owner);
    let is_lost = before.iter().any(|one| !is_taken(one) && !after.contains(one));
    if is_lost && !cascade {
        return Err(());
    }
    *grants = after;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SELECT with the grant option.
    fn of(grantee: i64, grantor: i64) -> Grant {
        let (privileges, options) = (Privileges::SELECT, Privileges::SELECT);
        Grant { grantee, grantor, privileges, options }
    }

    #[test]
    fn grants_are_read_as_they_were_stored() {
        let grant = Grant {
            grantee: 16_384,
            grantor: 10,
            privileges: Privileges::INSERT.with(Privileges::SELECT),
            options: Privileges::SELECT,
        };
        assert_eq!(grant.stored(), "16384=ar*/10");
        assert_eq!(Grant::parse("16384=ar*/10"), Some(grant));
        assert_eq!(Privileges::all(Kind::Table).letters(Privileges::NONE), "arwdDxt");
        assert_eq!(Privileges::all(Kind::Sequence).letters(Privileges::NONE), "rwU");
        let words: Vec<_> = Privileges::all(Kind::Database).words().collect();
        assert_eq!(words, ["CREATE", "TEMPORARY", "CONNECT"]);
    }

    #[test]
    fn grants_that_depend_on_others_go_with_them() {
        let mut grants = default_grants(Kind::Table, 1);
        for new in [of(2, 1), of(3, 2), of(4, 3)] {
            add(&mut grants, new);
        }
        let before = grants.clone();
        assert_eq!(remove(&mut grants, 1, of(2, 1), false, false), Err(()));
        grants = before;
        assert_eq!(remove(&mut grants, 1, of(2, 1), false, true), Ok(()));
        assert_eq!(grants, default_grants(Kind::Table, 1));
    }

    #[test]
    fn circles_of_grants_hold_nothing_up() {
        let mut grants = default_grants(Kind::Table, 1);
        for new in [of(2, 1), of(3, 2), of(4, 3)] {
            add(&mut grants, new);
        }
        assert!(is_circular(&grants, 1, of(2, 2)) && is_circular(&grants, 1, of(2, 4)));
        assert!(!is_circular(&grants, 1, of(2, 1)) && !is_circular(&grants, 1, of(1, 4)));
        assert!(!is_circular(&grants, 1, of(5, 4)));
        for circle in [of(3, 3), of(2, 4)] {
            add(&mut grants, circle);
        }
        assert_eq!(remove(&mut grants, 1, of(2, 1), false, true), Ok(()));
        assert_eq!(grants, default_grants(Kind::Table, 1));
    }
}
