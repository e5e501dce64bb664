//! Owners and privileges, as a server shows them to its clients.

use super::schemas::schema_object;
use super::snapshot::CatalogSnapshot;
use super::{DefinitionKind, Version};
use crate::access::object::{Kind, Object};
use crate::access::privilege::{PUBLIC, Privileges};
use crate::error::SqlError;
use crate::session::grants::printed_grants;

/// An object that has an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Secured<'n> {
    /// A table or view by its number.
    Relation(i64),
    /// A sequence by its name.
    Sequence(&'n str),
    /// A function or procedure by its name.
    Routine(&'n str),
    /// A schema by its number.
    Schema(i64),
    Database,
}

/// A privilege for a table or view that was granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablePrivilege {
    pub grantor: i64,
    /// 0 for all roles.
    pub grantee: i64,
    pub table: String,
    pub privilege: &'static str,
    pub is_grantable: bool,
}

impl CatalogSnapshot {
    /// The number of an object's owner.
    pub fn owner(&self, of: Secured<'_>) -> i64 {
        let version = self.version();
        find(version, of).map_or(crate::access::OWNER, |(object, _)| version.objects.owner(object))
    }

    /// The grants of an object in PostgreSQL's form, such as `bob=r/ada`; `None` before the first
    /// `GRANT` or `REVOKE`.
    pub fn grants(&self, of: Secured<'_>) -> Option<Vec<String>> {
        let version = self.version();
        printed_grants(version, find(version, of)?.0)
    }

    /// Whether a role has one of the privileges in a list such as `SELECT, INSERT WITH GRANT
    /// OPTION`; `None` if the object does not exist.
    ///
    /// # Errors
    /// There is no such privilege.
    pub fn has_privilege(
        &self,
        role: i64,
        of: Secured<'_>,
        list: &str,
    ) -> Result<Option<bool>, SqlError> {
        let version = self.version();
        let Some((object, kind)) = find(version, of) else { return Ok(None) };
        let (has, may) = version.objects.privileges(&version.roles, role, object, kind);
        let mut found = false;
        for part in list.split(',').map(str::trim) {
            let upper = part.to_uppercase();
            let plain = upper.strip_suffix(" WITH GRANT OPTION");
            let all = Privileges::all(kind);
            let privilege = Privileges::named(plain.unwrap_or(&upper));
            let privilege = privilege.filter(|privilege| all.has_all(*privilege));
            let privilege = privilege.ok_or_else(|| {
                SqlError::new("22023", format!("unrecognized privilege type: \"{part}\""))
            })?;
            found |= if plain.is_some() { may } else { has }.has_all(privilege);
        }
        Ok(Some(found))
    }

    /// The privileges for tables and views, those of their owners included.
    pub fn table_privileges(&self) -> Vec<TablePrivilege> {
        let version = self.version();
        let mut found = Vec::new();
        for one in &version.definitions {
            let kind = match one.kind {
                DefinitionKind::Table => Kind::Table,
                DefinitionKind::View => Kind::View,
                _ => continue,
            };
            let object = Object::Definition(one.id);
            let owner = version.objects.owner(object);
            for grant in version.objects.grants(object, kind) {
                found.extend(grant.privileges.words().map(|privilege| {
                    TablePrivilege {
                        grantor: grant.grantor,
                        grantee: grant.grantee,
                        table: one.name.clone(),
                        privilege,
                        is_grantable: grant.grantee == owner
                            || Privileges::named(privilege)
                                .is_some_and(|privilege| grant.options.has_all(privilege)),
                    }
                }));
            }
        }
        found
    }

    /// Whether a role has the privileges of a grantee.
    pub fn acts_as(&self, role: i64, grantee: i64) -> bool {
        grantee == PUBLIC || self.version().roles.has_privileges(role, grantee)
    }
}

fn find(version: &Version, of: Secured<'_>) -> Option<(Object, Kind)> {
    match of {
        Secured::Schema(id) => {
            version.catalog.schemas.name(id)?;
            Some((schema_object(id), Kind::Schema))
        }
        Secured::Database => Some((Object::Database, Kind::Database)),
        Secured::Sequence(name) => {
            let sequence = version.sequences.get(name)?;
            Some((Object::sequence(sequence.place), Kind::Sequence))
        }
        Secured::Routine(name) => {
            let routine = version.routines.iter().find(|one| one.signature.name == name)?;
            Some((Object::Definition(routine.id), Kind::Routine))
        }
        Secured::Relation(oid) => {
            let one = version.definitions.iter().find(|one| one.id == oid)?;
            let kind = match one.kind {
                DefinitionKind::Table => Kind::Table,
                DefinitionKind::View => Kind::View,
                DefinitionKind::Type => Kind::Type,
                _ => return None,
            };
            Some((Object::Definition(oid), kind))
        }
    }
}
