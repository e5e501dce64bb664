//! Counters at the start of each branch: functions, then and else, arms, loops.

use crate::edits::Piece;
use crate::site::Purpose;
use crate::walk::Walk;

/// Counts the visits of a block.
pub(crate) fn block(walk: &mut Walk<'_>, kind: &str, block: &syn::Block) {
    let span = block.brace_token.span.open();
    let Some(site) = walk.site(Purpose::Branch, kind.to_owned(), block) else { return };
    let at = walk.range(&span).end;
    walk.edits.insert(site, at, format!(" {};", visit(site)));
}

/// Counts the visits of an arm of a `match`.
pub(crate) fn arm(walk: &mut Walk<'_>, arm: &syn::Arm) {
    let what = format!("arm {}", walk.quote(&arm.pat));
    let Some(site) = walk.site(Purpose::Branch, what, &arm.pat) else { return };
    let range = walk.range(&arm.body);
    let pieces = vec![
        Piece::New(format!("{{ {}; ", visit(site))),
        Piece::Edited(range.clone()),
        // Where the body is a block, a comma need not follow.
        Piece::New(" }".into()),
    ];
    walk.edits.replace(site, range, pieces);
}

fn visit(site: u32) -> String {
    format!("::fabric::mutation::visit({site})")
}

#[cfg(test)]
mod tests {
    use crate::instrument::instrument;
    use crate::site::Purpose;
    use std::collections::BTreeSet;

    #[test]
    fn each_branch_is_counted_at_its_start() {
        let source =
            "fn f() -> T { if a { b } else { for c in d { match e { 1 => 2, _ => { 3 } } } } }";
        let whole = instrument("file.rs", source, 1, &BTreeSet::new()).expect("it is Rust");
        let of = |purpose| {
            let sites = whole.sites.iter().filter(move |site| site.purpose == purpose);
            sites.map(|site| site.identity()).collect::<BTreeSet<String>>()
        };
        let result = instrument("file.rs", source, 1, &of(Purpose::Mutant)).expect("it is Rust");
        syn::parse_file(&result.text).expect("the result parses");
        let visits = result.text.replace("::fabric::mutation::", "");
        assert_eq!(
            visits,
            "fn f() -> T { visit(1); if a { visit(2); b } else { visit(3); for c in d { visit(4); \
             match e { 1 => { visit(5); 2 }, _ => { visit(6); { 3 } } } } } }"
        );
        let kinds: Vec<&str> = result.sites.iter().map(|site| site.what.as_str()).collect();
        assert_eq!(kinds, ["call", "then", "else", "loop", "arm `1`", "arm `_`"]);
    }
}
