//! Random statements, each as a procedure with the parameters `p integer, q bigint, r varchar`.

use crate::random::Random;
use crate::tables::{COLUMNS, TABLES};

/// A statement.
pub struct Statement {
    /// The text of a procedure that executes it.
    pub procedure: String,
    /// Whether the naive planner supports it: it has neither right nor full joins.
    pub is_naive: bool,
    /// Whether its rows have an order.
    pub is_ordered: bool,
}

/// Writes one statement.
struct Writer<'r> {
    random: &'r mut Random,
    is_naive: bool,
    /// Number of the last alias.
    alias: u32,
}

const NUMBERS: [&str; 5] = ["k", "a", "b", "c", "d"];
const COMPARISONS: [&str; 8] = ["=", "=", "=", "<", "<=", ">", ">=", "<>"];

/// A query named `name`.
pub fn query(random: &mut Random, name: &str) -> Statement {
    let mut writer = Writer { random, is_naive: true, alias: 0 };
    let (select, types, is_ordered) = writer.select();
    let columns = types.iter().enumerate();
    let columns: Vec<String> = columns.map(|(at, of)| format!("o{at} {of}")).collect();
    let procedure = format!(
        "CREATE FUNCTION {name}(p integer, q bigint, r varchar) RETURNS TABLE ({}) LANGUAGE plpgsql AS $$\nBEGIN\n  \
         RETURN QUERY {select};\nEND\n$$;\n",
        columns.join(", ")
    );
    Statement { procedure, is_naive: writer.is_naive, is_ordered }
}

/// A statement that changes a table; it returns the number of changed rows.
pub fn change(random: &mut Random, name: &str) -> Statement {
    let mut writer = Writer { random, is_naive: true, alias: 0 };
    let text = writer.change();
    let procedure = format!(
        "CREATE FUNCTION {name}(p integer, q bigint, r varchar) RETURNS bigint LANGUAGE plpgsql AS $$\nDECLARE n \
         bigint;\nBEGIN\n  {text};\n  GET DIAGNOSTICS n = ROW_COUNT;\n  RETURN n;\nEND\n$$;\n"
    );
    Statement { procedure, is_naive: writer.is_naive, is_ordered: false }
}

impl Writer<'_> {
    fn alias(&mut self) -> String {
        self.alias += 1;
        format!("x{}", self.alias)
    }

    fn table(&mut self) -> String {
        format!("t{}", self.random.below(TABLES))
    }

    fn number(&mut self, scope: &[String]) -> String {
        let alias = self.random.pick(scope).clone();
        format!("{alias}.{}", self.random.pick(&NUMBERS))
    }

    fn text(&mut self, scope: &[String]) -> String {
        let column = *self.random.pick(&["s", "s", "e"]);
        format!("{}.{column}", self.random.pick(scope))
    }

    fn constant(&mut self) -> String {
        match self.random.below(8) {
            0 => "p".to_owned(),
            1 => "q".to_owned(),
            2 => "p + 1".to_owned(),
            3 => (*self.random.pick(&[
                "100000",
                "3000000000",
                "-1",
                "1.5",
                "2.0",
                "1.505",
                "99999999.5",
            ]))
            .to_owned(),
            _ => self.random.below(5).to_string(),
        }
    }

    /// A source of rows with its alias.
    fn source(&mut self) -> (String, String) {
        let (alias, table) = (self.alias(), self.table());
        let columns = COLUMNS.join(", ");
        let inner = [self.alias()];
        let from = match self.random.below(16) {
            0 => {
                let condition = self.condition(&inner, 1);
                format!("(SELECT {columns} FROM {table} {} WHERE {condition})", inner[0])
            }
            1 => format!(
                "(SELECT a AS k, min(k) AS a, sum(b)::bigint AS b, min(c) AS c, max(s) AS s, max(d) AS d, max(e) AS e FROM {table} GROUP BY a)"
            ),
            2 => format!("(SELECT DISTINCT a AS k, a, b, c, s, d, e FROM {table})"),
            3 => format!("(SELECT {columns} FROM {table} ORDER BY k, a LIMIT 3)"),
            4 => {
                let other = self.table();
                format!("(SELECT {columns} FROM {table} UNION ALL SELECT {columns} FROM {other})")
            }
            5 => {
                let other = self.alias();
                let condition = self.condition(&[inner[0].clone(), other.clone()], 1);
                format!(
                    "(SELECT {0}.k, {1}.a, {0}.b, {1}.c, {0}.s, {1}.d, {0}.e FROM {table} {0}, {2} {1} WHERE {condition})",
                    inner[0],
                    other,
                    self.table()
                )
            }
            _ => table,
        };
        (format!("{from} {alias}"), alias)
    }

    /// `FROM`, with `WHERE` conditions and the visible aliases.
    fn from(&mut self) -> (String, Vec<String>, Vec<String>) {
        let count = 1 + self.random.below(4);
        let (first, alias) = self.source();
        let (mut text, mut scope) = (first, vec![alias]);
        let mut conditions = Vec::new();
        for _ in 1..count {
            let (source, alias) = self.source();
            let before = scope.clone();
            scope.push(alias.clone());
            let kind = self.random.below(10);
            if kind < 4 {
                // Of a list; it ends a chain of joins.
                let joined = self.joined(&before, &alias);
                conditions.push(joined);
                text = format!("{text} CROSS JOIN {source}");
                continue;
            }
            let mut on = self.joined(&before, &alias);
            if self.random.chance(30) {
                on = format!("{on} AND {}", self.condition(&scope, 0));
            }
            let join = match kind {
                4 | 5 => "JOIN",
                6 | 7 => "LEFT JOIN",
                8 => {
                    self.is_naive = false;
                    "RIGHT JOIN"
                }
                _ => {
                    self.is_naive = false;
                    // PostgreSQL's full joins need pairs.
                    on = format!("{}.a = {alias}.a", self.random.pick(&before));
                    "FULL JOIN"
                }
            };
            text = format!("{text} {join} {source} ON {on}");
            // Rows that an outer join adds.
            if join != "JOIN" && self.random.chance(30) {
                let side = self.random.pick(&[alias, before[0].clone()]).clone();
                conditions.push(format!("{} IS NULL", self.number(&[side])));
            }
        }
        for _ in 0..self.random.below(3) {
            conditions.push(self.condition(&scope, 2));
        }
        (text, conditions, scope)
    }

    /// A condition between known sources and a new one.
    fn joined(&mut self, before: &[String], alias: &str) -> String {
        let left = self.number(before);
        let right = self.number(&[alias.to_owned()]);
        match self.random.below(8) {
            0 => format!("{left} < {right}"),
            1 => format!("{left} + 1 = {right}"),
            2 => format!("{} = {}", self.text(before), self.text(&[alias.to_owned()])),
            _ => format!("{left} = {right}"),
        }
    }

    /// A condition; `depth` limits what is nested in it.
    fn condition(&mut self, scope: &[String], depth: u32) -> String {
        let number = self.number(scope);
        let value = self.constant();
        let comparison = *self.random.pick(&COMPARISONS);
        match self.random.below(if depth == 0 { 15 } else { 32 }) {
            0..=4 => format!("{number} {comparison} {value}"),
            5 => format!("{value} {comparison} {number}"),
            6 => format!("{number} {comparison} {}", self.number(scope)),
            7 => format!("{number} BETWEEN {value} AND {}", self.constant()),
            8 => format!("{number} IN ({value}, {}, 2)", self.constant()),
            9 => {
                let not = if self.random.chance(50) { "NOT " } else { "" };
                format!("{number} IS {not}NULL")
            }
            10 => format!(
                "{} = {}",
                self.text(scope),
                self.random.pick(&["r", "'ab'", "'a'", "'ab '", "'abcdefg'"])
            ),
            11 => format!("{} LIKE 'a%'", self.text(scope)),
            12 => format!("coalesce({number}, 1) = {value}"),
            13 => format!("{number} = ANY (ARRAY[1, p, 3])"),
            14 => format!("({number} + {}) % 2 = 0", self.number(scope)),
            15 | 16 => {
                let (one, other) = (self.condition(scope, 0), self.condition(scope, 0));
                format!("({one} OR {other})")
            }
            17 => format!("NOT ({})", self.condition(scope, 0)),
            18..=20 => format!("EXISTS ({})", self.inner(scope, "1")),
            21..=23 => format!("NOT EXISTS ({})", self.inner(scope, "1")),
            24..=26 => format!("{number} IN ({})", self.inner(scope, "?")),
            27..=29 => format!("{number} NOT IN ({})", self.inner(scope, "?")),
            _ => format!("{number} {comparison} ({})", self.inner(scope, "max")),
        }
    }

    /// A sub-select, mostly with a column of an enclosing query.
    fn inner(&mut self, scope: &[String], output: &str) -> String {
        let (alias, table) = (self.alias(), self.table());
        let own = [alias.clone()];
        let column = *self.random.pick(&NUMBERS);
        let output = match output {
            "?" => format!("{alias}.{column}"),
            "max" => format!("max({alias}.{column})"),
            other => other.to_owned(),
        };
        let mut conditions = Vec::new();
        if self.random.chance(60) {
            conditions.push(format!("{} = {}", self.number(&own), self.number(scope)));
        }
        let both: Vec<String> = own.iter().chain(scope).cloned().collect();
        let mut from = format!("{table} {alias}");
        if self.random.chance(20) {
            let (other, of) = (self.alias(), self.table());
            let joined = self.joined(&own, &other);
            from = format!("{from} JOIN {of} {other} ON {joined}");
        }
        if self.random.chance(50) {
            let seen = if self.random.chance(70) { &own[..] } else { &both[..] };
            conditions.push(self.condition(seen, 0));
        }
        match conditions.is_empty() {
            true => format!("SELECT {output} FROM {from}"),
            false => format!("SELECT {output} FROM {from} WHERE {}", conditions.join(" AND ")),
        }
    }

    /// A query with the types of its columns, and whether its order is known.
    fn select(&mut self) -> (String, Vec<&'static str>, bool) {
        let (from, conditions, scope) = self.from();
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let shape = self.random.below(10);
        let (mut outputs, mut types, mut tail) = (Vec::new(), Vec::new(), String::new());
        if shape < 2 {
            let key = self.number(&scope);
            outputs.push(format!("({key})::bigint"));
            outputs.push("count(*)".to_owned());
            outputs.push(format!("sum({})::bigint", self.number(&scope)));
            outputs.push(format!("count(DISTINCT {})", self.number(&scope)));
            types.extend(["bigint"; 4]);
            tail = format!(" GROUP BY {key}");
            if self.random.chance(40) {
                tail = format!("{tail} HAVING count(*) > 1");
            }
        } else if shape == 2 {
            for aggregate in ["min", "max", "count"] {
                outputs.push(format!("{aggregate}({})::bigint", self.number(&scope)));
                types.push("bigint");
            }
        } else if shape == 3 {
            let alias = self.random.pick(&scope).clone();
            let column = *self.random.pick(&NUMBERS);
            let aggregate = *self.random.pick(&["min", "max"]);
            return (
                format!("SELECT {aggregate}({alias}.{column})::bigint FROM {from}{filter}"),
                vec!["bigint"],
                false,
            );
        } else {
            for _ in 0..1 + self.random.below(3) {
                let (output, of) = self.output(&scope);
                outputs.push(output);
                types.push(of);
            }
        }
        let distinct = if shape >= 4 && self.random.chance(15) { "DISTINCT " } else { "" };
        let is_ordered = self.random.chance(50);
        if is_ordered {
            let key = |writer: &mut Self, at: usize| {
                let order =
                    *writer.random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST", ""]);
                format!("{}{order}", at + 1)
            };
            let keys: Vec<String> = (0..outputs.len()).map(|at| key(self, at)).collect();
            tail = format!("{tail} ORDER BY {}", keys.join(", "));
            if self.random.chance(50) {
                tail = format!("{tail} LIMIT {}", self.random.below(6));
            }
            if self.random.chance(20) {
                tail = format!("{tail} OFFSET 1");
            }
        } else if shape == 9 && distinct.is_empty() && self.is_naive && !from.contains('(') {
            let is_outer = from.contains("LEFT");
            if !is_outer {
                tail = format!("{tail} FOR UPDATE");
            }
        }
        let outputs = outputs.join(", ");
        (format!("SELECT {distinct}{outputs} FROM {from}{filter}{tail}"), types, is_ordered)
    }

    fn output(&mut self, scope: &[String]) -> (String, &'static str) {
        let number = self.number(scope);
        match self.random.below(8) {
            0 => (format!("(coalesce({number}, -1) + 1)::bigint"), "bigint"),
            1 => (format!("{}::varchar", self.text(scope)), "varchar"),
            2 => (format!("({})::bigint", self.inner(scope, "max")), "bigint"),
            3 => (format!("(CASE WHEN {} THEN 1 END)::bigint", self.condition(scope, 1)), "bigint"),
            _ => (format!("({number})::bigint"), "bigint"),
        }
    }

    fn change(&mut self) -> String {
        let table = self.table();
        match self.random.below(6) {
            0 | 1 => {
                let other = self.table();
                let alias = [self.alias()];
                let condition = self.condition(&alias, 2);
                let conflict = if self.random.chance(50) { " ON CONFLICT DO NOTHING" } else { "" };
                let shift = self.random.below(40);
                format!(
                    "INSERT INTO {table} SELECT {0}.k + {shift}, 3, coalesce({0}.b, 0), 1, 'ab', coalesce({0}.d, 0) + 1, 'b' FROM {other} {0} \
                     WHERE {condition}{conflict}",
                    alias[0]
                )
            }
            2 | 3 => {
                let alias = self.alias();
                let set = *self.random.pick(&[
                    "b = {}.b + 1",
                    "c = 2, b = q",
                    "s = 'b', c = {}.c + 1",
                    "d = 1.25, e = 'ba'",
                ]);
                let set = set.replace("{}", &alias);
                let (from, condition) = self.of_change(&alias, "FROM");
                format!("UPDATE {table} {alias} SET {set}{from} WHERE {condition}")
            }
            _ => {
                let alias = self.alias();
                let (from, condition) = self.of_change(&alias, "USING");
                format!("DELETE FROM {table} {alias}{from} WHERE {condition} AND {alias}.k > p")
            }
        }
    }

    /// The other tables of a change, and its condition.
    fn of_change(&mut self, alias: &str, word: &str) -> (String, String) {
        let own = [alias.to_owned()];
        let condition = self.condition(&own, 2);
        if self.random.chance(50) {
            return (String::new(), condition);
        }
        let (source, other) = self.source();
        let joined = self.joined(&own, &other);
        (format!(" {word} {source}"), format!("{joined} AND {condition}"))
    }
}
