//! Prints loops that run in lockstep, see [`crate::rounds`]: for each step a loop over the
//! iterations up to their next read, then that read for all of them.

use crate::access::key;
use crate::ahead::assignments;
use crate::flow::wanted;
use crate::function::Function;
use crate::names::identifier;
use crate::rounds::{Reading, bounds, sql_of};
use crate::unsupported::Unsupported;
use crate::variable::Place;
use procedure::node::Access;
use sql::procedure::{Over, Statement};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

/// The end of a step: the next read.
#[derive(Clone, Debug)]
pub struct Next<'a> {
    reading: Reading<'a>,
    /// The list of the state that each iteration keeps.
    kept: String,
    /// The variables that an iteration assigns.
    variables: BTreeSet<usize>,
    /// The rest of an iteration after the step; set at the end of the step.
    rest: Option<&'a [Statement]>,
    /// The places that an iteration keeps.
    places: Vec<Place>,
}

/// The code around the iterations of a step.
struct Step {
    begin: String,
    /// Returns the lists from which the step has read.
    end: String,
}

impl<'a> Function<'a> {
    /// Prints a loop in lockstep, if it can run so; returns whether it did.
    pub fn run_in_lockstep(&mut self, over: &'a Over, body: &'a [Statement]) -> Result<bool> {
        let Some((variable, from, to)) = bounds(over) else { return Ok(false) };
        let Some(readings) = self.rounds.loops.get(&variable).cloned() else { return Ok(false) };
        let mut variables = BTreeSet::new();
        assignments(body, &mut variables);
        // Variables that carry over from one iteration to the next are not part of the state.
        let carried: BTreeSet<usize> = self.carried(body).collect();
        variables.retain(|assigned| !carried.contains(assigned));
        variables.insert(variable);
        let name = self.variables.at((variable, None)).name.clone();
        self.line("// No round looks at another's rows: they go side by side, from one reading to the next.");
        self.rounds.is_inside = true;
        let mut step =
            Step { begin: format!("for {name} in {from}..={to} {{"), end: String::new() };
        let mut rest = body;
        for reading in readings {
            let kept = self.names.fresh("rounds");
            self.line(format!("let mut {kept} = [None; {}];", to - from + 1));
            let list = if reading.is_by_key() { "reads" } else { "scans" };
            self.line(format!("call.scratch.{list}.clear();"));
            let variables = variables.clone();
            let next =
                Next { reading: reading.clone(), kept, variables, rest: None, places: Vec::new() };
            self.rounds.next = Some(next);
            self.line(&step.begin);
            self.statements(rest)?;
            self.line(format!("}}\n{}", step.end));
            let next = self.rounds.next.take().expect("nobody else takes it");
            let reached = next.rest.ok_or_else(|| Unsupported::new("a loop with several paths"))?;
            rest = reached;
            step = self.read_of_rounds(&next, variable);
        }
        // After the last read, the iterations run one after the other.
        self.rounds.is_inside = false;
        self.line(&step.begin);
        self.statements(rest)?;
        self.line(format!("}}\n{}", step.end));
        Ok(true)
    }

    /// Prints the read at the end of a step; returns the code around the next step.
    fn read_of_rounds(&mut self, next: &Next<'a>, variable: usize) -> Step {
        let Next { reading, kept, places, .. } = next;
        let table = reading.chain.scan.table;
        let at = self.names.fresh("at");
        let end = if reading.is_by_key() {
            let found = self.names.fresh(&format!("{}_found", self.table(table).name));
            self.line(format!("let mut {found} = call.scratch.take_found();"));
            self.read_many(&BTreeSet::from([table]), &found);
            self.ahead.put(reading.statement, format!("{found}[{at}]"));
            format!("call.scratch.give_found({found});")
        } else {
            let ranges = self.names.fresh(&format!("{}_ranges", self.table(table).name));
            self.line(format!("let mut {ranges} = call.scratch.take_ranges();"));
            self.line(format!("call.txn.scan_many(&call.scratch.scans, &mut {ranges}).await?;"));
            self.ahead.put_range(reading.statement, format!("{ranges}[{at}]"));
            format!("call.scratch.give_ranges({ranges});")
        };
        let (names, declared) = self.kept_names(places, variable);
        let begin = match names.is_empty() {
            true => format!("for ({at}, ()) in {kept}.into_iter().flatten().enumerate() {{"),
            false => {
                let round = self.names.fresh("round");
                format!(
                    "for ({at}, {round}) in {kept}.into_iter().flatten().enumerate() {{\n{declared}({names}) = {round};"
                )
            }
        };
        Step { begin, end }
    }

    /// Returns the names of the kept places, each followed by a comma, and the declaration of the
    /// loop variable if it is one of them.
    fn kept_names(&self, places: &[Place], variable: usize) -> (String, String) {
        let name = |place: &Place| format!("{}, ", self.variables.at(*place).name);
        let is_counted = places.contains(&(variable, None));
        let counter = &self.variables.at((variable, None)).name;
        let declared = if is_counted { format!("let {counter};\n") } else { String::new() };
        (places.iter().map(name).collect(), declared)
    }

    /// If the rest of an iteration begins with the next read, prints adding it to the batch;
    /// returns whether it did.
    pub fn end_step(&mut self, rest: &'a [Statement]) -> Result<bool> {
        let Some(number) = rest.first().and_then(sql_of).map(|sql| sql.number) else {
            return Ok(false);
        };
        let is_next = |next: &mut Next<'_>| next.reading.statement == number;
        let Some(mut next) = self.rounds.next.take_if(is_next) else { return Ok(false) };
        next.rest = Some(rest);
        let places = wanted(self.procedure, rest).into_iter();
        next.places = places.filter(|(variable, _)| next.variables.contains(variable)).collect();
        let names: String = next
            .places
            .iter()
            .map(|place| format!("{}, ", self.variables.at(*place).name))
            .collect();
        let list = if next.reading.is_by_key() { "reads" } else { "scans" };
        let read = self.read_target(&next.reading)?;
        self.line(format!("{}[call.scratch.{list}.len()] = Some(({names}));", next.kept));
        self.line(format!("call.scratch.{list}.push({read});"));
        self.rounds.next = Some(next);
        Ok(true)
    }

    /// Returns the key or range of a read.
    fn read_target(&mut self, reading: &Reading<'a>) -> Result<String> {
        let chain = &reading.chain;
        let table = self.table(chain.scan.table);
        if let Access::Key(values) = &chain.scan.access {
            let key = key(self.scope(&[], &[]), table, table.schema.key(), values)?;
            self.records([&key]);
            return Ok(format!("(tables.{}, {})", identifier(&table.name), key.text));
        }
        let Access::Range(range) = &chain.scan.access else {
            return Err(Unsupported::new("an unsupported read in a loop"));
        };
        let limit = self.limit(chain, reading.takes_first, &[])?;
        self.range(chain.scan.table, range, &limit, &[])
    }
}
