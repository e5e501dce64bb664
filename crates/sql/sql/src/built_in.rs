//! The functions of PostgreSQL 15 that a user may call.

/// Sorted for the binary search. From `pg_proc`, without names that begin with `pg_` and without
/// the functions behind types, operators, indexes and aggregates.
#[rustfmt::skip]
const BUILT_IN: [&str; 436] = [
    "abs", "acldefault", "aclexplode", "acos", "acosd", "acosh", "age", "area", "array_agg",
    "array_append", "array_cat", "array_dims", "array_fill", "array_length", "array_lower",
    "array_ndims", "array_position", "array_positions", "array_prepend", "array_remove",
    "array_replace", "array_to_json", "array_to_string", "array_to_tsvector", "array_upper",
    "ascii", "asin", "asind", "asinh", "atan", "atan2", "atan2d", "atand", "atanh", "avg", "bit",
    "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool", "bool_and", "bool_or",
    "box", "bpchar", "btrim", "cardinality", "cbrt", "ceil", "ceiling", "char", "char_length",
    "character_length", "chr", "cidr", "circle", "clock_timestamp", "col_description", "concat",
    "concat_ws", "convert", "convert_from", "convert_to", "corr", "cos", "cosd", "cosh", "cot",
    "cotd", "count", "covar_pop", "covar_samp", "cume_dist", "current_database", "current_query",
    "current_schema", "current_schemas", "current_setting", "current_user", "currval",
    "cursor_to_xml", "cursor_to_xmlschema", "database_to_xml", "database_to_xml_and_xmlschema",
    "database_to_xmlschema", "date", "date_bin", "date_part", "date_trunc", "datemultirange",
    "daterange", "decode", "degrees", "dense_rank", "diagonal", "diameter", "div", "encode",
    "enum_first", "enum_last", "enum_range", "every", "exp", "extract", "factorial", "family",
    "first_value", "float4", "float8", "floor", "format", "format_type", "gcd", "gen_random_uuid",
    "generate_series", "generate_subscripts", "get_bit", "get_byte", "get_current_ts_config",
    "getdatabaseencoding", "has_column_privilege", "has_database_privilege",
    "has_schema_privilege", "has_table_privilege", "height", "host", "hostmask",
    "inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port", "initcap",
    "int2", "int4", "int4multirange", "int4range", "int8", "int8multirange", "int8range",
    "interval", "is_normalized", "isclosed", "isempty", "isfinite", "ishorizontal", "isopen",
    "isparallel", "isperp", "isvertical", "json_agg", "json_array_elements",
    "json_array_elements_text", "json_array_length", "json_build_array", "json_build_object",
    "json_each", "json_each_text", "json_object", "json_object_agg", "json_object_keys",
    "json_populate_record", "json_populate_recordset", "json_strip_nulls", "json_to_record",
    "json_to_recordset", "json_to_tsvector", "json_typeof", "jsonb_agg", "jsonb_array_elements",
    "jsonb_array_elements_text", "jsonb_array_length", "jsonb_build_array", "jsonb_build_object",
    "jsonb_each", "jsonb_each_text", "jsonb_exists", "jsonb_insert", "jsonb_object",
    "jsonb_object_agg", "jsonb_object_keys", "jsonb_path_exists", "jsonb_path_exists_tz",
    "jsonb_path_match", "jsonb_path_match_tz", "jsonb_path_query", "jsonb_path_query_array",
    "jsonb_path_query_array_tz", "jsonb_path_query_first", "jsonb_path_query_first_tz",
    "jsonb_path_query_tz", "jsonb_populate_record", "jsonb_populate_recordset", "jsonb_pretty",
    "jsonb_set", "jsonb_set_lax", "jsonb_strip_nulls", "jsonb_to_record", "jsonb_to_recordset",
    "jsonb_to_tsvector", "jsonb_typeof", "justify_days", "justify_hours", "justify_interval",
    "lag", "last_value", "lastval", "lcm", "lead", "left", "length", "like", "like_escape", "ln",
    "lo_create", "lo_export", "lo_import", "log", "log10", "loread", "lower", "lower_inc",
    "lower_inf", "lowrite", "lpad", "lseg", "ltrim", "make_date", "make_interval", "make_time",
    "make_timestamp", "make_timestamptz", "masklen", "max", "md5", "min", "min_scale", "mod",
    "mode", "money", "multirange", "mxid_age", "name", "netmask", "network", "nextval",
    "normalize", "notlike", "now", "npoints", "nth_value", "ntile", "num_nonnulls", "num_nulls",
    "numeric", "numeric_div_trunc", "numeric_exp", "numeric_ln", "numeric_log", "numeric_sqrt",
    "nummultirange", "numnode", "numrange", "obj_description", "octet_length", "oid", "overlaps",
    "overlay", "parse_ident", "path", "pclose", "percent_rank", "percentile_cont",
    "percentile_disc", "phraseto_tsquery", "pi", "plainto_tsquery", "point", "polygon", "popen",
    "position", "pow", "power", "query_to_xml", "query_to_xml_and_xmlschema",
    "query_to_xmlschema", "querytree", "quote_ident", "quote_literal", "quote_nullable",
    "radians", "radius", "random", "range_agg", "range_intersect_agg", "range_merge", "rank",
    "regclass", "regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_matches",
    "regexp_replace", "regexp_split_to_array", "regexp_split_to_table", "regexp_substr",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
    "regr_sxy", "regr_syy", "repeat", "replace", "reverse", "right", "round", "row_number",
    "row_to_json", "rpad", "rtrim", "satisfies_hash_partition", "scale", "schema_to_xml",
    "schema_to_xml_and_xmlschema", "schema_to_xmlschema", "session_user", "set_bit", "set_byte",
    "set_config", "set_masklen", "setseed", "setval", "setweight", "sha224", "sha256", "sha384",
    "sha512", "shobj_description", "sign", "similar_escape", "similar_to_escape", "sin", "sind",
    "sinh", "slope", "split_part", "sqrt", "starts_with", "statement_timestamp", "stddev",
    "stddev_pop", "stddev_samp", "string_agg", "string_to_array", "string_to_table", "strip",
    "strpos", "substr", "substring", "sum", "table_to_xml", "table_to_xml_and_xmlschema",
    "table_to_xmlschema", "tan", "tand", "tanh", "text", "time", "timeofday", "timestamp",
    "timestamptz", "timetz", "timezone", "to_ascii", "to_char", "to_date", "to_hex", "to_json",
    "to_jsonb", "to_number", "to_regclass", "to_regproc", "to_regtype", "to_timestamp",
    "to_tsquery", "to_tsvector", "transaction_timestamp", "translate", "trim_array", "trim_scale",
    "trunc", "ts_delete", "ts_filter", "ts_headline", "ts_rank", "ts_rank_cd", "ts_rewrite",
    "ts_stat", "tsmultirange", "tsrange", "tstzmultirange", "tstzrange", "tsvector_to_array",
    "txid_current", "txid_current_if_assigned", "txid_status", "unistr", "unnest", "upper",
    "upper_inc", "upper_inf", "var_pop", "var_samp", "varbit", "varchar", "variance", "version",
    "websearch_to_tsquery", "width", "width_bucket", "xid", "xml", "xml_is_well_formed",
    "xml_is_well_formed_content", "xml_is_well_formed_document", "xmlagg", "xmlcomment",
    "xmlexists", "xmlvalidate", "xpath", "xpath_exists",
];

/// Whether PostgreSQL has a function `name`, given in lower case.
pub(crate) fn is_built_in(name: &str) -> bool {
    name.starts_with("pg_") || BUILT_IN.binary_search(&name).is_ok()
}

pub(crate) fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{SIGNATURES, WITHOUT_PARENTHESES};

    #[test]
    fn the_list_is_in_order_and_has_what_namdb_supports() {
        assert!(BUILT_IN.is_sorted());
        for signature in SIGNATURES {
            let name = signature.name;
            assert!(is_built_in(name) || WITHOUT_PARENTHESES.contains(&name), "{name}");
        }
    }
}
