//! The JSON format.

use super::{Shown, microseconds, milliseconds, row_width};
use procedure::Explained;
use std::fmt::Write;

/// Names of properties whose values are lists of expressions.
const LISTS: [&str; 2] = ["Sort Key", "Group Key"];

impl Shown<'_> {
    pub fn json(&self) -> String {
        let mut fields = vec![("Plan".to_owned(), self.node(self.plan, None, false, 2))];
        if self.options.summary {
            fields.push(("Planning Time".to_owned(), milliseconds(self.planning_ns)));
        }
        if self.meters.is_some() {
            fields.push(("Triggers".to_owned(), "[\n    ]".to_owned()));
            if self.options.summary {
                fields.push(("Execution Time".to_owned(), milliseconds(self.measured.run_ns)));
            }
        }
        format!("[\n  {}\n]", object(&fields, 1))
    }

    /// A node, with its relation to the one above.
    fn node(
        &self,
        node: &Explained,
        above: Option<(&str, Option<&str>)>,
        is_limited: bool,
        depth: usize,
    ) -> String {
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| fields.push((name.to_owned(), value));
        let mut properties = node.properties.iter();
        if let Some((name, kind)) = properties.next() {
            add(name, quoted(kind));
        }
        if let Some((relation, plan)) = above {
            add("Parent Relationship", quoted(relation));
            plan.into_iter().for_each(|plan| add("Subplan Name", quoted(plan)));
        }
        add("Parallel Aware", "false".to_owned());
        add("Async Capable", "false".to_owned());
        properties.for_each(|(name, value)| add(name, quoted(value)));
        self.numbers(node, &mut add);
        if self.options.verbose && !node.outputs.is_empty() {
            add("Output", list(node.outputs.iter().map(|output| quoted(output))));
        }
        for (name, value) in &node.details {
            add(
                name,
                match LISTS.contains(name) {
                    true => list(parts(value).into_iter().map(quoted)),
                    false => quoted(value),
                },
            );
        }
        if let Some(meter) = self.meter(node) {
            for (name, value) in Self::held(node, &meter, is_limited) {
                add(name, if value.parse::<u64>().is_ok() { value } else { quoted(&value) });
            }
            add("Round Trips", meter.counts.round_trips.to_string());
            add("Verbs", meter.counts.verbs.to_string());
            add("Bytes", meter.counts.bytes.to_string());
        }
        let limits = node.title == "Limit";
        let names = ["Outer", "Inner"];
        let of_join = node.properties.iter().any(|(name, _)| *name == "Join Type");
        let inputs = node.inputs.iter().enumerate().map(|(at, input)| {
            let name = if of_join { names.get(at).copied().unwrap_or("Member") } else { "Outer" };
            let name = if node.inputs.len() > 1 && !of_join { "Member" } else { name };
            self.node(input, Some((name, None)), limits, depth + 2)
        });
        let plans = node.plans.iter().map(|(name, plan)| {
            let relation = name.split(' ').next().unwrap_or_default();
            self.node(plan, Some((relation, Some(name))), false, depth + 2)
        });
        let below: Vec<String> = plans.chain(inputs).collect();
        if !below.is_empty() {
            let (inside, outside) = ("  ".repeat(depth + 2), "  ".repeat(depth + 1));
            let nodes = below.join(&format!(",\n{inside}"));
            fields.push(("Plans".to_owned(), format!("[\n{inside}{nodes}\n{outside}]")));
        }
        object(&fields, depth)
    }

    /// Estimates and measurements of a node.
    fn numbers(&self, node: &Explained, add: &mut dyn FnMut(&str, String)) {
        if self.options.costs {
            let cost = self.cost(node).unwrap_or_default();
            add("Startup Cost", microseconds(cost.first));
            add("Total Cost", microseconds(cost.total));
            add("Plan Rows", node.rows.unwrap_or_default().to_string());
            add("Plan Width", row_width(&node.types).to_string());
        }
        let Some(meter) = self.meter(node) else { return };
        let (first, total, rows) = Self::actual(&meter);
        if self.options.timing {
            add("Actual Startup Time", first);
            add("Actual Total Time", total);
        }
        add("Actual Rows", rows.to_string());
        add("Actual Loops", meter.loops.to_string());
    }
}

fn object(fields: &[(String, String)], depth: usize) -> String {
    let margin = "  ".repeat(depth + 1);
    let fields = fields.iter().map(|(name, value)| format!("{margin}\"{name}\": {value}"));
    format!("{{\n{}\n{}}}", fields.collect::<Vec<_>>().join(",\n"), "  ".repeat(depth))
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// The expressions of a list, which commas outside of parentheses and texts separate.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut is_text, mut start) = (Vec::new(), 0, false, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => is_text = !is_text,
            '(' | '[' if !is_text => depth += 1,
            ')' | ']' if !is_text => depth -= 1,
            ',' if depth == 0 && !is_text => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_lists_divided() {
        assert_eq!(quoted("a \"b\" \\ \u{1}\n"), "\"a \\\"b\\\" \\\\ \\u0001\\n\"");
        assert_eq!(parts("t.a, f(b, c) DESC, 'x, y'"), ["t.a", "f(b, c) DESC", "'x, y'"]);
    }
}
