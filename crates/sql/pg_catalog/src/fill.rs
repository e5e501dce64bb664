//! Rows of the relations. Those without rows here are empty.

mod information_schema;

use crate::comments::Description;
use crate::names::relation_oid;
use crate::relations::{self, Relation};
use crate::roles::DATABASE_OWNER;
use crate::world::{TableInfo, ViewInfo, World};
use procedure::table_expression;
use sql::Table;
use sql::catalog::{Identity, ReferentialAction, TableColumn};
use sql::expression::{Expr, ExprKind};
use sql::function::Function;
use sql::namespace::{is_marked, schema_of, unpinned_name, without_schemas};
use sql_session::{CatalogSnapshot, Secured, oid};
use sql_value::Value;
use std::sync::OnceLock;

const TYPES: &str = include_str!("../data/types.txt");

/// Number of the schema `pg_catalog`.
pub const PG_CATALOG: i64 = 11;
/// Number of the schema `public`.
pub const PUBLIC: i64 = 2200;
/// Number of the schema `information_schema`.
pub const INFORMATION_SCHEMA: i64 = 13_000;
/// The role that owns the database.
pub const OWNER: i64 = 10;
/// Number of the database.
const DATABASE: i64 = 5;
const HEAP: i64 = 2;
const BTREE: i64 = 403;
const HASH: i64 = 405;
/// The database's collation.
const DEFAULT_COLLATION: i64 = 100;

pub(crate) type Row = Vec<Value>;

/// The rows of a relation.
pub fn rows(relation: &Relation, world: &World) -> Vec<Row> {
    let filler = Filler { relation, world };
    match (relation.schema, relation.name) {
        ("pg_catalog", "pg_namespace") => filler.namespaces(),
        ("pg_catalog", "pg_class") => filler.classes(),
        ("pg_catalog", "pg_attribute") => filler.attributes(),
        ("pg_catalog", "pg_attrdef") => filler.defaults(),
        ("pg_catalog", "pg_index") => filler.indexes(),
        ("pg_catalog", "pg_constraint") => filler.constraints(),
        ("pg_catalog", "pg_type") => filler.all_types(),
        ("pg_catalog", "pg_enum") => filler.enum_labels(),
        ("pg_catalog", "pg_sequence") => filler.sequences(),
        ("pg_catalog", "pg_depend") => filler.dependencies(),
        ("pg_catalog", "pg_proc") => filler.routines(),
        ("pg_catalog", "pg_language") => filler.languages(),
        ("pg_catalog", "pg_description") => filler.descriptions(),
        ("pg_catalog", "pg_am") => filler.access_methods(),
        ("pg_catalog", "pg_collation") => filler.collations(),
        ("pg_catalog", "pg_database") => filler.databases(),
        ("pg_catalog", "pg_roles" | "pg_authid" | "pg_user" | "pg_shadow") => filler.roles(),
        ("pg_catalog", "pg_auth_members") => filler.role_members(),
        ("pg_catalog", "pg_tablespace") => filler.tablespaces(),
        ("pg_catalog", "pg_settings") => filler.settings(),
        ("pg_catalog", "pg_tables") => filler.tables(),
        ("pg_catalog", "pg_stats") => filler.statistics(),
        ("pg_catalog", "pg_views") => filler.views(),
        ("information_schema", "views") => filler.schema_views(),
        ("pg_catalog", "pg_indexes") => filler.index_texts(),
        ("information_schema", "tables") => filler.schema_tables(),
        ("information_schema", "columns") => filler.schema_columns(),
        ("information_schema", "table_privileges" | "role_table_grants") => {
            filler.table_privileges()
        }
        ("information_schema", "schemata") => filler.schemata(),
        ("information_schema", "table_constraints") => filler.table_constraints(),
        ("information_schema", "key_column_usage") => filler.key_columns(),
        _ => Vec::new(),
    }
}

pub(crate) fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref())
}

/// The number of an object's schema.
pub(crate) fn namespace(full: &str) -> Value {
    Value::Int(schema_of(full))
}

/// A value without the schema of a full name.
fn without_schema(value: &Value) -> Value {
    match value {
        Value::Text(name) if is_marked(name) => text(without_schemas(name)),
        value => value.clone(),
    }
}

fn integers(numbers: impl Iterator<Item = i64>) -> Value {
    Value::Array(numbers.map(Value::Int).collect())
}

/// The rows of `pg_type`, from `data/types.txt`.
pub(crate) fn types() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let relation = relations::find(None, "pg_type").expect("it is in the list");
        let parse = |line: &str| {
            let fields = line.split('\t').map(Some).chain(std::iter::repeat(None));
            let cells = relation.columns.iter().zip(fields);
            cells
                .map(|((_, oid), field)| field.map_or(Value::Null, |field| cell(field, *oid)))
                .collect()
        };
        TYPES.lines().map(parse).collect()
    })
}

/// A value of a data file.
fn cell(field: &str, oid: u32) -> Value {
    match oid {
        16 => Value::Bool(field == "t"),
        20 | 21 | 23 | 26 => Value::Int(field.parse().expect("the file has numbers there")),
        _ => text(field),
    }
}

pub(crate) struct Filler<'w> {
    pub relation: &'w Relation,
    pub world: &'w World,
}

impl Filler<'_> {
    /// A row with these values. Other columns are false, zero, or null for lists and long texts;
    /// owners are the owner of the database; in `information_schema` they are null.
    pub fn row(&self, values: &[(&str, Value)]) -> Row {
        let fill = |(name, oid): &(String, u32)| {
            let oid = if self.relation.schema == "information_schema" { &0 } else { oid };
            let given = values.iter().find(|(own, _)| own == name);
            given.map(|(_, value)| without_schema(value)).unwrap_or_else(|| match oid {
                16 => Value::Bool(false),
                26 if name.ends_with("owner") => Value::Int(OWNER),
                20 | 21 | 23 | 26 => Value::Int(0),
                700 | 701 => Value::Float(0.0),
                18 | 19 => text(""),
                24 => text("-"),
                _ => Value::Null,
            })
        };
        debug_assert!(
            values.iter().all(|(name, _)| self.relation.columns.iter().any(|(own, _)| own == name)),
            "all names are columns of {}",
            self.relation.name
        );
        self.relation.columns.iter().map(fill).collect()
    }

    /// The name of an object's schema.
    pub(crate) fn schema(&self, full: &str) -> Value {
        text(self.world.schema_of(full))
    }

    /// Changes a value of a row.
    fn set(&self, row: &mut Row, column: &str, value: Value) {
        if let Some(at) = self.relation.columns.iter().position(|(name, _)| name == column) {
            row[at] = value;
        }
    }

    fn namespaces(&self) -> Vec<Row> {
        let of_system = [(PG_CATALOG, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")];
        let row = |(oid, name): (i64, &str)| {
            let is_of_user = !matches!(oid, PG_CATALOG | INFORMATION_SCHEMA);
            let grants = is_of_user.then(|| self.world.grants(Secured::Schema(oid)));
            self.row(&[
                ("oid", Value::Int(oid)),
                ("nspname", text(name)),
                ("nspowner", Value::Int(self.schema_owner(oid))),
                ("nspacl", grants.unwrap_or(Value::Null)),
            ])
        };
        of_system.into_iter().chain(self.world.schemas.iter()).map(row).collect()
    }

    /// As in PostgreSQL, `public` is of the role of all owners of databases at first.
    pub(crate) fn schema_owner(&self, oid: i64) -> i64 {
        let owner = |catalog: &CatalogSnapshot| catalog.owner(Secured::Schema(oid));
        match (oid, self.world.catalog.as_ref().map_or(OWNER, owner)) {
            (PUBLIC, OWNER) => DATABASE_OWNER.0,
            (_, owner) => owner,
        }
    }

    fn classes(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for relation in relations::all() {
            let is_catalog = relation.schema == "pg_catalog";
            rows.push(self.row(&[
                ("oid", Value::Int(relation_oid(relation))),
                ("relname", text(relation.name)),
                (
                    "relnamespace",
                    Value::Int(if is_catalog { PG_CATALOG } else { INFORMATION_SCHEMA }),
                ),
                ("relkind", text(relation.kind)),
                ("relowner", Value::Int(OWNER)),
                ("relam", Value::Int(if relation.kind == "r" { HEAP } else { 0 })),
                ("relnatts", Value::Int(relation.columns.len() as i64)),
                ("relpersistence", text("p")),
                ("relreplident", text("n")),
                ("relispopulated", Value::Bool(true)),
            ]));
        }
        for table in &self.world.tables {
            rows.push(self.table_class(table));
            for index in table.indexes() {
                rows.push(self.row(&[
                    ("oid", Value::Int(index.oid)),
                    ("relname", text(index.name)),
                    ("relnamespace", namespace(index.name)),
                    ("relkind", text("i")),
                    ("relowner", Value::Int(self.world.owner(table.oid))),
                    ("relam", Value::Int(if index.is_hash { HASH } else { BTREE })),
                    ("relnatts", Value::Int(index.columns.len() as i64)),
                    ("relpersistence", text("p")),
                    ("relreplident", text("n")),
                    ("relispopulated", Value::Bool(true)),
                ]));
            }
        }
        rows.extend(self.sequence_classes());
        rows.extend(self.world.views.iter().map(|view| self.view_class(view)));
        rows
    }

    fn view_class(&self, view: &ViewInfo) -> Row {
        self.row(&[
            ("oid", Value::Int(view.oid)),
            ("relname", text(&view.view.name)),
            ("relnamespace", namespace(&view.view.name)),
            ("relkind", text("v")),
            ("relowner", Value::Int(self.world.owner(view.oid))),
            ("relacl", self.world.grants(Secured::Relation(view.oid))),
            ("reltuples", Value::Float(-1.0)),
            ("relnatts", Value::Int(view.view.columns.len() as i64)),
            ("relhasrules", Value::Bool(true)),
            ("relpersistence", text("p")),
            ("relreplident", text("n")),
            ("relispopulated", Value::Bool(true)),
        ])
    }

    fn table_class(&self, table: &TableInfo) -> Row {
        let is_referenced = || {
            let mut keys = self.world.tables.iter().flat_map(|other| &other.table.foreign_keys);
            keys.any(|key| self.world.tables.get(key.table).is_some_and(|to| to.oid == table.oid))
        };
        let has_triggers = !table.table.foreign_keys.is_empty() || is_referenced();
        self.row(&[
            ("oid", Value::Int(table.oid)),
            ("relname", text(&table.table.name)),
            ("relnamespace", namespace(&table.table.name)),
            ("relkind", text("r")),
            ("relowner", Value::Int(self.world.owner(table.oid))),
            ("relacl", self.world.grants(Secured::Relation(table.oid))),
            ("relam", Value::Int(HEAP)),
            ("reltuples", Value::Float(table.statistics.rows.unwrap_or(-1.0))),
            ("relnatts", Value::Int(table.table.visible().len() as i64)),
            ("relchecks", Value::Int(table.table.checks.len() as i64)),
            ("relhasindex", Value::Bool(!table.indexes().is_empty())),
            ("relhastriggers", Value::Bool(has_triggers)),
            ("relpersistence", text("p")),
            ("relreplident", text("d")),
            ("relispopulated", Value::Bool(true)),
        ])
    }

    fn attributes(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for relation in relations::all() {
            for (at, (name, oid)) in relation.columns.iter().enumerate() {
                let owner = relation_oid(relation);
                rows.push(self.attribute(owner, at, name, (i64::from(*oid), -1), (false, false)));
            }
        }
        for table in &self.world.tables {
            let columns = &table.table.columns;
            for (at, column) in table.table.visible().iter().enumerate() {
                let sql_type =
                    (i64::from(oid::of_type(&column.sql_type)), oid::modifier(&column.sql_type));
                let facts = (!column.nullable, has_default(column));
                let mut row = self.attribute(table.oid, at, &column.name, sql_type, facts);
                if let Some(identity) = column.identity {
                    let form = if identity == Identity::Always { "a" } else { "d" };
                    self.set(&mut row, "attidentity", text(form));
                }
                rows.push(row);
            }
            for index in table.indexes() {
                let mut names: Vec<String> = Vec::new();
                for (at, &position) in index.columns.iter().enumerate() {
                    let Some(column) = columns.get(position) else { continue };
                    let own = match table.table.expression(position) {
                        None => column.name.clone(),
                        Some(value) => called(value).to_owned(),
                    };
                    let numbered = (1..).map(|number| format!("{own}{number}"));
                    let mut wanted = std::iter::once(own.clone()).chain(numbered);
                    names.extend(wanted.find(|name| !names.contains(name)));
                    let sql_type = (
                        i64::from(oid::of_type(&column.sql_type)),
                        oid::modifier(&column.sql_type),
                    );
                    rows.push(self.attribute(index.oid, at, &names[at], sql_type, (false, false)));
                }
            }
        }
        for view in &self.world.views {
            for (at, column) in view.view.columns.iter().enumerate() {
                let sql_type =
                    (i64::from(oid::of_type(&column.sql_type)), oid::modifier(&column.sql_type));
                rows.push(self.attribute(view.oid, at, &column.name, sql_type, (false, false)));
            }
        }
        rows
    }

    /// `of_type` is type and modifier, `facts` are not null and default.
    fn attribute(
        &self,
        relation: i64,
        at: usize,
        name: &str,
        of_type: (i64, i32),
        facts: (bool, bool),
    ) -> Row {
        let own = self.world.enum_types(of_type.0);
        let kind = types().iter().chain(&own).find(|row| row[0] == Value::Int(of_type.0));
        let of_kind = |column: &str, default: Value| {
            let pg_type = relations::find(None, "pg_type").expect("it is in the list");
            let at = pg_type.columns.iter().position(|(name, _)| name == column);
            kind.zip(at).map_or(default, |(row, at)| row[at].clone())
        };
        self.row(&[
            ("attrelid", Value::Int(relation)),
            ("attname", text(name)),
            ("atttypid", Value::Int(of_type.0)),
            ("attstattarget", Value::Int(-1)),
            ("attlen", of_kind("typlen", Value::Int(-1))),
            ("attnum", Value::Int(at as i64 + 1)),
            ("attcacheoff", Value::Int(-1)),
            ("atttypmod", Value::Int(i64::from(of_type.1))),
            ("attbyval", of_kind("typbyval", Value::Bool(false))),
            ("attalign", of_kind("typalign", text("i"))),
            ("attstorage", of_kind("typstorage", text("p"))),
            ("attnotnull", Value::Bool(facts.0)),
            ("atthasdef", Value::Bool(facts.1)),
            ("attislocal", Value::Bool(true)),
            ("attcollation", of_kind("typcollation", Value::Int(0))),
        ])
    }

    fn descriptions(&self) -> Vec<Row> {
        let row = |one: Description<'_>| {
            self.row(&[
                ("objoid", Value::Int(one.object)),
                ("classoid", Value::Int(one.class)),
                ("objsubid", Value::Int(one.column)),
                ("description", text(one.text)),
            ])
        };
        self.world.descriptions().into_iter().map(row).collect()
    }

    fn defaults(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for (at, column) in table.table.visible().iter().enumerate() {
                if let Some(default) = column.default.as_ref().filter(|_| has_default(column)) {
                    let printed = default_text(
                        self.world,
                        &table.table,
                        default,
                        &column.sql_type.base().name(),
                    );
                    rows.push(self.row(&[
                        ("oid", Value::Int(default_oid(table.oid, at))),
                        ("adrelid", Value::Int(table.oid)),
                        ("adnum", Value::Int(at as i64 + 1)),
                        ("adbin", text(printed)),
                    ]));
                }
            }
        }
        rows
    }

    fn indexes(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for index in table.indexes() {
                let zeros = || integers(index.columns.iter().map(|_| 0));
                // Expressions have no number.
                let number = |at: usize| match table.table.expression(at) {
                    Some(_) => 0,
                    None => at as i64 + 1,
                };
                let predicate =
                    index.predicate.map(|value| self.world.predicate(&table.table, value, false));
                let expressions = self.world.index_expressions(&table.table, index.columns);
                rows.push(self.row(&[
                    ("indexrelid", Value::Int(index.oid)),
                    ("indrelid", Value::Int(table.oid)),
                    ("indnatts", Value::Int(index.columns.len() as i64)),
                    ("indnkeyatts", Value::Int(index.columns.len() as i64)),
                    ("indisunique", Value::Bool(index.is_unique)),
                    ("indisprimary", Value::Bool(index.is_primary)),
                    ("indimmediate", Value::Bool(true)),
                    ("indisvalid", Value::Bool(true)),
                    ("indisready", Value::Bool(true)),
                    ("indislive", Value::Bool(true)),
                    ("indkey", integers(index.columns.iter().map(|&at| number(at)))),
                    ("indexprs", expressions.map_or(Value::Null, text)),
                    ("indpred", predicate.map_or(Value::Null, text)),
                    ("indcollation", zeros()),
                    ("indclass", zeros()),
                    ("indoption", zeros()),
                ]));
            }
        }
        rows
    }

    fn constraints(&self) -> Vec<Row> {
        let numbers = |columns: &[usize]| integers(columns.iter().map(|at| *at as i64 + 1));
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for constraint in table.constraints() {
                let other = constraint.foreign_key.as_ref();
                let referenced = other.map_or(0, |key| self.world.tables[key.table].oid);
                // A foreign key has the index of the key that it refers to.
                let index = match other {
                    Some(key) => self.world.tables[key.table].unique_index(&key.references),
                    None => constraint.index,
                };
                let action = |action: Option<&ReferentialAction>| text(action.map_or(" ", letter));
                let set = other.and_then(|key| match &key.on_delete {
                    ReferentialAction::SetNull(set) | ReferentialAction::SetDefault(set) => {
                        Some(set).filter(|set| **set != key.columns)
                    }
                    _ => None,
                });
                rows.push(self.row(&[
                    ("oid", Value::Int(constraint.oid)),
                    ("conname", text(&constraint.name)),
                    ("connamespace", namespace(&table.table.name)),
                    ("contype", text(constraint.kind)),
                    ("convalidated", Value::Bool(true)),
                    ("conrelid", Value::Int(table.oid)),
                    ("conindid", Value::Int(index)),
                    ("confrelid", Value::Int(referenced)),
                    ("confupdtype", action(other.map(|key| &key.on_update))),
                    ("confdeltype", action(other.map(|key| &key.on_delete))),
                    ("confdelsetcols", set.map_or(Value::Null, |set| numbers(set))),
                    ("confmatchtype", text(if other.is_some() { "s" } else { " " })),
                    ("conislocal", Value::Bool(true)),
                    ("conkey", numbers(&constraint.columns)),
                    ("confkey", other.map_or(Value::Null, |key| numbers(&key.references))),
                ]));
            }
        }
        rows
    }

    fn access_methods(&self) -> Vec<Row> {
        let methods = [(HEAP, "heap", "t"), (BTREE, "btree", "i"), (HASH, "hash", "i")];
        let row = |(oid, name, kind): (i64, &str, &str)| {
            self.row(&[("oid", Value::Int(oid)), ("amname", text(name)), ("amtype", text(kind))])
        };
        methods.into_iter().map(row).collect()
    }

    fn collations(&self) -> Vec<Row> {
        let row = |(oid, name): (i64, &str)| {
            self.row(&[
                ("oid", Value::Int(oid)),
                ("collname", text(name)),
                ("collnamespace", Value::Int(PG_CATALOG)),
                ("collprovider", text(if oid == DEFAULT_COLLATION { "d" } else { "c" })),
                ("collisdeterministic", Value::Bool(true)),
                ("collencoding", Value::Int(-1)),
            ])
        };
        [(DEFAULT_COLLATION, "default"), (950, "C"), (951, "POSIX")].into_iter().map(row).collect()
    }

    fn databases(&self) -> Vec<Row> {
        vec![self.row(&[
            ("oid", Value::Int(DATABASE)),
            ("datname", text(&self.world.database)),
            ("datdba", Value::Int(OWNER)),
            ("datacl", self.world.grants(Secured::Database)),
            ("encoding", Value::Int(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int(-1)),
            ("dattablespace", Value::Int(1663)),
            ("datcollate", text("C")),
            ("datctype", text("C.UTF-8")),
        ])]
    }

    fn tablespaces(&self) -> Vec<Row> {
        let row = |(oid, name): (i64, &str)| {
            self.row(&[
                ("oid", Value::Int(oid)),
                ("spcname", text(name)),
                ("spcowner", Value::Int(OWNER)),
            ])
        };
        [(1663, "pg_default"), (1664, "pg_global")].into_iter().map(row).collect()
    }

    fn settings(&self) -> Vec<Row> {
        let row = |(name, value): &(String, String)| {
            self.row(&[
                ("name", text(name)),
                ("setting", text(value)),
                ("context", text("user")),
                ("vartype", text("string")),
                ("source", text("default")),
                ("boot_val", text(value)),
                ("reset_val", text(value)),
            ])
        };
        self.world.settings.iter().map(row).collect()
    }

    fn tables(&self) -> Vec<Row> {
        let row = |table: &TableInfo| {
            self.row(&[
                ("schemaname", self.schema(&table.table.name)),
                ("tablename", text(&table.table.name)),
                (
                    "tableowner",
                    text(self.world.role_name(self.world.owner(table.oid)).unwrap_or_default()),
                ),
                ("hasindexes", Value::Bool(!table.indexes().is_empty())),
            ])
        };
        self.world.tables.iter().map(row).collect()
    }

    fn index_texts(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for index in table.indexes() {
                let definition = self.world.index_definition(index.oid, false).unwrap_or_default();
                rows.push(self.row(&[
                    ("schemaname", self.schema(&table.table.name)),
                    ("tablename", text(&table.table.name)),
                    ("indexname", text(index.name)),
                    ("indexdef", text(definition)),
                ]));
            }
        }
        rows
    }

    fn views(&self) -> Vec<Row> {
        let row = |view: &ViewInfo| {
            self.row(&[
                ("schemaname", self.schema(&view.view.name)),
                ("viewname", text(&view.view.name)),
                (
                    "viewowner",
                    text(self.world.role_name(self.world.owner(view.oid)).unwrap_or_default()),
                ),
                ("definition", text(format!("{};", view.query))),
            ])
        };
        self.world.views.iter().map(row).collect()
    }
}

/// The number of a column's default.
pub(crate) fn default_oid(table: i64, at: usize) -> i64 {
    (1 << 29) + table * 2048 + at as i64
}

/// The sequence that a default draws from.
pub(crate) fn drawn(default: &Expr) -> Option<String> {
    let mut found = None;
    default.visit(&mut |part| {
        if let ExprKind::Function { function: Function::NextValue, arguments } = &part.kind
            && let Some(ExprKind::Text(name)) = arguments.first().map(|argument| &argument.kind)
        {
            found = Some(sequence_name(name));
        }
    });
    found
}

/// The name of an expression among the columns of an index.
fn called(value: &Expr) -> &str {
    match &value.kind {
        ExprKind::Function { function, .. } => function.name(),
        ExprKind::Case { .. } => "case",
        _ => "expr",
    }
}

/// The full name in an argument of `nextval` in a default.
fn sequence_name(written: &str) -> String {
    let name = written.strip_prefix("public.").unwrap_or(written);
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    unpinned_name(inner.filter(|inner| is_marked(inner)).unwrap_or(name))
}

/// Whether a default is shown: that of an identity column is none.
pub(crate) fn has_default(column: &TableColumn) -> bool {
    let default = column.default.as_ref();
    column.identity.is_none()
        && default.is_some_and(|default| !matches!(default.kind, ExprKind::Null))
}

/// A default value as PostgreSQL prints it: a text has its type behind it.
pub(crate) fn default_text(
    world: &World,
    table: &Table,
    default: &Expr,
    type_name: &str,
) -> String {
    let type_name = &*world.shown(type_name);
    let mut literal = default;
    while let ExprKind::Cast { operand, .. } = &literal.kind {
        literal = operand;
    }
    match &literal.kind {
        ExprKind::Text(text) => format!("'{}'::{type_name}", text.replace('\'', "''")),
        ExprKind::Function { function: Function::NextValue, arguments } => {
            let name = arguments.first().map(|argument| &argument.kind);
            let Some(ExprKind::Text(name)) = name else {
                return world.shown(&table_expression(table, default));
            };
            format!(
                "nextval('{}'::regclass)",
                world.qualified(&sequence_name(name)).replace('\'', "''")
            )
        }
        ExprKind::Integer(number) => number.to_string(),
        ExprKind::Number(digits) => digits.clone(),
        _ => world.shown(&table_expression(table, default)),
    }
}

/// The letter of an action in `pg_constraint`.
fn letter(action: &ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull(_) => "n",
        ReferentialAction::SetDefault(_) => "d",
    }
}
