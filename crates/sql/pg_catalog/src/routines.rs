//! Functions and procedures of the user, and the languages.

use crate::fill::{Filler, OWNER, Row, namespace, text};
use crate::world::World;
use sql::procedure::{ParameterMode, Returns, Volatility};
use sql_session::{RoutineFacts, Secured, oid};
use sql_value::Value;

/// The languages with their numbers; the last two are the user's.
const LANGUAGES: [(i64, &str); 4] = [(12, "internal"), (13, "c"), (14, "sql"), (13_300, "plpgsql")];
const RECORD: i64 = 2249;
const VOID: i64 = 2278;

impl World {
    pub(crate) fn routine(&self, oid: i64) -> Option<&RoutineFacts> {
        self.routine_facts.iter().find(|one| one.oid == oid)
    }
}

impl Filler<'_> {
    pub(crate) fn languages(&self) -> Vec<Row> {
        let row = |(oid, name): (i64, &str)| {
            let is_procedural = name == "plpgsql";
            self.row(&[
                ("oid", Value::Int(oid)),
                ("lanname", text(name)),
                ("lanowner", Value::Int(OWNER)),
                ("lanispl", Value::Bool(is_procedural)),
                ("lanpltrusted", Value::Bool(is_procedural || name == "sql")),
            ])
        };
        LANGUAGES.into_iter().map(row).collect()
    }

    pub(crate) fn routines(&self) -> Vec<Row> {
        self.world.routine_facts.iter().map(|routine| self.routine(routine)).collect()
    }

    fn routine(&self, routine: &RoutineFacts) -> Row {
        let signature = &routine.signature;
        let type_of = |at: usize| i64::from(oid::of_type(&signature.variables[at].sql_type));
        let inputs = signature.inputs().map(|(parameter, _)| type_of(parameter.variable));
        let inputs: Vec<i64> = inputs.collect();
        let result = match &signature.returns {
            Returns::Nothing => VOID,
            Returns::Value(sql_type) => i64::from(oid::of_type(sql_type)),
            Returns::Rows(fields) if fields.len() == 1 => {
                i64::from(oid::of_type(&fields[0].sql_type))
            }
            Returns::Row(_) | Returns::Rows(_) => RECORD,
        };
        let language = LANGUAGES.into_iter().find(|(_, name)| *name == routine.language);
        let secured = Secured::Routine(&signature.name);
        let owner = self.world.catalog.as_ref().map_or(OWNER, |catalog| catalog.owner(secured));
        let volatility = match signature.volatility {
            Volatility::Volatile => "v",
            Volatility::Stable => "s",
            Volatility::Immutable => "i",
        };
        let has_outputs = signature.parameters.iter().any(|one| one.mode != ParameterMode::In);
        let modes = || {
            signature.parameters.iter().map(|one| match one.mode {
                ParameterMode::In => text("i"),
                ParameterMode::Out => text("o"),
                ParameterMode::InOut => text("b"),
            })
        };
        let all = || signature.parameters.iter().map(|one| Value::Int(type_of(one.variable)));
        let names = signature
            .parameters
            .iter()
            .map(|one| text(signature.variables[one.variable].name.trim_start_matches('$')));
        let when = |is: bool, list: Value| if is { list } else { Value::Null };
        let config = routine.search_path.as_ref();
        let config = config.map(|path| Value::Array([text(format!("search_path={path}"))].into()));
        let zero = Value::Float(0.0);
        self.row(&[
            ("oid", Value::Int(routine.oid)),
            ("proname", text(&signature.name)),
            ("pronamespace", namespace(&signature.name)),
            ("proowner", Value::Int(owner)),
            ("prolang", Value::Int(language.map_or(0, |(oid, _)| oid))),
            ("procost", Value::Float(100.0)),
            (
                "prorows",
                if matches!(signature.returns, Returns::Rows(_)) {
                    Value::Float(1_000.0)
                } else {
                    zero
                },
            ),
            ("prokind", text(if routine.is_procedure() { "p" } else { "f" })),
            ("proisstrict", Value::Bool(signature.is_strict)),
            ("proretset", Value::Bool(matches!(signature.returns, Returns::Rows(_)))),
            ("provolatile", text(volatility)),
            ("proparallel", text("u")),
            ("pronargs", Value::Int(inputs.len() as i64)),
            ("prorettype", Value::Int(result)),
            ("proargtypes", Value::Array(inputs.into_iter().map(Value::Int).collect())),
            ("proallargtypes", when(has_outputs, Value::Array(all().collect()))),
            ("proargmodes", when(has_outputs, Value::Array(modes().collect()))),
            ("proargnames", when(!signature.parameters.is_empty(), Value::Array(names.collect()))),
            ("prosrc", text(&routine.source)),
            ("prosqlbody", routine.sql_body.as_ref().map_or(Value::Null, text)),
            ("proconfig", config.unwrap_or(Value::Null)),
            ("proacl", self.world.grants(secured)),
        ])
    }
}
