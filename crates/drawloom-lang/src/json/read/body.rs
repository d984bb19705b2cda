//! Nested graphs and how they run.

use serde::Deserialize;

use super::graph::Reader;
use super::nodes::NodeParts;
use crate::json::DEEPEST;
use crate::json::error::{JsonError, JsonErrorKind};
use crate::json::ids::Id;
use drawloom_graph::graph::{Body, Control};

impl<'de> Reader<'de> {
    pub(super) fn body(
        &mut self,
        name: &Id<'de>,
        parts: &NodeParts<'de>,
        depth: usize,
    ) -> Result<Option<Body>, JsonError> {
        let Some(text) = parts.body else { return Ok(None) };
        if depth >= DEEPEST {
            let message = format!("the body of node {name} is nested more than {DEEPEST} graphs deep");
            return Err(self.at(text, JsonErrorKind::Nesting, message));
        }
        let control = match parts.control {
            Some(text) => self.control(name, text)?,
            None => Control::Call,
        };
        let mut body = Body::new(control, self.graph(text, depth + 1)?);
        if let Some(text) = parts.otherwise {
            if !matches!(body.control, Control::If(_)) {
                let message = format!("node {name} has an else, and its control is not an if");
                return Err(self.at(text, JsonErrorKind::Shape, message));
            }
            body = body.with_otherwise(self.graph(text, depth + 1)?);
        }
        Ok(Some(body))
    }

    fn control(&mut self, name: &Id<'de>, text: &'de str) -> Result<Control, JsonError> {
        let parts: ControlParts<'de> = self.part(text, |_, part| ControlParts::deserialize(part))?;
        Ok(match parts {
            ControlParts { repeat: Some(count), condition: None, choice: None, call: None } => Control::Repeat(count),
            ControlParts { repeat: None, condition: Some(region), choice: None, call: None } => {
                Control::While(self.region(&region))
            }
            ControlParts { repeat: None, condition: None, choice: Some(region), call: None } => {
                Control::If(self.region(&region))
            }
            ControlParts { repeat: None, condition: None, choice: None, call: Some(true) } => Control::Call,
            _ => {
                let message = format!(
                    r#"the control of node {name} is one of {{"repeat":count}}, {{"while":region}}, {{"if":region}} and {{"call":true}}"#
                );
                return Err(self.at(text, JsonErrorKind::Shape, message));
            }
        })
    }
}

#[derive(Deserialize)]
struct ControlParts<'a> {
    repeat: Option<u64>,
    #[serde(rename = "while", borrow)]
    condition: Option<Id<'a>>,
    #[serde(rename = "if", borrow)]
    choice: Option<Id<'a>>,
    call: Option<bool>,
}
