//! Names with static lifetime, as the engine requires for its mutants.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// The static copy of a name, created once.
pub(crate) fn name(name: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<BTreeSet<&'static str>>> = OnceLock::new();
    let mut names = NAMES.get_or_init(Mutex::default).lock().expect("no holder panics");
    match names.get(name) {
        Some(known) => known,
        None => {
            let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}
