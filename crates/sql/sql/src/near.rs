//! Suggests similar names for a name that does not exist.

/// Maximum number of characters of a compared name; longer names are not typing errors.
const CHARACTERS_MAX: usize = 64;
/// A similar name differs in at most one of this number of characters, and in at least one.
const CHARACTERS_PER_SLIP: usize = 3;

/// Returns the name that is most similar to `written`, if one is similar.
///
/// A missing, added, changed or swapped character counts as one difference.
pub fn near<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = written.chars().count();
    let most = (length / CHARACTERS_PER_SLIP).max(1);
    let rated = names.into_iter().filter_map(|name| {
        let is_close = name.chars().count().abs_diff(length) <= most && length <= CHARACTERS_MAX;
        let slips = if is_close { slips(written, name) } else { usize::MAX };
        (slips <= most && slips < length).then_some((slips, name))
    });
    rated.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

/// The advice about a name that does not exist; empty if no name is similar.
pub fn meant<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    near(written, names).map_or(String::new(), |name| format!("is `{name}` meant?"))
}

/// The edit distance between two names (optimal string alignment), ignoring case.
fn slips(written: &str, name: &str) -> usize {
    let characters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (written, name) = (characters(written), characters(name));
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=name.len()).collect()];
    for (row, &one) in written.iter().enumerate() {
        rows.rotate_left(1);
        let [before, above, current] = &mut rows;
        current.clear();
        current.push(row + 1);
        for (column, &other) in name.iter().enumerate() {
            let changed = above[column] + usize::from(one != other);
            let mut least = changed.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && one == name[column - 1] && written[row - 1] == other {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
    }
    rows[2].last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_seen_through() {
        let names = ["tpcc", "tatp", "smallbank", "ycsb", "bank"];
        for (written, meant) in [
            ("tpc", Some("tpcc")),
            ("ttap", Some("tatp")),
            ("Smalbank", Some("smallbank")),
            ("ycbs", Some("ycsb")),
            ("bank", Some("bank")),
            ("mine", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(near(written, names), meant, "{written}");
        }
        assert_eq!(meant("units", ["rows"]), "");
        assert_eq!(meant("unit", ["rows", "units"]), "is `units` meant?");
        assert_eq!(near(&"a".repeat(100), [&*"a".repeat(99)]), None);
    }
}
