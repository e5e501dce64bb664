//! Names and columns of PostgreSQL 15's relations. `data/relations.txt` has a line for each: its
//! name, number, kind and columns with the numbers of their types.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const RELATIONS: &str = include_str!("../data/relations.txt");

/// A relation of the catalog.
#[derive(Debug)]
pub struct Relation {
    pub schema: &'static str,
    pub name: &'static str,
    /// 0 for relations of `information_schema`.
    pub oid: i64,
    /// `r` for tables, `v` for views.
    pub kind: &'static str,
    /// Columns with the numbers of their types.
    pub columns: Vec<(String, u32)>,
}

/// All relations.
pub fn all() -> &'static [Relation] {
    static ALL: OnceLock<Vec<Relation>> = OnceLock::new();
    ALL.get_or_init(|| RELATIONS.lines().map(parse).collect())
}

fn parse(line: &'static str) -> Relation {
    let mut words = line.split(' ');
    let mut word = || words.next().expect("a line has a name, a number and a kind");
    let (schema, name) = word().split_once('.').expect("names have a schema");
    let oid = word().parse().expect("it is a number");
    let kind = word();
    let column = |word: &str| {
        let (name, oid) = word.rsplit_once(':').expect("a column has a type");
        (name.to_owned(), oid.parse().expect("it is a number"))
    };
    Relation { schema, name, oid, kind, columns: words.map(column).collect() }
}

/// The relation with this name; without a schema, one of `pg_catalog`.
pub fn find(schema: Option<&str>, name: &str) -> Option<&'static Relation> {
    static NAMES: OnceLock<BTreeMap<(&str, &str), usize>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = all().iter().enumerate();
        named.map(|(at, relation)| ((relation.schema, relation.name), at)).collect()
    });
    names.get(&(schema.unwrap_or("pg_catalog"), name)).map(|at| &all()[*at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_have_their_numbers_and_columns() {
        let class = find(None, "pg_class").expect("it is there");
        assert_eq!((class.oid, class.kind), (1259, "r"));
        assert_eq!(class.columns[1], ("relname".to_owned(), 19));
        assert!(find(Some("information_schema"), "tables").is_some());
        assert!(find(None, "tables").is_none() && find(Some("public"), "pg_class").is_none());
        assert!(all().len() > 200);
    }
}
