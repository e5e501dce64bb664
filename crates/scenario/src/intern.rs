//! Names that live as long as the program: the engine knows its mutants by such.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// The name, once for all who ask for it.
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
