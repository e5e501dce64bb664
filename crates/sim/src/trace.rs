//! What happened, in order: a fingerprint always, text on request.

use layout::{GlobalPtr, NodeId};
use std::fmt::{Arguments, Write};

/// The record of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    fingerprint: u64,
    text: Option<String>,
}

/// The 64-bit prime of FNV-1a.
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Trace {
    pub(crate) fn new(written: bool) -> Self {
        Self { fingerprint: 0xcbf2_9ce4_8422_2325, text: written.then(String::new) }
    }

    /// Notes one access to one word.
    #[inline]
    pub(crate) fn word(
        &mut self,
        time_ns: u64,
        node: NodeId,
        access: &'static str,
        at: GlobalPtr,
        value: u64,
    ) {
        self.mix(time_ns.rotate_left(32) ^ at.word());
        self.mix(value);
        if self.text.is_some() {
            self.line(time_ns, format_args!("node {} {access} {at:?} {value:#x}", node.0));
        }
    }

    /// Notes anything else.
    pub(crate) fn event(&mut self, time_ns: u64, what: &'static str, detail: u64) {
        self.mix(time_ns ^ detail.rotate_left(48));
        if self.text.is_some() {
            self.line(time_ns, format_args!("{what} {detail}"));
        }
    }

    /// Notes the arrival at a failure point.
    pub(crate) fn point(&mut self, time_ns: u64, node: NodeId, name: &str) {
        self.mix(time_ns ^ u64::from(node.0) << 48);
        if self.text.is_some() {
            self.line(time_ns, format_args!("node {} reached {name}", node.0));
        }
    }

    /// Notes what somebody in the world has to say.
    pub(crate) fn note(&mut self, time_ns: u64, node: NodeId, what: Arguments<'_>) {
        if self.text.is_some() {
            self.line(time_ns, format_args!("node {} notes {what}", node.0));
        }
    }

    #[inline]
    fn mix(&mut self, value: u64) {
        self.fingerprint = (self.fingerprint ^ value).wrapping_mul(PRIME).rotate_left(23);
    }

    #[cold]
    fn line(&mut self, time_ns: u64, what: Arguments<'_>) {
        if let Some(text) = &mut self.text {
            let written = writeln!(text, "{time_ns:>12} {what}");
            debug_assert!(written.is_ok(), "a string takes all text");
        }
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Takes the text written so far.
    pub(crate) fn take(&mut self) -> String {
        self.text.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
