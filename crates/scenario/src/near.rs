//! What to write instead of a name such as `commit::Nowhere` that there is not.

/// Of the names that are known, those of the same part of the engine; all where there is no such part.
pub(crate) fn names(name: &str, known: &[&str]) -> String {
    let part = |name: &str| name.split("::").next().map(str::to_owned);
    let near: Vec<&str> = known.iter().copied().filter(|known| part(known) == part(name)).collect();
    match near.is_empty() {
        true => known.join(", "),
        false => near.join(", "),
    }
}
