//! Parses nodes whose input is a table, an index or a list.

use super::{Fields, PlanError};
use crate::node::{Bitmap, BitmapSource, Direction, IndexScan, Operator, Relation};
use roxmltree::Node as Xml;

impl<'a> Fields<'_, 'a> {
    pub(super) fn relation(&mut self) -> Result<Relation, PlanError> {
        Ok(Relation {
            schema: self.text("Schema")?.to_owned(),
            name: self.text("Relation-Name")?.to_owned(),
            alias: self.text("Alias")?.to_owned(),
        })
    }

    pub(super) fn scan(&mut self, kind: &str) -> Result<Operator, PlanError> {
        match kind {
            "Index Scan" | "Index Only Scan" => self.index_scan(kind == "Index Only Scan"),
            "Seq Scan" => {
                let relation = self.relation()?;
                Ok(Operator::SequentialScan { relation, filter: self.expression("Filter")? })
            }
            "Tid Scan" => Ok(Operator::TidScan {
                relation: self.relation()?,
                condition: self.expression("TID-Cond")?,
                filter: self.expression("Filter")?,
            }),
            "Values Scan" => {
                let alias = self.text("Alias")?.to_owned();
                Ok(Operator::ValuesScan { alias, filter: self.expression("Filter")? })
            }
            "Function Scan" => self.function_scan(),
            _ => Ok(Operator::CteScan {
                query: self.text("CTE-Name")?.to_owned(),
                alias: self.text("Alias")?.to_owned(),
                filter: self.expression("Filter")?,
            }),
        }
    }

    fn index_scan(&mut self, index_only: bool) -> Result<Operator, PlanError> {
        let direction = match self.text("Scan-Direction")? {
            // `NoMovement` is printed for a hash index, which has no order.
            "Forward" | "NoMovement" => Direction::Forward,
            "Backward" => Direction::Backward,
            other => return self.error(format!("the scan direction {other} is unknown")),
        };
        Ok(Operator::IndexScan(IndexScan {
            relation: self.relation()?,
            index: self.text("Index-Name")?.to_owned(),
            direction,
            index_only,
            condition: self.expression("Index-Cond")?,
            order_by: self.expression("Order-By")?.into_iter().collect(),
            filter: self.expression("Filter")?,
        }))
    }

    fn function_scan(&mut self) -> Result<Operator, PlanError> {
        // With VERBOSE, Function-Call also has the function's name and schema.
        self.optional("Function-Name")?;
        self.optional("Schema")?;
        let alias = self.text("Alias")?.to_owned();
        let text = self.text("Function-Call")?;
        let calls = self.reader.expression(self.element, &self.node, &format!("ROW({text})"))?;
        let crate::Expression::Row(calls) = calls else {
            return self.error(format!("Function-Call is `{text}`, which is not a list"));
        };
        Ok(Operator::FunctionScan { alias, calls, filter: self.expression("Filter")? })
    }

    pub(super) fn bitmap_heap_scan(
        &mut self,
        inputs: &[Xml<'a, 'a>],
    ) -> Result<Operator, PlanError> {
        self.input_count(inputs, 1..=1)?;
        Ok(Operator::BitmapHeapScan {
            relation: self.relation()?,
            recheck: self.expression("Recheck-Cond")?,
            filter: self.expression("Filter")?,
            bitmap: self.bitmap(inputs[0])?,
        })
    }

    /// Parses a node that returns a bitmap.
    fn bitmap(&self, element: Xml<'a, 'a>) -> Result<Bitmap, PlanError> {
        let mut fields = Fields::new(self.reader, element, &self.node)?;
        if self.node.matches(" > ").count() >= super::DEPTH_MAX {
            return fields.error(format!("plans are at most {} nodes deep", super::DEPTH_MAX));
        }
        fields.take("Parent-Relationship");
        let estimate = fields.estimate()?;
        let mut parts = Vec::new();
        if let Some(plans) = fields.take("Plans") {
            for part in plans.children().filter(Xml::is_element) {
                parts.push(fields.bitmap(part)?);
            }
        }
        let source = match fields.kind() {
            "Bitmap Index Scan" if parts.is_empty() => BitmapSource::Index {
                index: fields.text("Index-Name")?.to_owned(),
                condition: fields.expression("Index-Cond")?,
            },
            "BitmapAnd" if !parts.is_empty() => BitmapSource::And(parts),
            "BitmapOr" if !parts.is_empty() => BitmapSource::Or(parts),
            _ => return fields.error("this kind of node does not return a bitmap"),
        };
        fields.finish()?;
        Ok(Bitmap { source, estimate })
    }
}
