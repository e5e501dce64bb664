//! The sum of money that committed transactions have brought into the bank or taken out of it.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The page of one terminal. Only the terminal's thread writes, so a load and a store suffice.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Page {
    cents: AtomicI64,
}

impl Page {
    /// Adds the change of the sum of all accounts by a committed transaction.
    #[inline]
    pub(super) fn book(&self, cents: i64) {
        self.cents.store(self.cents.load(Relaxed) + cents, Relaxed);
    }
}

/// The pages of all terminals so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pages: Arc<Mutex<Vec<Arc<Page>>>>,
}

impl Ledger {
    /// Opens the page of one more terminal.
    pub(super) fn open(&self) -> Arc<Page> {
        let page = Arc::new(Page::default());
        self.pages.lock().expect("no holder panics").push(page.clone());
        page
    }

    /// The sum of all pages, exact once the terminals have stopped.
    pub(super) fn sum(&self) -> i64 {
        let pages = self.pages.lock().expect("no holder panics");
        pages.iter().map(|page| page.cents.load(Relaxed)).sum()
    }
}
