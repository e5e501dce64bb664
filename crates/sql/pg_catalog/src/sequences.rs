//! Sequences: their rows, and the row that each one is as a relation.

use crate::evaluate::{Layout, LayoutColumn};
use crate::fill::{Filler, OWNER, Row, default_oid, drawn, has_default, namespace, text};
use crate::types::{BOOL, INT8};
use crate::world::World;
use sql::namespace::own_name;
use sql_session::{Secured, SequenceFacts, SqlError, oid};
use sql_value::Value;

/// Numbers of the sequences of columns begin here; each table has a range of its own.
const COLUMN_OIDS: i64 = 3 << 30;
const COLUMNS_MAX: i64 = 2_048;
const PG_CLASS: i64 = 1259;
const PG_ATTRDEF: i64 = 2604;

/// The state of a sequence: the last value, and whether it was drawn.
pub type SequenceState = (i64, bool);

/// The number of a sequence.
pub(crate) fn oid_of(sequence: &SequenceFacts) -> i64 {
    match (sequence.oid, sequence.owner) {
        (Some(oid), _) => oid,
        (None, Some((table, column))) => {
            COLUMN_OIDS + (table - 16_384) * COLUMNS_MAX + column.min(COLUMNS_MAX - 1)
        }
        (None, None) => 0,
    }
}

impl World {
    pub(crate) fn sequence(&self, oid: i64) -> Option<&SequenceFacts> {
        self.sequences.iter().find(|one| oid_of(one) == oid)
    }

    pub(crate) fn sequence_named(&self, name: &str) -> Option<&SequenceFacts> {
        self.sequences.iter().find(|one| one.name == name)
    }

    /// The only row of a sequence.
    ///
    /// # Errors
    /// The role may not read it.
    pub(crate) fn sequence_row(&self, name: &str) -> Result<Row, SqlError> {
        let readable = self
            .catalog
            .as_ref()
            .map(|catalog| catalog.has_privilege(self.role, Secured::Sequence(name), "SELECT"));
        if !matches!(readable, None | Some(Ok(Some(true)))) {
            let message = format!("permission denied for sequence {}", own_name(name));
            return Err(SqlError::new("42501", message));
        }
        let (last, is_called) = self.sequence_states.get(name).copied().unwrap_or((1, false));
        Ok(vec![Value::Int(last), Value::Int(0), Value::Bool(is_called)])
    }
}

/// The columns of a sequence.
pub(crate) fn layout(source: &str) -> Layout {
    let column = |(name, oid): (&str, u32)| LayoutColumn {
        source: source.to_owned(),
        name: name.to_owned(),
        oid,
        is_hidden: false,
    };
    let columns = [("last_value", INT8), ("log_cnt", INT8), ("is_called", BOOL)];
    Layout { columns: columns.into_iter().map(column).collect() }
}

impl Filler<'_> {
    pub(crate) fn sequence_classes(&self) -> impl Iterator<Item = Row> + '_ {
        self.world.sequences.iter().map(|sequence| {
            let owner = self
                .world
                .catalog
                .as_ref()
                .map_or(OWNER, |catalog| catalog.owner(Secured::Sequence(&sequence.name)));
            self.row(&[
                ("oid", Value::Int(oid_of(sequence))),
                ("relname", text(&sequence.name)),
                ("relnamespace", namespace(&sequence.name)),
                ("relkind", text("S")),
                ("relowner", Value::Int(owner)),
                ("relacl", self.world.grants(Secured::Sequence(&sequence.name))),
                ("relpages", Value::Int(1)),
                ("reltuples", Value::Float(1.0)),
                ("relnatts", Value::Int(3)),
                ("relpersistence", text("p")),
                ("relreplident", text("n")),
                ("relispopulated", Value::Bool(true)),
            ])
        })
    }

    pub(crate) fn sequences(&self) -> Vec<Row> {
        let row = |sequence: &SequenceFacts| {
            let most = match sequence.sql_type.base() {
                sql::SqlType::Int2 => i64::from(i16::MAX),
                sql::SqlType::Int4 => i64::from(i32::MAX),
                _ => i64::MAX,
            };
            self.row(&[
                ("seqrelid", Value::Int(oid_of(sequence))),
                ("seqtypid", Value::Int(i64::from(oid::of_type(&sequence.sql_type)))),
                ("seqstart", Value::Int(sequence.start)),
                ("seqincrement", Value::Int(1)),
                ("seqmax", Value::Int(most)),
                ("seqmin", Value::Int(1)),
                ("seqcache", Value::Int(1)),
                ("seqcycle", Value::Bool(false)),
            ])
        };
        self.world.sequences.iter().map(row).collect()
    }

    /// The dependencies of sequences, of defaults that draw from them, and of views.
    pub(crate) fn dependencies(&self) -> Vec<Row> {
        let row = |(class, object): (i64, i64), (of, column): (i64, i64), kind: &str| {
            self.row(&[
                ("classid", Value::Int(class)),
                ("objid", Value::Int(object)),
                ("refclassid", Value::Int(PG_CLASS)),
                ("refobjid", Value::Int(of)),
                ("refobjsubid", Value::Int(column)),
                ("deptype", text(kind)),
            ])
        };
        let mut rows = Vec::new();
        for sequence in &self.world.sequences {
            if let Some((table, column)) = sequence.owner {
                let kind = if sequence.is_identity { "i" } else { "a" };
                rows.push(row((PG_CLASS, oid_of(sequence)), (table, column), kind));
            }
        }
        for table in &self.world.tables {
            for (at, column) in table.table.visible().iter().enumerate() {
                let default = column.default.as_ref().filter(|_| has_default(column));
                let sequence = default.and_then(drawn);
                if let Some(of) = sequence.and_then(|name| self.world.sequence_named(&name)) {
                    let default = (PG_ATTRDEF, default_oid(table.oid, at));
                    rows.push(row(default, (oid_of(of), 0), "n"));
                }
            }
        }
        for view in &self.world.views {
            let mut tables: Vec<usize> = view.view.reads().into_iter().map(|(at, _)| at).collect();
            tables.dedup();
            let tables = tables.into_iter().filter_map(|at| self.world.tables.get(at));
            rows.extend(tables.map(|table| row((PG_CLASS, view.oid), (table.oid, 0), "n")));
            let views =
                self.world.views.iter().filter(|one| view.view.views.contains(&one.view.name));
            rows.extend(views.map(|other| row((PG_CLASS, view.oid), (other.oid, 0), "n")));
        }
        rows
    }
}
