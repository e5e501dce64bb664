//! Operators of `json`, whose parts are pieces of its text.

use super::parse::{Kind, Node, nodes, unescaped};
use super::{access, refuse};
use crate::error::Result;
use compact_str::CompactString;

/// A `json` that is read.
pub struct RawJson<'t> {
    text: &'t str,
    root: Node,
}

impl<'t> RawJson<'t> {
    /// # Errors
    /// As [`super::check`].
    pub fn new(text: &'t str) -> Result<Self> {
        Ok(Self { text, root: nodes(text)? })
    }

    /// The part at a path of keys and positions; `None` if there is no such part.
    ///
    /// # Errors
    /// 22P05 or 22P02 if a key cannot be decoded.
    fn at<'n>(&'n self, path: &[&str]) -> Result<Option<&'n Node>> {
        let mut node = &self.root;
        for step in path {
            let next = match &node.kind {
                Kind::Object(pairs) => member(pairs, step, self.text)?,
                Kind::Array(elements) => step
                    .trim_start()
                    .parse()
                    .ok()
                    .and_then(|at| access::index(elements.len(), at))
                    .map(|at| &elements[at]),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// The piece of the text at a path.
    ///
    /// # Errors
    /// As for keys that cannot be decoded.
    pub fn piece(&self, path: &[&str]) -> Result<Option<&'t str>> {
        Ok(self.at(path)?.map(|node| &self.text[node.from..node.to]))
    }

    /// The value at a path as text; `None` also for a JSON null.
    ///
    /// # Errors
    /// 22P05 or 22P02 if a text cannot be decoded.
    pub fn piece_text(&self, path: &[&str]) -> Result<Option<CompactString>> {
        self.at(path)?.map_or(Ok(None), |node| as_text(node, self.text))
    }

    /// The piece at a key of an object.
    ///
    /// # Errors
    /// As [`RawJson::piece`].
    pub fn field(&self, key: &str) -> Result<Option<Self>> {
        let Kind::Object(_) = self.root.kind else { return Ok(None) };
        self.piece(&[key])?.map(RawJson::new).transpose()
    }

    /// The piece at a position of an array.
    ///
    /// # Errors
    /// As [`RawJson::piece`].
    pub fn element(&self, at: i64) -> Result<Option<Self>> {
        let Kind::Array(_) = self.root.kind else { return Ok(None) };
        self.piece(&[&at.to_string()])?.map(RawJson::new).transpose()
    }

    /// The text of the whole value.
    pub fn source(&self) -> &'t str {
        &self.text[self.root.from..self.root.to]
    }

    /// The whole value as text; `None` for a JSON null.
    ///
    /// # Errors
    /// As [`RawJson::piece_text`].
    pub fn value_text(&self) -> Result<Option<CompactString>> {
        as_text(&self.root, self.text)
    }

    /// The name of the type.
    pub fn type_name(&self) -> &'static str {
        match self.root.kind {
            Kind::Null => "null",
            Kind::True | Kind::False => "boolean",
            Kind::Number => "number",
            Kind::Text => "string",
            Kind::Array(_) => "array",
            Kind::Object(_) => "object",
        }
    }

    /// The number of elements of an array.
    ///
    /// # Errors
    /// 22023 if it is no array.
    pub fn length(&self) -> Result<i64> {
        match &self.root.kind {
            Kind::Array(elements) => Ok(elements.len() as i64),
            Kind::Object(_) => Err(refuse("cannot get array length of a non-array")),
            _ => Err(refuse("cannot get array length of a scalar")),
        }
    }

    /// The pieces of an array.
    ///
    /// # Errors
    /// 22023 if it is no array.
    pub fn elements(&self) -> Result<Vec<&'t str>> {
        match &self.root.kind {
            Kind::Array(elements) => {
                Ok(elements.iter().map(|node| &self.text[node.from..node.to]).collect())
            }
            Kind::Object(_) => Err(refuse("cannot call json_array_elements on a non-array")),
            _ => Err(refuse("cannot call json_array_elements on a scalar")),
        }
    }

    /// The keys and pieces of an object, as they are written.
    ///
    /// # Errors
    /// 22023 if it is no object.
    pub fn pairs(&self, function: &str) -> Result<Vec<(CompactString, &'t str)>> {
        match &self.root.kind {
            Kind::Object(pairs) => pairs
                .iter()
                .map(|(key, node)| Ok((unescaped(key, self.text)?, &self.text[node.from..node.to])))
                .collect(),
            Kind::Array(_) => Err(refuse(format!("cannot call {function} on an array"))),
            _ => Err(refuse(format!("cannot call {function} on a scalar"))),
        }
    }
}

/// The last value of a key.
fn member<'n>(pairs: &'n [(Node, Node)], key: &str, text: &str) -> Result<Option<&'n Node>> {
    let mut found = None;
    for (own, value) in pairs {
        if unescaped(own, text)? == key {
            found = Some(value);
        }
    }
    Ok(found)
}

fn as_text(node: &Node, text: &str) -> Result<Option<CompactString>> {
    match node.kind {
        Kind::Null => Ok(None),
        Kind::Text => unescaped(node, text).map(Some),
        _ => Ok(Some(CompactString::new(&text[node.from..node.to]))),
    }
}
