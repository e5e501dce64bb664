//! Keywords that cannot be names unless they are quoted [PostgreSQL 15, appendix C].

/// Sorted for the binary search.
#[rustfmt::skip]
const RESERVED: [&str; 100] = [
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
    "authorization", "binary", "both", "case", "cast", "check", "collate", "collation", "column",
    "concurrently", "constraint", "create", "cross", "current_catalog", "current_date",
    "current_role", "current_schema", "current_time", "current_timestamp", "current_user",
    "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "false", "fetch",
    "for", "foreign", "freeze", "from", "full", "grant", "group", "having", "ilike", "in",
    "initially", "inner", "intersect", "into", "is", "isnull", "join", "lateral", "leading",
    "left", "like", "limit", "localtime", "localtimestamp", "natural", "not", "notnull", "null",
    "offset", "on", "only", "or", "order", "outer", "overlaps", "placing", "primary",
    "references", "returning", "right", "select", "session_user", "similar", "some", "symmetric",
    "table", "tablesample", "then", "to", "trailing", "true", "union", "unique", "user", "using",
    "variadic", "verbose", "when", "where", "window", "with",
];

/// Whether the unquoted lower-case `name` cannot name a table, column or variable.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// Keywords that can name columns and tables, but not functions or parameters; sorted.
#[rustfmt::skip]
const COLUMNS_ONLY: [&str; 40] = [
    "between", "bigint", "bit", "boolean", "char", "character", "coalesce", "dec", "decimal",
    "exists", "extract", "float", "greatest", "grouping", "inout", "int", "integer", "interval",
    "least", "national", "nchar", "none", "normalize", "nullif", "numeric", "out", "overlay",
    "position", "precision", "real", "row", "setof", "smallint", "substring", "time", "timestamp",
    "treat", "trim", "values", "varchar",
];

/// Whether the unquoted lower-case `name` cannot name a function or parameter.
pub(crate) fn is_no_routine(name: &str) -> bool {
    is_reserved(name) || COLUMNS_ONLY.binary_search(&name).is_ok()
}

/// Other keywords that are no function names, which only `xml` has; sorted.
const OF_XML: [&str; 11] = [
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// Whether PostgreSQL's `quote_ident` puts the lower-case `name` in quotes.
pub fn needs_quotes(name: &str) -> bool {
    is_no_routine(name) || OF_XML.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(RESERVED.is_sorted() && COLUMNS_ONLY.is_sorted());
        assert!(is_no_routine("timestamp") && !is_reserved("timestamp"));
        assert!(is_reserved("where") && !is_reserved("value"));
    }
}
