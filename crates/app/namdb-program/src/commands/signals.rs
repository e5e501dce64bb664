//! Signals of a server whose SIGHUP reads its files again.

use super::interruption;
use crate::output;
use anyhow::{Context, Result};
use namdb::host::spawn;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// SIGINT and SIGTERM interrupt, the second one at once; SIGHUP sets the result.
pub fn catch_signals(say: &'static str) -> Result<Arc<AtomicBool>> {
    let reload = Arc::new(AtomicBool::new(false));
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut signals = signals.context("signals cannot be caught")?;
    let wanted = reload.clone();
    spawn("signals", move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                wanted.store(true, Relaxed);
                continue;
            }
            if interruption().swap(true, Relaxed) {
                // The process exits without dropping anything, so this must clean up.
                postgres_plan::clear_away();
                std::process::exit(130);
            }
            postgres_plan::interrupt();
            output::say(say);
        }
    })?;
    Ok(reload)
}
