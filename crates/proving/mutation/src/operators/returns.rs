//! A function returns at once, with a value that its type allows.

use super::on;
use crate::walk::Walk;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type};

/// Returns each of the plain values of the function's type at once.
pub(crate) fn function(walk: &mut Walk<'_>, signature: &Signature, body: &syn::Block) {
    let values = match &signature.output {
        ReturnType::Default if body.stmts.is_empty() => Vec::new(),
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, returned) => values(returned),
    };
    let only = match &*body.stmts {
        [syn::Stmt::Expr(only, None)] => walk.text(only),
        _ => "",
    };
    let at = walk.range(&body.brace_token.span.open()).end;
    for value in values.iter().filter(|&value| value != only) {
        let returned = if value.is_empty() { String::new() } else { format!(" {value}") };
        let what = format!("returns{returned} at once");
        if let Some(site) = walk.mutant(what, &signature.ident) {
            walk.edits.insert(site, at, format!(" if {} {{ return{returned}; }}", on(site)));
        }
    }
}

/// Some values of a type.
fn values(returned: &Type) -> Vec<String> {
    let strings = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    match returned {
        Type::Tuple(tuple) if tuple.elems.is_empty() => strings(&["()"]),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match last.ident.to_string().as_str() {
                "bool" => strings(&["true", "false"]),
                "u64" | "u32" | "u16" | "usize" => strings(&["0"]),
                "Option" => strings(&["None"]),
                "Vec" => strings(&["Vec::new()"]),
                "Result" => {
                    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                        return Vec::new();
                    };
                    let Some(GenericArgument::Type(inner)) = arguments.args.first() else {
                        return Vec::new();
                    };
                    values(inner).iter().map(|value| format!("Ok({value})")).collect()
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::operators::testing::{mutants, mutated};

    #[test]
    fn functions_return_plain_values_at_once() {
        assert_eq!(
            mutated("fn f() -> Result<bool, E> { g()? }", "returns Ok(false) at once"),
            "fn f() -> Result<bool, E> { if on(1) { return Ok(false); } g()? }"
        );
        assert_eq!(
            mutated("fn f() { g() }", "returns at once"),
            "fn f() { if on(1) { return; } g() }"
        );
        let names = |source: &str| -> Vec<String> {
            mutants(source).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("fn f() -> Option<T> { g() }"), ["returns None at once"]);
        assert_eq!(names("fn f() -> Result<(), E> { g() }"), ["returns Ok(()) at once"]);
        assert_eq!(names("fn f() -> bool { true }"), ["returns false at once"]);
        assert!(names("fn f() -> Self { g() }").is_empty());
    }
}
