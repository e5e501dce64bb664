//! The numbers of definitions, and of roles. A number is never used again: a session, a client or a
//! grant may still mean what had it before.
//!
//! The next number follows the largest one that was used. If its definition is gone, a definition
//! of its own remembers it.

use super::{Definition, DefinitionKind, FIRST_OID};

/// The number of the next definition.
pub(crate) fn next_id(definitions: &[Definition]) -> i64 {
    let last = definitions.iter().map(|one| one.id.max(remembered(one))).max().unwrap_or(0);
    (last + 1).max(FIRST_OID)
}

fn remembered(one: &Definition) -> i64 {
    match one.kind {
        DefinitionKind::LastNumber => one.body.parse().unwrap_or(0),
        _ => 0,
    }
}

/// Remembers the largest number, if a change has dropped its definition.
pub(crate) fn remember_last(before: &[Definition], after: &mut Vec<Definition>) {
    let next = next_id(before);
    if next_id(after) >= next {
        return;
    }
    let kind = DefinitionKind::LastNumber;
    match after.iter_mut().find(|one| one.kind == kind) {
        Some(one) => one.body = (next - 1).to_string(),
        None => {
            let [name, physical] = [String::new(), String::new()];
            after.push(Definition {
                id: next,
                kind,
                table: 0,
                name,
                physical,
                body: next.to_string(),
            });
        }
    }
}
