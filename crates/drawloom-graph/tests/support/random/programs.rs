//! Sequences of calls, some inside control nodes, for the builder.

use std::sync::Arc;

use drawloom_graph::{Access, Builder, Control, Diagnostic, RegionId, Regions};
use fastrand::Rng;

use super::sketch::Sketch;
use super::worlds::World;

/// What a call does with one region.
pub(crate) type Argument = (RegionId, Access<'static>);

/// One statement of a program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Call { name: String, arguments: Vec<Argument> },
    Control { name: String, control: Control, steps: Vec<Step> },
    Choose { name: String, condition: RegionId, then: Vec<Step>, otherwise: Vec<Step> },
}

/// A program over a world.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) regions: Arc<Regions>,
    pub(crate) steps: Vec<Step>,
}

/// A program of the given number of statements, without control when `depth` is zero.
pub(crate) fn program(rng: &mut Rng, world: &World, steps: usize, depth: usize) -> Program {
    let mut names = 0;
    let steps = block(rng, world, steps, depth, &mut names);
    Program { regions: Arc::new(world.regions.clone()), steps }
}

fn block(rng: &mut Rng, world: &World, count: usize, depth: usize, names: &mut usize) -> Vec<Step> {
    (0..count)
        .map(|_| {
            *names += 1;
            let name = format!("t{names}");
            if depth == 0 || rng.u8(..5) > 0 {
                return Step::Call { name, arguments: arguments(rng, world) };
            }
            let condition = world.ids[rng.usize(..world.ids.len())];
            let inner = rng.usize(1..4);
            let steps = block(rng, world, inner, depth - 1, names);
            match rng.u8(..5) {
                0 => Step::Control { name, control: Control::Call, steps },
                1 => Step::Control { name, control: Control::Repeat(rng.u64(..4)), steps },
                2 => Step::Control { name, control: Control::While(condition), steps },
                3 => Step::Control { name, control: Control::If(condition), steps },
                _ => {
                    let otherwise = block(rng, world, 1, depth - 1, names);
                    Step::Choose { name, condition, then: steps, otherwise }
                }
            }
        })
        .collect()
}

/// Arguments of one call: mostly without overlap, sometimes overlapping reads, sometimes something to refuse.
fn arguments(rng: &mut Rng, world: &World) -> Vec<Argument> {
    let style = rng.u8(..10);
    let mut arguments: Vec<Argument> = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let region = world.ids[rng.usize(..world.ids.len())];
        let clash = arguments.iter().any(|(r, _)| world.regions.may_alias(*r, region));
        let access = match rng.u8(..10) {
            0..4 => Access::Read,
            4..6 => Access::Write,
            6..8 => Access::Update,
            _ => Access::Reduce(["+", "*", "min"][rng.usize(..3)]),
        };
        match style {
            0..7 if clash => {}
            7 | 8 => arguments.push((region, Access::Read)),
            _ => arguments.push((region, access)),
        }
    }
    arguments
}

impl Program {
    /// Gives the program to a builder. The statements that the builder refused are left out of the program, each with the
    /// reason, in the order they were met.
    pub(crate) fn build(&mut self) -> (Builder, Vec<(Vec<Argument>, Diagnostic)>) {
        let mut builder = Builder::new(Arc::clone(&self.regions));
        let mut refused = Vec::new();
        build_block(&mut builder, &mut self.steps, &mut refused);
        (builder, refused)
    }
}

impl Program {
    /// The smallest program that still fails, found by leaving out statements and arguments one by one.
    pub(crate) fn shrink(mut self, fails: impl Fn(&mut Program) -> bool) -> Self {
        while let Some(smaller) = smaller_blocks(&self.steps).into_iter().find_map(|steps| {
            let program = Program { regions: Arc::clone(&self.regions), steps };
            fails(&mut program.clone()).then_some(program)
        }) {
            self = smaller;
        }
        self
    }

    /// The program as a person reads it.
    pub(crate) fn describe(&self) -> String {
        let mut text = Sketch::new(Arc::clone(&self.regions)).describe();
        self.describe_block(&self.steps, 0, &mut text);
        text
    }

    fn describe_block(&self, steps: &[Step], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        for step in steps {
            match step {
                Step::Call { name, arguments } => {
                    let list: Vec<String> =
                        arguments.iter().map(|(r, a)| format!("{} {}", a.name(), self.regions.name(*r))).collect();
                    *text += &format!("{indent}task {name}({})\n", list.join(", "));
                }
                Step::Control { name, control, steps } => {
                    *text += &format!("{indent}{control:?} {name}\n");
                    self.describe_block(steps, depth + 1, text);
                }
                Step::Choose { name, condition, then, otherwise } => {
                    *text += &format!("{indent}if {} {name}\n", self.regions.name(*condition));
                    self.describe_block(then, depth + 1, text);
                    *text += &format!("{indent}else\n");
                    self.describe_block(otherwise, depth + 1, text);
                }
            }
        }
    }
}

/// The block with one statement, or one argument of one call, left out.
fn smaller_blocks(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    for at in 0..steps.len() {
        let mut without = steps.to_vec();
        without.remove(at);
        found.push(without);
    }
    for (at, step) in steps.iter().enumerate() {
        let replaced = |step: Step| {
            let mut copy = steps.to_vec();
            copy[at] = step;
            copy
        };
        match step {
            Step::Call { name, arguments } => {
                for argument in 0..arguments.len() {
                    let mut arguments = arguments.clone();
                    arguments.remove(argument);
                    found.push(replaced(Step::Call { name: name.clone(), arguments }));
                }
            }
            Step::Control { name, control, steps } => {
                for steps in smaller_blocks(steps) {
                    found.push(replaced(Step::Control { name: name.clone(), control: control.clone(), steps }));
                }
            }
            Step::Choose { name, condition, then, otherwise } => {
                let (name, condition) = (name.clone(), *condition);
                for smaller in smaller_blocks(then) {
                    let (name, otherwise) = (name.clone(), otherwise.clone());
                    found.push(replaced(Step::Choose { name, condition, then: smaller, otherwise }));
                }
                for smaller in smaller_blocks(otherwise) {
                    let (name, then) = (name.clone(), then.clone());
                    found.push(replaced(Step::Choose { name, condition, then, otherwise: smaller }));
                }
            }
        }
    }
    found
}

fn build_block(builder: &mut Builder, steps: &mut Vec<Step>, refused: &mut Vec<(Vec<Argument>, Diagnostic)>) {
    steps.retain_mut(|step| match step {
        Step::Call { name, arguments } => match builder.call(name, arguments) {
            Ok(_) => true,
            Err(why) => {
                refused.push((arguments.clone(), *why));
                false
            }
        },
        Step::Control { name, control, steps } => {
            let built = builder.control(name, control.clone(), |inner| {
                build_block(inner, steps, refused);
                Ok(())
            });
            keep(built.err(), refused)
        }
        Step::Choose { name, condition, then, otherwise } => {
            let mut refused_inside = Vec::new();
            let built = builder.choose(
                name,
                *condition,
                |inner| {
                    build_block(inner, then, refused);
                    Ok(())
                },
                |inner| {
                    build_block(inner, otherwise, &mut refused_inside);
                    Ok(())
                },
            );
            refused.append(&mut refused_inside);
            keep(built.err(), refused)
        }
    });
}

fn keep(why: Option<Box<Diagnostic>>, refused: &mut Vec<(Vec<Argument>, Diagnostic)>) -> bool {
    match why {
        None => true,
        Some(why) => {
            refused.push((Vec::new(), *why));
            false
        }
    }
}
