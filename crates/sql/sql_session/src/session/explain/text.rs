//! The text format.

use super::{Shown, microseconds, milliseconds, row_width};
use fabric::Counts;
use procedure::Explained;

impl Shown<'_> {
    pub fn text(&self) -> Vec<String> {
        let mut above = String::new();
        let mut lines = self.plan.lines(&mut |node| {
            let added = self.added(node, above == "Limit");
            above.clone_from(&node.title);
            added
        });
        if self.meters.is_some() && self.plan.number.is_none() {
            lines.push(network(&self.measured.counts));
        }
        if self.options.summary {
            lines.push(format!("Planning Time: {} ms", milliseconds(self.planning_ns)));
            if self.meters.is_some() {
                lines.push(format!("Execution Time: {} ms", milliseconds(self.measured.run_ns)));
            }
        }
        lines
    }

    /// The text behind a title, and further lines.
    fn added(&self, node: &Explained, is_limited: bool) -> (String, Vec<String>) {
        let (mut behind, mut lines) = (String::new(), Vec::new());
        if let Some(rows) = node.rows.filter(|_| self.options.costs) {
            let width = row_width(&node.types);
            behind = match self.cost(node) {
                Some(cost) => {
                    let (first, total) = (microseconds(cost.first), microseconds(cost.total));
                    format!("  (cost={first}..{total} rows={rows} width={width})")
                }
                None => format!("  (rows={rows} width={width})"),
            };
        }
        if self.options.verbose && !node.outputs.is_empty() {
            lines.push(format!("Output: {}", node.outputs.join(", ")));
        }
        let Some(meter) = self.meter(node) else { return (behind, lines) };
        if meter.loops == 0 {
            return (behind + " (never executed)", lines);
        }
        let (first, total, rows) = Self::actual(&meter);
        behind += &match self.options.timing {
            true => format!(" (actual time={first}..{total} rows={rows} loops={})", meter.loops),
            false => format!(" (actual rows={rows} loops={})", meter.loops),
        };
        match &Self::held(node, &meter, is_limited)[..] {
            [(_, method), (_, kb), _] => {
                lines.push(format!("Sort Method: {method}  Memory: {kb}kB"));
            }
            [(_, kb)] => lines.push(format!("Memory Usage: {kb}kB")),
            _ => {}
        }
        if meter.counts.verbs > 0 {
            lines.push(network(&meter.counts));
        }
        (behind, lines)
    }
}

fn network(counts: &Counts) -> String {
    let Counts { verbs, bytes, round_trips, .. } = counts;
    format!("Round Trips: {round_trips}  Verbs: {verbs}  Bytes: {bytes}")
}
