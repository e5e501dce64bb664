//! The attributes of a node; the reader must take each of them.

use super::{PlanError, Reader};
use crate::expression::{Expression, SortKey};
use roxmltree::Node as Xml;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The attributes of a node that are not yet taken.
pub(super) struct Fields<'r, 'a> {
    pub(super) reader: &'r Reader<'a>,
    pub(super) element: Xml<'a, 'a>,
    /// The path of nodes from the root, for messages.
    pub(super) node: String,
    left: BTreeMap<&'a str, Xml<'a, 'a>>,
}

impl<'r, 'a> Fields<'r, 'a> {
    /// The attributes of a `<Plan>` below the node `above`.
    pub(super) fn new(
        reader: &'r Reader<'a>,
        element: Xml<'a, 'a>,
        above: &str,
    ) -> Result<Self, PlanError> {
        let mut left = BTreeMap::new();
        for child in element.children().filter(Xml::is_element) {
            let name = child.tag_name().name();
            if left.insert(name, child).is_some() {
                return reader.error(child, above, format!("the attribute {name} occurs twice"));
            }
        }
        let mut fields = Self { reader, element, node: above.to_owned(), left };
        let kind = fields.text("Node-Type")?;
        fields.node = if above.is_empty() { kind.to_owned() } else { format!("{above} > {kind}") };
        Ok(fields)
    }

    /// The node's type.
    pub(super) fn kind(&self) -> &str {
        self.node.rsplit(" > ").next().unwrap_or(&self.node)
    }

    pub(super) fn error<T>(&self, sentence: impl Into<String>) -> Result<T, PlanError> {
        self.reader.error(self.element, &self.node, sentence.into())
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Xml<'a, 'a>> {
        self.left.remove(name)
    }

    /// Takes a required attribute.
    pub(super) fn text(&mut self, name: &str) -> Result<&'a str, PlanError> {
        match self.optional(name)? {
            Some(text) => Ok(text),
            None => self.error(format!(
                "the attribute {name} is missing; explain with (VERBOSE, FORMAT XML) and with costs"
            )),
        }
    }

    /// Takes an optional attribute.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<&'a str>, PlanError> {
        let Some(element) = self.take(name) else { return Ok(None) };
        if element.children().any(|child| child.is_element()) {
            return self.reader.error(element, &self.node, format!("{name} is not a plain text"));
        }
        Ok(Some(element.text().unwrap_or_default()))
    }

    pub(super) fn number<T: FromStr>(&mut self, name: &str) -> Result<T, PlanError> {
        let text = self.text(name)?;
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error(format!("{name} is `{text}`, which is not a number")),
        }
    }

    /// Takes a boolean attribute; false if it is absent.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, PlanError> {
        match self.optional(name)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => self.error(format!("{name} is `{other}`, neither true nor false")),
        }
    }

    /// Takes an optional expression.
    pub(super) fn expression(&mut self, name: &str) -> Result<Option<Expression>, PlanError> {
        let Some(text) = self.optional(name)? else { return Ok(None) };
        self.reader.expression(self.element, &self.node, text).map(Some)
    }

    /// Takes a list of texts; empty if it is absent.
    pub(super) fn items(&mut self, name: &str) -> Result<Vec<&'a str>, PlanError> {
        let Some(list) = self.take(name) else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        for item in list.children().filter(Xml::is_element) {
            if item.tag_name().name() != "Item" || item.children().any(|part| part.is_element()) {
                let sentence = format!("{name} may only have texts in <Item>");
                return self.reader.error(item, &self.node, sentence);
            }
            items.push(item.text().unwrap_or_default());
        }
        Ok(items)
    }

    pub(super) fn expressions(&mut self, name: &str) -> Result<Vec<Expression>, PlanError> {
        let items = self.items(name)?;
        items
            .into_iter()
            .map(|text| self.reader.expression(self.element, &self.node, text))
            .collect()
    }

    pub(super) fn sort_keys(&mut self, name: &str) -> Result<Vec<SortKey>, PlanError> {
        let items = self.items(name)?;
        items.into_iter().map(|text| self.reader.sort_key(self.element, &self.node, text)).collect()
    }

    /// Refuses attributes that are not taken.
    pub(super) fn finish(self) -> Result<(), PlanError> {
        match self.left.iter().next() {
            None => Ok(()),
            Some((name, element)) => {
                let sentence = format!(
                    "the attribute {name} is unknown; it might change the meaning of the plan"
                );
                self.reader.error(*element, &self.node, sentence)
            }
        }
    }
}
