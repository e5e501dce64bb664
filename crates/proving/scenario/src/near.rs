//! Suggestions for a nonexistent name such as `commit::Nowhere`.

/// The known names of the same part of the engine; all names if the part does not exist.
pub(crate) fn names(name: &str, known: &[&str]) -> String {
    let part = |name: &str| name.split("::").next().map(str::to_owned);
    let near: Vec<&str> = known.iter().copied().filter(|known| part(known) == part(name)).collect();
    match near.is_empty() {
        true => known.join(", "),
        false => near.join(", "),
    }
}
