//! Parses nodes with their inputs.

use super::{DEPTH_MAX, Fields, PlanError, Reader, delivers};
use crate::node::{
    Conflict, Estimate, Join, JoinKind, JoinMethod, ModifyTable, Node, Operation, Operator,
    Strategy, SubPlan,
};
use roxmltree::Node as Xml;

/// A child plan and its relationship to the parent.
struct Child<'a> {
    relationship: &'a str,
    name: Option<&'a str>,
    element: Xml<'a, 'a>,
}

impl<'a> Reader<'a> {
    /// Parses a `<Plan>` below the node `above`.
    pub(super) fn node(&self, element: Xml<'a, 'a>, above: &str) -> Result<Node, PlanError> {
        let mut fields = Fields::new(self, element, above)?;
        if above.matches(" > ").count() >= DEPTH_MAX {
            return fields.error(format!("plans are at most {DEPTH_MAX} nodes deep"));
        }
        fields.take("Parent-Relationship");
        fields.take("Subplan-Name");
        let estimate = fields.estimate()?;
        let output = fields.expressions("Output")?;
        let (mut init_plans, mut sub_plans) = (Vec::new(), Vec::new());
        let mut inputs = Vec::new();
        for child in self.children(&mut fields)? {
            match child.relationship {
                "InitPlan" => init_plans.push(self.sub_plan(&fields, &child)?),
                "SubPlan" => sub_plans.push(self.sub_plan(&fields, &child)?),
                "Outer" | "Inner" | "Member" | "Subquery" => inputs.push(child.element),
                other => {
                    return fields.error(format!(
                        "the relationship `{other}` of a plan below it is unknown"
                    ));
                }
            }
        }
        let operator = fields.operator(inputs)?;
        fields.finish()?;
        Ok(Node { operator, output, estimate, init_plans, sub_plans })
    }

    fn children(&self, fields: &mut Fields<'_, 'a>) -> Result<Vec<Child<'a>>, PlanError> {
        let Some(plans) = fields.take("Plans") else { return Ok(Vec::new()) };
        let mut children = Vec::new();
        for element in plans.children().filter(Xml::is_element) {
            if element.tag_name().name() != "Plan" {
                return self.error(element, &fields.node, "Plans may only have <Plan>".to_owned());
            }
            let text = |name| {
                let found = element.children().find(|child| child.tag_name().name() == name);
                found.and_then(|child| child.text())
            };
            let relationship = text("Parent-Relationship").unwrap_or_default();
            children.push(Child { relationship, name: text("Subplan-Name"), element });
        }
        Ok(children)
    }

    fn sub_plan(&self, fields: &Fields<'_, 'a>, child: &Child<'a>) -> Result<SubPlan, PlanError> {
        let Some(name) = child.name else {
            let sentence = "the attribute Subplan-Name is missing".to_owned();
            return self.error(child.element, &fields.node, sentence);
        };
        let (name, delivers) = delivers(name);
        let plan = self.node(child.element, &fields.node)?;
        Ok(SubPlan { name: name.to_owned(), delivers, plan })
    }
}

impl<'a> Fields<'_, 'a> {
    pub(super) fn estimate(&mut self) -> Result<Estimate, PlanError> {
        for name in ["Parallel-Aware", "Async-Capable"] {
            if self.flag(name)? {
                return self.error(format!("{name} is true; plan without parallel workers"));
            }
        }
        // Set for a node that a setting disables; only PostgreSQL 18 and later print it.
        self.flag("Disabled")?;
        Ok(Estimate {
            startup_cost: self.number("Startup-Cost")?,
            total_cost: self.number("Total-Cost")?,
            rows: self.number("Plan-Rows")?,
            width_bytes: self.number("Plan-Width")?,
        })
    }

    fn operator(&mut self, inputs: Vec<Xml<'a, 'a>>) -> Result<Operator, PlanError> {
        let kind = self.kind().to_owned();
        match &*kind {
            "Index Scan" | "Index Only Scan" | "Seq Scan" | "Tid Scan" | "Values Scan"
            | "Function Scan" | "CTE Scan" => {
                self.input_count(&inputs, 0..=0)?;
                self.scan(&kind)
            }
            "Bitmap Heap Scan" => self.bitmap_heap_scan(&inputs),
            "Nested Loop" | "Hash Join" | "Merge Join" => self.join(&kind, &inputs),
            "Append" => Ok(Operator::Append { inputs: self.all(&inputs)? }),
            "Merge Append" => {
                let keys = self.sort_keys("Sort-Key")?;
                Ok(Operator::MergeAppend { keys, inputs: self.all(&inputs)? })
            }
            "Result" => self.result(&inputs),
            "ModifyTable" => self.modify_table(&inputs),
            _ => self.above_one(&kind, &inputs),
        }
    }

    /// Parses nodes with one input.
    fn above_one(&mut self, kind: &str, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        match kind {
            "Hash" | "Limit" | "Unique" | "Materialize" | "LockRows" | "ProjectSet" => {
                let input = self.one(inputs)?;
                Ok(match kind {
                    "Hash" => Operator::Hash { input },
                    "Limit" => Operator::Limit { input },
                    "Unique" => Operator::Unique { input },
                    "Materialize" => Operator::Materialize { input },
                    "LockRows" => Operator::LockRows { input },
                    _ => Operator::ProjectSet { input },
                })
            }
            "Sort" | "Incremental Sort" => {
                let keys = self.sort_keys("Sort-Key")?;
                let presorted = self.items("Presorted-Key")?.len();
                Ok(Operator::Sort { keys, presorted, input: self.one(inputs)? })
            }
            "Aggregate" => self.aggregate(inputs),
            "Group" => {
                let keys = self.expressions("Group-Key")?;
                let filter = self.expression("Filter")?;
                Ok(Operator::Group { keys, filter, input: self.one(inputs)? })
            }
            "Memoize" => self.memoize(inputs),
            "Subquery Scan" => {
                let alias = self.text("Alias")?.to_owned();
                let filter = self.expression("Filter")?;
                Ok(Operator::SubqueryScan { alias, filter, input: self.one(inputs)? })
            }
            _ => self.error(
                "this kind of node is unknown; rewrite the statement so that its plan does not need it",
            ),
        }
    }

    fn join(&mut self, kind: &str, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        self.input_count(inputs, 2..=2)?;
        let method = match kind {
            "Nested Loop" => JoinMethod::NestedLoop,
            "Hash Join" => JoinMethod::Hash { condition: self.expression("Hash-Cond")? },
            _ => JoinMethod::Merge { condition: self.expression("Merge-Cond")? },
        };
        let kind = match self.text("Join-Type")? {
            "Inner" => JoinKind::Inner,
            "Left" => JoinKind::Left,
            "Right" => JoinKind::Right,
            "Full" => JoinKind::Full,
            "Semi" => JoinKind::Semi,
            "Anti" => JoinKind::Anti,
            other => return self.error(format!("the join type {other} is unknown")),
        };
        Ok(Operator::Join(Join {
            method,
            kind,
            inner_unique: self.flag("Inner-Unique")?,
            join_filter: self.expression("Join-Filter")?,
            filter: self.expression("Filter")?,
            outer: Box::new(self.reader.node(inputs[0], &self.node)?),
            inner: Box::new(self.reader.node(inputs[1], &self.node)?),
        }))
    }

    fn aggregate(&mut self, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        let strategy = match self.text("Strategy")? {
            "Plain" => Strategy::Plain,
            "Sorted" => Strategy::Sorted,
            "Hashed" => Strategy::Hashed,
            other => return self.error(format!("the strategy {other} is unknown")),
        };
        match self.text("Partial-Mode")? {
            "Simple" => {}
            other => {
                return self
                    .error(format!("the mode {other} is unknown; plan without parallel workers"));
            }
        }
        // A memory hint without influence on the result.
        self.optional("Planned-Partitions")?;
        let keys = self.expressions("Group-Key")?;
        let filter = self.expression("Filter")?;
        Ok(Operator::Aggregate { strategy, keys, filter, input: self.one(inputs)? })
    }

    fn memoize(&mut self, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        let text = self.text("Cache-Key")?;
        // Cache-Key is a plain list; all other lists have elements.
        let array = self.reader.expression(self.element, &self.node, &format!("ROW({text})"))?;
        let crate::Expression::Row(keys) = array else {
            return self.error(format!("Cache-Key is `{text}`, which is not a list"));
        };
        let is_binary = match self.text("Cache-Mode")? {
            "logical" => false,
            "binary" => true,
            other => return self.error(format!("the cache mode {other} is unknown")),
        };
        Ok(Operator::Memoize { keys, is_binary, input: self.one(inputs)? })
    }

    fn result(&mut self, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        self.input_count(inputs, 0..=1)?;
        let one_time_filter = self.expression("One-Time-Filter")?;
        let filter = self.expression("Filter")?;
        let input = if inputs.is_empty() { None } else { Some(self.one(inputs)?) };
        Ok(Operator::Result { one_time_filter, filter, input })
    }

    fn modify_table(&mut self, inputs: &[Xml<'a, 'a>]) -> Result<Operator, PlanError> {
        let operation = match self.text("Operation")? {
            "Insert" => Operation::Insert,
            "Update" => Operation::Update,
            "Delete" => Operation::Delete,
            other => return self.error(format!("the operation {other} is unknown")),
        };
        let relation = self.relation()?;
        let updates = match self.optional("Conflict-Resolution")? {
            None => None,
            Some("NOTHING") => Some(false),
            Some("UPDATE") => Some(true),
            Some(other) => {
                return self.error(format!("the conflict resolution {other} is unknown"));
            }
        };
        let indexes: Vec<String> =
            self.items("Conflict-Arbiter-Indexes")?.into_iter().map(str::to_owned).collect();
        let filter = self.expression("Conflict-Filter")?;
        let conflict = updates.map(|updates| Conflict { updates, indexes, filter });
        let input = self.one(inputs)?;
        Ok(Operator::ModifyTable(ModifyTable { operation, relation, conflict, input }))
    }

    pub(super) fn input_count(
        &self,
        inputs: &[Xml<'a, 'a>],
        wanted: std::ops::RangeInclusive<usize>,
    ) -> Result<(), PlanError> {
        if wanted.contains(&inputs.len()) {
            return Ok(());
        }
        let (count, most) = (inputs.len(), wanted.end());
        self.error(format!("the node has {count} inputs instead of {most}"))
    }

    fn one(&self, inputs: &[Xml<'a, 'a>]) -> Result<Box<Node>, PlanError> {
        self.input_count(inputs, 1..=1)?;
        Ok(Box::new(self.reader.node(inputs[0], &self.node)?))
    }

    fn all(&mut self, inputs: &[Xml<'a, 'a>]) -> Result<Vec<Node>, PlanError> {
        // The planner has removed inputs because of constants.
        match self.optional("Subplans-Removed")? {
            None | Some("0") => {}
            Some(_) => {
                return self.error("the planner has removed inputs; plan without partitions");
            }
        }
        inputs.iter().map(|input| self.reader.node(*input, &self.node)).collect()
    }
}
