//! Unique secondary indexes. Transactions check them at commit, SQL after each statement: if a key
//! may belong to a row that the same transaction later changes, the procedure is left to the
//! executor.

use crate::body::any;
use crate::chain::Chain;
use crate::function::Function;
use crate::unsupported::Unsupported;
use procedure::node::{Node, Operator, Update};
use sql::procedure::{Body, Over, StatementKind};

impl Function<'_> {
    /// Refuses a change of a table if a unique key that it writes may not be the final one.
    pub fn check_unique(&self, table: usize) -> Result<(), Unsupported> {
        let statements = self.procedure.statements.iter().map(|statement| &statement.root);
        let changes: Vec<&Node> =
            statements.filter(|root| self.changes_unique(root, table)).collect();
        let is_insert = |root: &&Node| matches!(root.operator, Operator::Insert(_));
        let is_once = match changes.as_slice() {
            [Node { operator: Operator::Update(update), .. }] => self.is_once(update),
            changes => changes.iter().all(is_insert),
        };
        match is_once {
            true => Ok(()),
            false => Err(Unsupported::new("a unique key that may change more than once")),
        }
    }

    fn changes_unique(&self, root: &Node, table: usize) -> bool {
        let mut unique = self.table(table).indexes.iter().filter(|index| index.unique);
        match &root.operator {
            Operator::Insert(insert) => insert.table == table && unique.next().is_some(),
            Operator::Delete(delete) => delete.table == table && unique.next().is_some(),
            Operator::Update(update) => {
                let is_assigned =
                    |column: &usize| update.assignments.iter().any(|(of, _)| of == column);
                update.table == table && unique.any(|index| index.columns.iter().any(is_assigned))
            }
            _ => false,
        }
    }

    /// Whether an update changes a single row, and is executed once.
    fn is_once(&self, update: &Update) -> bool {
        let is_single = Chain::of(&update.input).is_some_and(|chain| chain.is_single());
        let Body::Block(block) = &self.procedure.routine.body else { return is_single };
        let has_it = |number: u32| {
            let planned = self.procedure.statements.get(number as usize - 1);
            planned.is_some_and(|planned| {
                matches!(&planned.root.operator, Operator::Update(of) if std::ptr::eq(of, update))
            })
        };
        let is_repeated = any(&block.statements, &|kind| {
            let StatementKind::Loop { body, .. } = kind else { return false };
            any(body, &|inner| match inner {
                StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) => has_it(sql.number),
                StatementKind::Loop { over: Over::Rows { sql, .. }, .. } => has_it(sql.number),
                StatementKind::ReturnQuery(sql, _) => has_it(sql.number),
                _ => false,
            })
        });
        is_single && !is_repeated
    }
}
