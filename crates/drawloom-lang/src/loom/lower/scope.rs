//! Variables and integer expressions.

use super::super::error::{Code, SyntaxError};
use super::super::span::{Span, Spanned};
use super::super::syntax::{Expression, Name, Operator, Term};

/// The variables that can be seen, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    variables: Vec<(String, i128, Span)>,
}

impl Scope {
    /// Enters a variable; another of the same name must not be in sight.
    pub(crate) fn declare(&mut self, name: &Name, value: i128) -> Result<(), SyntaxError> {
        if let Some((_, _, first)) = self.variables.iter().find(|v| v.0 == **name) {
            let message = format!("the variable `{}` is declared twice", name.value);
            return Err(SyntaxError::new(Code::DuplicateName, message, name.span, "declared again")
                .relate(*first, "first declared here"));
        }
        self.variables.push((name.value.clone(), value, name.span));
        Ok(())
    }

    /// Gives the innermost variable a new value: the next round of its loop.
    pub(crate) fn assign_last(&mut self, value: i128) {
        if let Some(last) = self.variables.last_mut() {
            last.1 = value;
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.variables.len()
    }

    /// Forgets the variables declared since the given depth.
    pub(crate) fn leave(&mut self, depth: usize) {
        self.variables.truncate(depth);
    }

    /// `i = 3, j = 4`: the variables an expression uses, for messages.
    pub(crate) fn values_in(&self, expression: &Expression) -> String {
        let mut names = Vec::new();
        variables(expression, &mut names);
        let values: Vec<String> = self
            .variables
            .iter()
            .filter(|v| names.contains(&v.0.as_str()))
            .map(|(name, value, _)| format!("{name} = {value}"))
            .collect();
        values.join(", ")
    }

    /// The value of an expression.
    pub(crate) fn value(&self, expression: &Expression) -> Result<i128, SyntaxError> {
        match &expression.value {
            Term::Number(literal) => Ok(i128::from(literal.value)),
            Term::Variable(name) => match self.variables.iter().rev().find(|v| v.0 == *name) {
                Some(variable) => Ok(variable.1),
                None => Err(SyntaxError::new(
                    Code::UnknownName,
                    format!("no variable `{name}` is in sight"),
                    expression.span,
                    "unknown",
                )
                .did_you_mean(name, self.variables.iter().map(|v| v.0.as_str()))),
            },
            Term::Negate(inner) => {
                let value = self.value(inner)?;
                value.checked_neg().ok_or_else(|| too_large(expression))
            }
            Term::Binary(operator, left, right) => {
                let (a, b) = (self.value(left)?, self.value(right)?);
                let result = match operator {
                    Operator::Add => a.checked_add(b),
                    Operator::Subtract => a.checked_sub(b),
                    Operator::Multiply => a.checked_mul(b),
                    Operator::Divide | Operator::Remainder if b == 0 => return Err(self.by_zero(right)),
                    Operator::Divide => a.checked_div_euclid(b),
                    Operator::Remainder => a.checked_rem_euclid(b),
                };
                result.ok_or_else(|| too_large(expression))
            }
        }
    }

    fn by_zero(&self, divisor: &Expression) -> SyntaxError {
        let values = self.values_in(divisor);
        let label = if values.is_empty() { "this is zero".to_owned() } else { format!("zero when {values}") };
        SyntaxError::new(Code::OutOfRange, "a division by zero", divisor.span, label)
    }

    /// The value of an expression that must fit a given range.
    pub(crate) fn value_in(
        &self,
        expression: &Expression,
        least: u64,
        most: u64,
        what: &str,
    ) -> Result<u64, SyntaxError> {
        let value = self.value(expression)?;
        u64::try_from(value).ok().filter(|v| (least..=most).contains(v)).ok_or_else(|| {
            let values = self.values_in(expression);
            let label = if values.is_empty() { String::new() } else { format!("when {values}") };
            let label = if label.is_empty() { format!("this is {value}") } else { format!("this is {value} {label}") };
            SyntaxError::new(
                Code::OutOfRange,
                format!("{what} must lie between {least} and {most}, and is {value}"),
                expression.span,
                label,
            )
        })
    }
}

fn too_large<T>(expression: &Spanned<T>) -> SyntaxError {
    SyntaxError::new(Code::OutOfRange, "the value of an expression is too large", expression.span, "beyond 128 bits")
}

fn variables<'e>(expression: &'e Expression, names: &mut Vec<&'e str>) {
    match &expression.value {
        Term::Number(_) => {}
        Term::Variable(name) => names.push(name),
        Term::Negate(inner) => variables(inner, names),
        Term::Binary(_, left, right) => {
            variables(left, names);
            variables(right, names);
        }
    }
}
