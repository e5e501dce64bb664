//! Whether a procedure inserts into or deletes from a table.

use crate::catalog::Catalog;
use crate::procedure::{Body, Over, Procedure, Sql, Statement, StatementKind};
use crate::query::Query;

impl Procedure {
    /// Whether it has an `INSERT` into the table at this position of the catalog.
    pub fn inserts_into(&self, table: usize) -> bool {
        self.has_query(&|query| matches!(query, Query::Insert(insert) if insert.table == table))
    }

    /// Whether it has a `DELETE` from the table of a catalog, or from one whose rows do not go
    /// without those of the table that reference them.
    pub fn deletes_from(&self, catalog: &Catalog, table: usize) -> bool {
        let reaches = |from: usize| catalog.deleted_with(from).contains(&table);
        self.has_query(&|query| matches!(query, Query::Delete(delete) if reaches(delete.table)))
    }

    /// Whether `test` holds for one of its statements, however deeply nested. Sub-selects change
    /// nothing.
    fn has_query(&self, test: &dyn Fn(&Query) -> bool) -> bool {
        match &self.body {
            Body::Block(block) => any(&block.statements, test),
            Body::Statements { statements, .. } => statements.iter().any(|sql| test(&sql.query)),
        }
    }
}

fn any(statements: &[Statement], test: &dyn Fn(&Query) -> bool) -> bool {
    let is_one = |sql: &Sql| test(&sql.query);
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Sql { sql, .. }
        | StatementKind::Perform(sql)
        | StatementKind::ReturnQuery(sql, _) => is_one(sql),
        StatementKind::Block(block) => any(&block.statements, test),
        StatementKind::Called(called) => any(&called.block.statements, test),
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, statements)| any(statements, test)) || any(otherwise, test)
        }
        StatementKind::Case { branches, otherwise, .. } => {
            let mut all = branches.iter().map(|(_, statements)| statements).chain(otherwise);
            all.any(|statements| any(statements, test))
        }
        StatementKind::Loop { over, body, .. } => {
            matches!(over, Over::Rows { sql, .. } if is_one(sql)) || any(body, test)
        }
        StatementKind::Protected(protected) => {
            protected.parts().any(|statements| any(statements, test))
        }
        StatementKind::Assign { .. }
        | StatementKind::Leave { .. }
        | StatementKind::Return(_)
        | StatementKind::ReturnNext(_)
        | StatementKind::Raise(_)
        | StatementKind::Reraise
        | StatementKind::RollBack
        | StatementKind::Execute(..)
        | StatementKind::ReturnExecute(..)
        | StatementKind::Cursor(_)
        | StatementKind::GetRowCount(_)
        | StatementKind::GetDiagnostics(_)
        | StatementKind::Nothing => false,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Program, Source};

    const SCHEMA: &str =
        "CREATE TABLE a (id integer PRIMARY KEY); CREATE TABLE b (id integer PRIMARY KEY);";

    /// The changes of a procedure with this body: `+a` for an INSERT into `a`, `-b` for a DELETE
    /// from `b`.
    fn changes(body: &str) -> String {
        let text = format!("CREATE FUNCTION f(n integer) RETURNS SETOF integer {body};");
        let sources = [Source::new("schema.sql", SCHEMA), Source::new("procedures.sql", &text)];
        let program = Program::parse(&sources[0], &sources[1]);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        let (procedure, mut found) = (&program.procedures[0], Vec::new());
        for (table, name) in ["a", "b"].iter().enumerate() {
            found.extend(procedure.inserts_into(table).then(|| format!("+{name}")));
            found.extend(
                procedure.deletes_from(&program.catalog, table).then(|| format!("-{name}")),
            );
        }
        found.join(" ")
    }

    #[test]
    fn statements_are_found_wherever_they_stand() {
        let sql = |text: &str| changes(&format!("LANGUAGE sql AS $$ {text} $$"));
        let block =
            |text: &str| changes(&format!("LANGUAGE plpgsql AS $$ BEGIN {text} RETURN; END $$"));
        assert_eq!(sql("SELECT id FROM a WHERE id = n"), "");
        assert_eq!(
            sql("DELETE FROM a WHERE id = n; INSERT INTO b VALUES (n) RETURNING id"),
            "-a +b"
        );
        assert_eq!(block("UPDATE a SET id = 2 WHERE id = n;"), "");
        assert_eq!(block("INSERT INTO a SELECT id FROM b;"), "+a");
        assert_eq!(block("BEGIN DELETE FROM b; END;"), "-b");
        assert_eq!(
            block("IF n = 1 THEN INSERT INTO a VALUES (n); ELSE DELETE FROM b; END IF;"),
            "+a -b"
        );
        assert_eq!(
            block("CASE n WHEN 1 THEN NULL; ELSE INSERT INTO b VALUES (n); END CASE;"),
            "+b"
        );
        assert_eq!(block("FOR i IN 1..n LOOP INSERT INTO a VALUES (i); END LOOP;"), "+a");
        assert_eq!(block("RETURN QUERY SELECT id FROM a;"), "");
    }

    #[test]
    fn rows_that_go_with_deleted_ones_are_deletes_of_their_table() {
        let schema = "CREATE TABLE a (id integer PRIMARY KEY);
            CREATE TABLE b (id integer PRIMARY KEY REFERENCES a ON DELETE CASCADE);
            CREATE TABLE c (id integer PRIMARY KEY REFERENCES b ON DELETE CASCADE);
            CREATE TABLE d (id integer PRIMARY KEY, a integer REFERENCES a ON DELETE SET NULL);";
        let text =
            "CREATE PROCEDURE f(n integer) LANGUAGE sql AS $$ DELETE FROM a WHERE id = n $$;";
        let sources = [Source::new("schema.sql", schema), Source::new("procedures.sql", text)];
        let program = Program::parse(&sources[0], &sources[1]).expect("it is valid");
        let deletes = |table| program.procedures[0].deletes_from(&program.catalog, table);
        assert_eq!([0, 1, 2, 3].map(deletes), [true, true, true, false]);
    }
}
