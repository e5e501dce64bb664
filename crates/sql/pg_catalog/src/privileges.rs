//! Owners, grants, and the functions on privileges.

use crate::fill::{self, Filler, OWNER, Row, text};
use crate::functions::namespace_oid;
use crate::names;
use crate::operators::{int_of, text_of};
use crate::roles::role_of;
use crate::world::World;
use sql_session::{Secured, SqlError};
use sql_value::Value;

/// Numbers of user's objects begin here.
const FIRST_OID: i64 = 16_384;

impl World {
    /// The owner of a table or view.
    pub(crate) fn owner(&self, oid: i64) -> i64 {
        self.catalog.as_ref().map_or(OWNER, |catalog| catalog.owner(Secured::Relation(oid)))
    }

    /// The grants of an object; null before the first one.
    pub(crate) fn grants(&self, of: Secured<'_>) -> Value {
        let grants = self.catalog.as_ref().and_then(|catalog| catalog.grants(of));
        grants.map_or(Value::Null, |grants| {
            Value::Array(grants.iter().map(|grant| Value::text(grant)).collect())
        })
    }

    /// Whether the session may read a table.
    pub(crate) fn may_read(&self, oid: i64) -> bool {
        let Some(catalog) = &self.catalog else { return true };
        let has = catalog.has_privilege(self.role, Secured::Relation(oid), "SELECT");
        matches!(has, Ok(Some(true)))
    }
}

/// The grants of an object of a kind before the first `GRANT`, as `acldefault` returns them.
pub(crate) fn default_grants(kind: &str, owner: i64, world: &World) -> Value {
    let (public, own) = match kind {
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" | "t" => ("", "UC"),
        "F" | "S" => ("", "U"),
        "p" => ("", "sA"),
        _ => return Value::Array([].into()),
    };
    let name = world
        .role_name(owner)
        .map_or_else(|| owner.to_string(), |name| crate::world::quoted(&name));
    let public = (!public.is_empty()).then(|| Value::text(&format!("={public}/{name}")));
    let own = Value::text(&format!("{name}={own}/{name}"));
    Value::Array(public.into_iter().chain([own]).collect())
}

/// `has_table_privilege([user,] table, privileges)` and its like.
pub(crate) fn has(name: &str, world: &World, values: &[Value]) -> Result<Value, SqlError> {
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    // A column counts as its table.
    let count = if name == "has_column_privilege" { 3 } else { 2 };
    let (role, values) = match values {
        [user, rest @ ..] if rest.len() == count => (role_of(world, user)?, rest),
        rest if rest.len() == count => (world.role, rest),
        _ => return Ok(Value::Null),
    };
    let (of, privileges) = (&values[0], values.last().and_then(text_of).unwrap_or_default());
    let Some(catalog) = &world.catalog else { return Ok(Value::Bool(true)) };
    let named = text_of(of).unwrap_or_default();
    // Everybody may look into the schemas of the system, and nobody creates objects there.
    let of_system = || Value::Bool(privileges.trim().eq_ignore_ascii_case("usage"));
    let full;
    let secured = match name {
        "has_schema_privilege" => match int_of(of) {
            Some(fill::PG_CATALOG | fill::INFORMATION_SCHEMA) => return Ok(of_system()),
            Some(oid) => Secured::Schema(oid),
            None => match namespace_oid(&named, world) {
                Some(fill::PG_CATALOG | fill::INFORMATION_SCHEMA) => return Ok(of_system()),
                Some(oid) => Secured::Schema(oid),
                None => {
                    let message = format!("schema \"{named}\" does not exist");
                    return Err(SqlError::new("3F000", message));
                }
            },
        },
        "has_database_privilege" => Secured::Database,
        "has_sequence_privilege" => {
            let oid = relation(world, of, &named)?;
            full = world.relation_name(oid).unwrap_or_default().to_owned();
            Secured::Sequence(&full)
        }
        "has_function_privilege" => {
            let name = names::split_name(named.split('(').next().unwrap_or_default());
            let routine = |full: &str| {
                let mut all = world.routine_facts.iter();
                all.any(|one| one.signature.name == full).then(|| full.to_owned())
            };
            full = world.schemas.lookup(&world.path, &name, routine).unwrap_or_default();
            Secured::Routine(&full)
        }
        _ => match relation(world, of, &named)? {
            oid if oid >= FIRST_OID => Secured::Relation(oid),
            _ => return Ok(Value::Bool(privileges.trim().eq_ignore_ascii_case("select"))),
        },
    };
    match catalog.has_privilege(role, secured, &privileges)? {
        Some(has) => Ok(Value::Bool(has)),
        None if int_of(of).is_some() => Ok(Value::Null),
        // A function of the system.
        None if name == "has_function_privilege" => Ok(Value::Bool(true)),
        None => Err(no_relation(&named)),
    }
}

fn relation(world: &World, of: &Value, name: &str) -> Result<i64, SqlError> {
    match of {
        Value::Int(oid) => Ok(*oid),
        _ => names::class_oid(name, world).ok_or_else(|| no_relation(name)),
    }
}

fn no_relation(name: &str) -> SqlError {
    SqlError::new("42P01", format!("relation \"{name}\" does not exist"))
}

impl Filler<'_> {
    /// `information_schema.table_privileges` and `role_table_grants`: those that the session's role
    /// has granted or was granted; the second one leaves out those of all roles.
    pub fn table_privileges(&self) -> Vec<Row> {
        let Some(catalog) = &self.world.catalog else { return Vec::new() };
        let is_of_roles = self.relation.name == "role_table_grants";
        let is_visible = |one: &sql_session::TablePrivilege| {
            let acts = |role| catalog.acts_as(self.world.role, role);
            acts(one.grantor) || acts(one.grantee) && !(one.grantee == 0 && is_of_roles)
        };
        let yes = |is: bool| text(if is { "YES" } else { "NO" });
        let name = |oid: i64| match oid {
            0 => text("PUBLIC"),
            oid => text(self.world.role_name(oid).unwrap_or_default()),
        };
        let found = catalog.table_privileges().into_iter().filter(is_visible);
        let row = |one: sql_session::TablePrivilege| {
            self.row(&[
                ("grantor", name(one.grantor)),
                ("grantee", name(one.grantee)),
                ("table_catalog", text(&self.world.database)),
                ("table_schema", self.schema(&one.table)),
                ("table_name", text(&one.table)),
                ("privilege_type", text(one.privilege)),
                ("is_grantable", yes(one.is_grantable)),
                ("with_hierarchy", yes(one.privilege == "SELECT")),
            ])
        };
        found.map(row).collect()
    }
}
