//! Makes empty tables look full to PostgreSQL's planner.
//!
//! The planner takes the number of rows from a table's pages times its density in the catalog. So each table gets one row,
//! which takes one page, and a density of all its rows. How often values repeat stands in the catalog, too, and the planner
//! divides by it. Nothing is loaded or analyzed, so that the plans of a thousand warehouses take no longer than those of
//! one, and equal workloads give equal plans.
//!
//! Decision: docs/decisions/0163-tables-look-full-and-are-empty-when-plans-are-made.md

use std::fmt::Write;

/// How large a table is to look.
#[derive(Clone, PartialEq, Debug)]
pub struct TableSize {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// What is known of its columns; the planner guesses at the others.
    pub columns: Vec<ColumnSpread>,
}

/// How the values of a column repeat.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnSpread {
    /// The column.
    pub column: String,
    /// How many different values it has; the planner takes each for as frequent as any other.
    pub distinct: u64,
    /// The share of rows without a value, 0 to 1.
    pub null_fraction: f64,
}

/// What the planner is told, whatever the server is configured to.
///
/// - `plan_cache_mode`: plans for any values of the parameters, since SPADE tunes procedures and not calls.
/// - `enable_seqscan`: whether a small table is better read whole is a matter of pages, which a main-memory store does not
///   have; a read by key costs the same in tables of any size. Without an index the planner still reads the whole table,
///   at a cost of 10^10 more.
/// - `seq_page_cost`, `random_page_cost`: reading a page costs nothing where all of them are in memory.
/// - the others: their defaults, and nothing that depends on the machine.
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

/// What the planner is told for statements that look at whole tables, whatever these are stored in: an order
/// that an index would give is not to be had from a hash table, and memory is there for all groups.
pub(crate) const WHOLE_TABLES: &str = "\
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET work_mem = '64GB';
";

/// Two functions of the session: the size of a table, and the spread of a column.
///
/// The one row has no values. So that it can be there, columns may be null for a moment.
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

/// The script that makes tables look as large as they are to be, and sets the planner.
pub(crate) fn script(sizes: &[TableSize]) -> String {
    // No notices of what is not there yet.
    let mut script =
        format!("SET client_min_messages = warning;\n{SETTINGS}{FUNCTIONS}\\o /dev/null\n");
    for size in sizes {
        let table = literal(&identifier(&size.table));
        // Writing to a string does not fail.
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

/// A name in quotes, as it is stored.
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
