//! The trace of a run: always a fingerprint, text on request.

use layout::{GlobalPtr, NodeId};
use std::fmt::Arguments;

/// The record of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    fingerprint: u64,
    /// Lines with their moments. Verbs are recorded when they are posted or delivered, so lines are
    /// not in the order of their moments.
    lines: Option<Vec<(u64, String)>>,
}

/// The 64-bit prime of FNV-1a.
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Trace {
    pub(crate) fn new(written: bool) -> Self {
        Self { fingerprint: 0xcbf2_9ce4_8422_2325, lines: written.then(Vec::new) }
    }

    /// Records one access to one word.
    #[inline]
    pub(crate) fn word(
        &mut self,
        time_ns: u64,
        node: NodeId,
        access: &'static str,
        at: GlobalPtr,
        value: u64,
    ) {
        self.words(time_ns, node, access, at, &[value]);
    }

    /// Records one access to words from `at` on, the first of them at `time_ns` or later.
    #[inline]
    pub(crate) fn words(
        &mut self,
        time_ns: u64,
        node: NodeId,
        access: &'static str,
        at: GlobalPtr,
        values: &[u64],
    ) {
        self.mix(time_ns.rotate_left(32) ^ at.word());
        self.mix(values.iter().fold(0, |sum, value| u64::rotate_left(sum, 7) ^ value));
        if self.lines.is_some() {
            self.line(time_ns, || match values {
                [value] => format!("node {} {access} {at:?} {value:#x}", node.0),
                _ => format!("node {} {access} {at:?} {values:x?}", node.0),
            });
        }
    }

    /// Records any other event.
    pub(crate) fn event(&mut self, time_ns: u64, what: &'static str, detail: u64) {
        self.mix(time_ns ^ detail.rotate_left(48));
        self.line(time_ns, || format!("{what} {detail}"));
    }

    /// Records the arrival at a failure point.
    pub(crate) fn point(&mut self, time_ns: u64, node: NodeId, name: &str) {
        self.mix(time_ns ^ u64::from(node.0) << 48);
        self.line(time_ns, || format!("node {} reached {name}", node.0));
    }

    /// Records a note of an endpoint.
    pub(crate) fn note(&mut self, time_ns: u64, node: NodeId, what: Arguments<'_>) {
        self.line(time_ns, || format!("node {} notes {what}", node.0));
    }

    #[inline]
    fn mix(&mut self, value: u64) {
        self.fingerprint = (self.fingerprint ^ value).wrapping_mul(PRIME).rotate_left(23);
    }

    #[inline]
    fn line(&mut self, time_ns: u64, what: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push((time_ns, what()));
        }
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Takes the lines up to `now_ns`, in the order of time.
    pub(crate) fn take(&mut self, now_ns: u64) -> String {
        let Some(lines) = &mut self.lines else {
            return String::new();
        };
        lines.sort_by_key(|(time_ns, _)| *time_ns);
        let past = lines.partition_point(|(time_ns, _)| *time_ns <= now_ns);
        let lines = lines.drain(..past);
        lines.map(|(time_ns, what)| format!("{time_ns:>12} {what}\n")).collect()
    }
}
