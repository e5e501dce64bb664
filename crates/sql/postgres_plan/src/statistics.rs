//! Makes empty tables look full to PostgreSQL's planner.
//!
//! The planner computes a table's row count as its pages times the row density in the catalog. Each
//! table therefore gets one row, which takes one page, and a density of the wanted row count. The
//! numbers of distinct values are also set in the catalog; the planner divides by them. Nothing is
//! loaded or analyzed: planning for a thousand warehouses takes no longer than for one, and equal
//! workloads get equal plans.
//!
//! Decision: docs/decisions/0163-tables-look-full-and-are-empty-when-plans-are-made.md

use std::fmt::Write;

/// The size that a table appears to have.
#[derive(Clone, PartialEq, Debug)]
pub struct TableSize {
    pub table: String,
    pub rows: u64,
    /// Known statistics of its columns; the planner guesses the others.
    pub columns: Vec<ColumnSpread>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ColumnSpread {
    pub column: String,
    /// Number of distinct values, which the planner assumes to be equally frequent.
    pub distinct: u64,
    /// The share of nulls, 0 to 1.
    pub null_fraction: f64,
}

/// Planner settings, independent of the server's configuration.
///
/// - `plan_cache_mode`: generic plans, because SPADE tunes procedures and not single calls.
/// - `enable_seqscan`: PostgreSQL reads a small table whole because it has few pages. A main-memory
///   store has no pages; a read by key costs the same in tables of any size. Without an index the
///   planner still reads the whole table, at an additional cost of 10^10.
/// - `seq_page_cost`, `random_page_cost`: reading a page costs nothing if all pages are in memory.
/// - the others: PostgreSQL's defaults, so that a server's configuration changes no plan.
const SETTINGS: &str = "\
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET seq_page_cost = 0;
SET random_page_cost = 0;
SET cpu_tuple_cost = 0.01;
SET cpu_index_tuple_cost = 0.005;
SET cpu_operator_cost = 0.0025;
SET effective_cache_size = '4GB';
SET work_mem = '4MB';
SET hash_mem_multiplier = 2;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET search_path = public;
SET compute_query_id = off;
";

/// Planner settings for statements that read whole tables in any storage: a hash table cannot
/// provide the order of an index, and memory suffices for all groups.
pub(crate) const WHOLE_TABLES: &str = "\
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET work_mem = '64GB';
";

/// Two functions of the session: one sets the size of a table, one the statistics of a column.
///
/// The one row of each table has only nulls, so NOT NULL is suspended for its insertion.
const FUNCTIONS: &str = r"
CREATE FUNCTION pg_temp.namdb_size(filled regclass, row_count real) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    strict_columns smallint[];
BEGIN
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', filled);
    SELECT array_agg(attnum) INTO strict_columns FROM pg_attribute WHERE attrelid = filled AND attnum > 0 AND attnotnull;
    UPDATE pg_attribute SET attnotnull = false WHERE attrelid = filled AND attnum = ANY (strict_columns);
    EXECUTE format('INSERT INTO %s DEFAULT VALUES', filled);
    UPDATE pg_attribute SET attnotnull = true WHERE attrelid = filled AND attnum = ANY (strict_columns);
    UPDATE pg_class SET reltuples = row_count, relpages = 1, relallvisible = 1 WHERE oid = filled;
END
$$;
CREATE FUNCTION pg_temp.namdb_spread(filled regclass, named name, different real, nulls real) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pg_statistic (starelid, staattnum, stainherit, stanullfrac, stawidth, stadistinct,
        stakind1, stakind2, stakind3, stakind4, stakind5, staop1, staop2, staop3, staop4, staop5,
        stacoll1, stacoll2, stacoll3, stacoll4, stacoll5)
    SELECT filled, attnum, false, nulls, 0, different, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM pg_attribute WHERE attrelid = filled AND attname = named;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the table % has no column %', filled, named;
    END IF;
END
$$;
";

/// The script that sets the tables' sizes and the planner's settings.
pub(crate) fn script(sizes: &[TableSize]) -> String {
    // Suppresses notices about objects that do not exist yet.
    let mut script =
        format!("SET client_min_messages = warning;\n{SETTINGS}{FUNCTIONS}\\o /dev/null\n");
    for size in sizes {
        let table = literal(&identifier(&size.table));
        // Writing to a string cannot fail.
        let _ = writeln!(script, "SELECT pg_temp.namdb_size({table}, {});", size.rows);
        for spread in &size.columns {
            let (column, different) = (literal(&spread.column), spread.distinct.max(1));
            let nulls = spread.null_fraction;
            let _ = writeln!(
                script,
                "SELECT pg_temp.namdb_spread({table}, {column}, {different}, {nulls});"
            );
        }
    }
    script.push_str("\\o\n");
    script
}

/// A quoted name.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_stand_where_they_belong() {
        let spread = ColumnSpread { column: "o'k".to_owned(), distinct: 0, null_fraction: 0.25 };
        let size = TableSize { table: "Odd\"one".to_owned(), rows: 7, columns: vec![spread] };
        let script = script(&[size]);
        assert!(script.contains("SELECT pg_temp.namdb_size('\"Odd\"\"one\"', 7);"));
        assert!(script.contains("SELECT pg_temp.namdb_spread('\"Odd\"\"one\"', 'o''k', 1, 0.25);"));
    }
}
