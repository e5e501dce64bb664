//! Condition names and their SQLSTATE codes [PostgreSQL 15, appendix A].

/// The conditions that a procedure may want to raise, sorted by name.
const CONDITIONS: [(&str, &str); 67] = [
    ("array_subscript_error", "2202E"),
    ("assert_failure", "P0004"),
    ("cardinality_violation", "21000"),
    ("case_not_found", "20000"),
    ("check_violation", "23514"),
    ("connection_exception", "08000"),
    ("data_exception", "22000"),
    ("datatype_mismatch", "42804"),
    ("datetime_field_overflow", "22008"),
    ("deadlock_detected", "40P01"),
    ("diagnostics_exception", "0Z000"),
    ("division_by_zero", "22012"),
    ("duplicate_table", "42P07"),
    ("error_in_assignment", "22005"),
    ("exclusion_violation", "23P01"),
    ("feature_not_supported", "0A000"),
    ("foreign_key_violation", "23503"),
    ("in_failed_sql_transaction", "25P02"),
    ("insufficient_privilege", "42501"),
    ("insufficient_resources", "53000"),
    ("integrity_constraint_violation", "23000"),
    ("internal_error", "XX000"),
    ("invalid_authorization_specification", "28000"),
    ("invalid_cursor_state", "24000"),
    ("invalid_datetime_format", "22007"),
    ("invalid_grantor", "0L000"),
    ("invalid_parameter_value", "22023"),
    ("invalid_role_specification", "0P000"),
    ("invalid_text_representation", "22P02"),
    ("invalid_transaction_initiation", "0B000"),
    ("invalid_transaction_state", "25000"),
    ("invalid_transaction_termination", "2D000"),
    ("locator_exception", "0F000"),
    ("lock_not_available", "55P03"),
    ("no_active_sql_transaction", "25P01"),
    ("no_data_found", "P0002"),
    ("not_null_violation", "23502"),
    ("null_value_no_indicator_parameter", "22002"),
    ("null_value_not_allowed", "22004"),
    ("numeric_value_out_of_range", "22003"),
    ("object_not_in_prerequisite_state", "55000"),
    ("operator_intervention", "57000"),
    ("plpgsql_error", "P0000"),
    ("program_limit_exceeded", "54000"),
    ("query_canceled", "57014"),
    ("raise_exception", "P0001"),
    ("read_only_sql_transaction", "25006"),
    ("restrict_violation", "23001"),
    ("serialization_failure", "40001"),
    ("sql_routine_exception", "2F000"),
    ("sql_statement_not_yet_complete", "03000"),
    ("statement_completion_unknown", "40003"),
    ("string_data_right_truncation", "22001"),
    ("successful_completion", "00000"),
    ("syntax_error", "42601"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("system_error", "58000"),
    ("too_many_rows", "P0003"),
    ("transaction_integrity_constraint_violation", "40002"),
    ("transaction_rollback", "40000"),
    ("triggered_action_exception", "09000"),
    ("triggered_data_change_violation", "27000"),
    ("undefined_column", "42703"),
    ("undefined_function", "42883"),
    ("undefined_table", "42P01"),
    ("unique_violation", "23505"),
    ("with_check_option_violation", "44000"),
];

/// The SQLSTATE of the condition called `name`.
pub(super) fn sqlstate(name: &str) -> Option<&'static str> {
    let found = CONDITIONS.binary_search_by_key(&name, |(name, _)| name);
    found.ok().map(|at| CONDITIONS[at].1)
}

/// Whether `code` has five digits or capital letters.
pub(super) fn is_sqlstate(code: &str) -> bool {
    code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_in_order_and_have_codes() {
        assert!(CONDITIONS.is_sorted());
        assert!(CONDITIONS.iter().all(|(_, code)| is_sqlstate(code)));
        assert_eq!(sqlstate("unique_violation"), Some("23505"));
        assert_eq!(sqlstate("no_such_condition"), None);
    }
}
