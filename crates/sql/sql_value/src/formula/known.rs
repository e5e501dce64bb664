//! Dependencies of an expression.

use super::{Formula, Node};

impl Formula {
    /// Whether the value depends only on constants and on variables that are all `known`, so that
    /// it stays the same while these keep their values. Kinds of expressions that never form a key
    /// count as dependent on more.
    pub fn is_made_of(&self, known: &impl Fn(usize) -> bool) -> bool {
        self.node.is_made_of(known)
    }
}

impl Node {
    fn is_made_of(&self, known: &impl Fn(usize) -> bool) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Variable(variable) | Self::Field { variable, .. } => known(*variable),
            Self::Integer { operands, .. }
            | Self::Numeric { operands, .. }
            | Self::Binary { operands, .. }
            | Self::Subscript(operands) => operands.iter().all(|of| of.is_made_of(known)),
            Self::Strict { arguments, .. } | Self::Lenient { arguments, .. } => {
                arguments.iter().all(|argument| argument.is_made_of(known))
            }
            Self::Convert { operand, .. } | Self::Unary { operand, .. } => {
                operand.is_made_of(known)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn variable(at: usize) -> Node {
        Node::Variable(at)
    }

    #[test]
    fn an_element_is_known_where_its_array_and_its_place_are() {
        let element = Node::Subscript(Box::new([variable(1), variable(2)]));
        let formula = Formula { node: element };
        assert!(formula.is_made_of(&|at| at == 1 || at == 2));
        assert!(!formula.is_made_of(&|at| at == 1));
    }

    #[test]
    fn chance_is_not_known_and_constants_are() {
        assert!(Formula { node: Node::Constant(Value::Int(1)) }.is_made_of(&|_| false));
        assert!(
            !Formula { node: Node::Moment(super::super::Moment::Random) }.is_made_of(&|_| true)
        );
    }
}
