//! The bank, being written.
