//! Comments on the user's objects, as `pg_description` shows them.

use crate::fill::PUBLIC;
use crate::world::World;
use sql::namespace::own_name;
use sql_session::CommentPart;

/// Numbers of the relations whose rows are commented.
const PG_CLASS: i64 = 1259;
const PG_CONSTRAINT: i64 = 2606;
const PG_PROC: i64 = 1255;
const PG_NAMESPACE: i64 = 2615;
const PG_TYPE: i64 = 1247;

/// A row of `pg_description`.
pub(crate) struct Description<'w> {
    pub object: i64,
    pub class: i64,
    /// The position of a column; 0 for the object itself.
    pub column: i64,
    pub text: &'w str,
}

/// Whether there is a comment on an object.
fn comments_on(comments: &[(i64, CommentPart, String)], object: i64) -> bool {
    comments.iter().any(|(of, part, _)| *of == object && *part == CommentPart::Whole)
}

impl World {
    /// The comments on objects that are there.
    pub(crate) fn descriptions(&self) -> Vec<Description<'_>> {
        let comments = self.comments.iter();
        let given = comments.filter_map(|(owner, part, text)| self.description(*owner, part, text));
        // Dumps leave out the comment that every database of PostgreSQL has.
        let (object, class, text) = (PUBLIC, PG_NAMESPACE, "standard public schema");
        let is_given = comments_on(&self.comments, PUBLIC) || self.schemas.lacks_public;
        let standard = Description { object, class, column: 0, text };
        given.chain((!is_given).then_some(standard)).collect()
    }

    fn description<'w>(
        &self,
        owner: i64,
        part: &CommentPart,
        text: &'w str,
    ) -> Option<Description<'w>> {
        let table = self.table(owner);
        let (object, class, column) = match part {
            CommentPart::Whole if self.routines.contains(&owner) => (owner, PG_PROC, 0),
            CommentPart::Whole if self.schemas.name(owner).is_some() => (owner, PG_NAMESPACE, 0),
            CommentPart::Whole if self.types.numbered(owner as u32).is_some() => {
                (owner, PG_TYPE, 0)
            }
            CommentPart::Whole => (owner, PG_CLASS, 0),
            CommentPart::Column(number) => {
                let at = match table {
                    Some(table) => {
                        let mut columns = table.table.visible().iter();
                        columns.position(|column| column.number == *number)? as i64 + 1
                    }
                    None => i64::from(*number),
                };
                (owner, PG_CLASS, at)
            }
            CommentPart::Index(name) => {
                let indexes = table?.indexes();
                (indexes.iter().find(|index| own_name(index.name) == name)?.oid, PG_CLASS, 0)
            }
            CommentPart::Constraint(name) => {
                let constraints = table?.constraints();
                (constraints.iter().find(|one| own_name(&one.name) == name)?.oid, PG_CONSTRAINT, 0)
            }
        };
        Some(Description { object, class, column, text })
    }

    /// The comment on an object, or on a column of it; in any relation, if none is given.
    pub(crate) fn comment(&self, object: i64, class: Option<&str>, column: i64) -> Option<String> {
        let class = match class {
            None => None,
            Some("pg_class") => Some(PG_CLASS),
            Some("pg_constraint") => Some(PG_CONSTRAINT),
            Some("pg_proc") => Some(PG_PROC),
            Some("pg_namespace") => Some(PG_NAMESPACE),
            Some("pg_type") => Some(PG_TYPE),
            Some(_) => return None,
        };
        let is_it = |one: &Description<'_>| {
            one.object == object && one.column == column && class.is_none_or(|own| own == one.class)
        };
        self.descriptions().into_iter().find(is_it).map(|one| one.text.to_owned())
    }
}
