//! The walk through a source file: which code is mutated, and which is left alone.
//!
//! Left alone are tests, constants, patterns, types, attributes, the insides of macros (assertions
//! among them, which are oracles and no behaviour), texts for people, and what exists for planted
//! bugs only.

use crate::edits::Edits;
use crate::operators::{branches, conditions, exchanges, literals, returns, statements};
use crate::site::{Purpose, Site};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Traits whose code is for people.
const TEXT_TRAITS: [&str; 3] = ["Display", "Debug", "Error"];
/// The sentence that documents functions that exist for a planted bug only.
const FOR_PLANTED_BUGS: &str = "For a mutant.";
/// Words of statements without behaviour: named failure points, planted bugs, hints to the
/// processor, and counts for people.
const SILENT: [&str; 6] =
    [".reach(", ".mutant(", "debug_assert", ".prefetch(", "statistics", ".counters"];
/// Functions whose arguments are hints.
const HINTED: [&str; 2] = ["with_capacity", "reserve"];
/// The longest piece of source in the description of a site.
const QUOTE_LETTERS_MAX: usize = 60;

/// The state of a walk.
pub(crate) struct Walk<'a> {
    file: &'a str,
    source: &'a str,
    next: u32,
    excluded: &'a BTreeSet<String>,
    owner: Option<String>,
    function: String,
    /// Names of the function that say whether a planted bug is on.
    planted: BTreeSet<String>,
    ordinals: BTreeMap<(String, String), u32>,
    pub edits: Edits,
    pub sites: Vec<Site>,
}

impl<'a> Walk<'a> {
    pub fn new(file: &'a str, source: &'a str, first: u32, excluded: &'a BTreeSet<String>) -> Self {
        Self {
            file,
            source,
            next: first,
            excluded,
            owner: None,
            function: String::new(),
            planted: BTreeSet::new(),
            ordinals: BTreeMap::new(),
            edits: Edits::default(),
            sites: Vec::new(),
        }
    }

    /// The number of a new site; `None` if it is excluded.
    pub fn site(&mut self, purpose: Purpose, what: String, node: &impl Spanned) -> Option<u32> {
        let key = (self.function.clone(), what.clone());
        let ordinal = self.ordinals.entry(key).and_modify(|last| *last += 1).or_insert(1);
        let site = Site {
            number: self.next,
            purpose,
            file: self.file.to_owned(),
            function: self.function.clone(),
            what,
            ordinal: *ordinal,
            line: node.span().start().line,
        };
        if self.excluded.contains(&site.identity()) {
            return None;
        }
        self.next += 1;
        self.sites.push(site);
        Some(self.next - 1)
    }

    /// The number of a new mutant; `None` if it is excluded.
    pub fn mutant(&mut self, what: String, node: &impl Spanned) -> Option<u32> {
        self.site(Purpose::Mutant, what, node)
    }

    /// The bytes of a node.
    pub fn range(&self, node: &impl Spanned) -> Range<usize> {
        node.span().byte_range()
    }

    /// The source of a node.
    pub fn text(&self, node: &impl Spanned) -> &'a str {
        &self.source[self.range(node)]
    }

    /// The source of a node on one line, shortened.
    pub fn quote(&self, node: &impl Spanned) -> String {
        let words: Vec<&str> = self.text(node).split_whitespace().collect();
        let text = words.join(" ");
        match text.char_indices().nth(QUOTE_LETTERS_MAX) {
            None => format!("`{text}`"),
            Some((end, _)) => format!("`{}...`", &text[..end]),
        }
    }

    /// Whether an expression looks at a planted bug.
    pub fn is_for_planted_bugs(&self, node: &impl Spanned) -> bool {
        let text = self.text(node);
        text.contains(".mutant(") || self.planted.contains(text.trim_start_matches('!'))
    }

    /// Whether a statement has no behaviour that a run could show.
    pub fn is_silent(&self, statement: &syn::Stmt) -> bool {
        match statement {
            syn::Stmt::Expr(syn::Expr::ForLoop(repeated), _) => {
                repeated.body.stmts.iter().all(|inner| self.is_silent(inner))
            }
            syn::Stmt::Expr(expression, Some(_)) if is_plain(expression) => {
                let text = self.text(expression);
                SILENT.iter().any(|word| text.contains(word))
            }
            _ => false,
        }
    }

    fn function(
        &mut self,
        signature: &syn::Signature,
        attributes: &[syn::Attribute],
        body: &syn::Block,
    ) {
        if signature.constness.is_some() || is_left_alone(attributes) {
            return;
        }
        let name = signature.ident.to_string();
        let name = self.owner.as_ref().map_or(name.clone(), |owner| format!("{owner}::{name}"));
        let outer = std::mem::replace(&mut self.function, name);
        self.planted.clear();
        returns::function(self, signature, body);
        branches::block(self, "call", body);
        self.visit_block(body);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_left_alone(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        let is_text =
            of_trait.is_some_and(|name| TEXT_TRAITS.iter().any(|text| name.ident == text));
        if is_text || is_left_alone(&item.attrs) {
            return;
        }
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.owner, name);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let outer = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, &item.attrs, body);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        statements::block(self, block);
        visit::visit_block(self, block);
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if !self.is_silent(statement) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (syn::Pat::Ident(name), Some(value)) = (&local.pat, &local.init)
            && self.is_for_planted_bugs(&value.expr)
        {
            self.planted.insert(name.ident.to_string());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let name = self.text(&call.func);
        if !HINTED.iter().any(|hinted| name.ends_with(hinted)) {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        let is_for_planted_bugs = self.is_for_planted_bugs(&branch.cond);
        if !is_for_planted_bugs {
            conditions::condition(self, &branch.cond);
            branches::block(self, "then", &branch.then_branch);
        }
        self.visit_expr(&branch.cond);
        let is_bare = matches!(&*branch.cond, syn::Expr::MethodCall(_) | syn::Expr::Unary(_));
        if !(is_for_planted_bugs && is_bare) {
            self.visit_block(&branch.then_branch);
        }
        if let Some((_, other)) = &branch.else_branch {
            if let (syn::Expr::Block(other), false) = (&**other, is_for_planted_bugs) {
                branches::block(self, "else", &other.block);
            }
            self.visit_expr(other);
        }
    }

    fn visit_expr_while(&mut self, repeated: &'ast syn::ExprWhile) {
        conditions::never(self, &repeated.cond);
        branches::block(self, "loop", &repeated.body);
        visit::visit_expr_while(self, repeated);
    }

    fn visit_expr_for_loop(&mut self, repeated: &'ast syn::ExprForLoop) {
        branches::block(self, "loop", &repeated.body);
        visit::visit_expr_for_loop(self, repeated);
    }

    fn visit_expr_loop(&mut self, repeated: &'ast syn::ExprLoop) {
        branches::block(self, "loop", &repeated.body);
        visit::visit_expr_loop(self, repeated);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        self.visit_expr(&matched.expr);
        if !self.is_for_planted_bugs(&matched.expr) {
            matched.arms.iter().for_each(|arm| self.visit_arm(arm));
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            conditions::condition(self, guard);
            self.visit_expr(guard);
        }
        branches::arm(self, arm);
        self.visit_expr(&arm.body);
    }

    fn visit_expr_binary(&mut self, operation: &'ast syn::ExprBinary) {
        exchanges::binary(self, operation);
        conditions::operands(self, operation);
        literals::operand(self, &operation.left);
        literals::operand(self, &operation.right);
        visit::visit_expr_binary(self, operation);
    }

    fn visit_expr_unary(&mut self, operation: &'ast syn::ExprUnary) {
        conditions::negation(self, operation);
        visit::visit_expr_unary(self, operation);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        exchanges::method(self, call);
        self.visit_expr(&call.receiver);
        if !HINTED.iter().any(|hinted| call.method == hinted) {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_expr_range(&mut self, range: &'ast syn::ExprRange) {
        range.start.iter().for_each(|start| literals::operand(self, start));
        range.end.iter().for_each(|end| literals::operand(self, end));
        visit::visit_expr_range(self, range);
    }

    fn visit_expr_index(&mut self, indexed: &'ast syn::ExprIndex) {
        literals::operand(self, &indexed.index);
        visit::visit_expr_index(self, indexed);
    }

    fn visit_expr_repeat(&mut self, repeated: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeated.expr);
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        _: &'ast syn::AngleBracketedGenericArguments,
    ) {
    }
}

/// Whether an expression is a call or an assignment, perhaps with `?` or `.await`.
pub(crate) fn is_plain(expression: &syn::Expr) -> bool {
    use syn::Expr::{Assign, Await, Binary, Call, MethodCall, Try};
    matches!(expression, Assign(_) | Await(_) | Binary(_) | Call(_) | MethodCall(_) | Try(_))
}

/// Whether attributes or the documentation say that code is for tests or planted bugs.
fn is_left_alone(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
        }
        syn::Meta::NameValue(pair) => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                pair.path.is_ident("doc") && text.value().contains(FOR_PLANTED_BUGS)
            }
            _ => false,
        },
    })
}
