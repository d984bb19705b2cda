//! Recurrent networks: a state for each row of a batch that changes from one step in time to the next.

use crate::operators::multiply::Matrix;
use crate::operators::number::MatrixNumber;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, doubles, kernel_with, lengths, listed};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::{Buffer, count};
use drawloom_tensor::{Fault, Inputs, Outputs, Scratch, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "RNN" => recurrent(spec, Cell::Plain),
        "GRU" => recurrent(spec, Cell::Gated),
        "LSTM" => recurrent(spec, Cell::Memory),
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Plain,
    Gated,
    Memory,
}

impl Cell {
    fn gates(self) -> usize {
        match self {
            Self::Plain => 1,
            Self::Gated => 3,
            Self::Memory => 4,
        }
    }

    fn activations(self) -> &'static [Activation] {
        match self {
            Self::Plain => &[Activation::Tanh],
            Self::Gated => &[Activation::Sigmoid, Activation::Tanh],
            Self::Memory => &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Activation {
    Sigmoid,
    Tanh,
    Relu,
}

impl Activation {
    fn apply(self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Tanh => x.tanh(),
            Self::Relu => x.max(0.0),
        }
    }
}

struct Network {
    cell: Cell,
    /// For each direction, whether time runs backwards.
    backwards: Vec<bool>,
    activations: Vec<Activation>,
    batch_first: bool,
    reset_after: bool,
    coupled: bool,
    hidden: Option<i64>,
}

fn recurrent(spec: &Spec, cell: Cell) -> Made {
    let backwards = match spec.text("direction", "forward")?.as_str() {
        "forward" => vec![false],
        "reverse" => vec![true],
        "bidirectional" => vec![false, true],
        other => return Err(Fault::new(format!("there is no direction `{other}`"))),
    };
    let activations = match spec.texts("activations")? {
        None => cell.activations().repeat(backwards.len()),
        Some(names) => {
            let activation = |name: &String| match name.to_lowercase().as_str() {
                "sigmoid" => Ok(Activation::Sigmoid),
                "tanh" => Ok(Activation::Tanh),
                "relu" => Ok(Activation::Relu),
                _ => Err(Fault::unsupported(format!("the activation `{name}` is not supported"))),
            };
            names.iter().map(activation).collect::<Result<_, _>>()?
        }
    };
    if activations.len() != cell.activations().len() * backwards.len() {
        return Err(Fault::new("the activations do not fit the directions"));
    }
    let network = Network {
        cell,
        backwards,
        activations,
        batch_first: spec.flag("layout", false)?,
        reset_after: cell == Cell::Gated && spec.flag("linear_before_reset", false)?,
        coupled: cell == Cell::Memory && spec.flag("input_forget", false)?,
        hidden: spec.optional_int("hidden_size")?,
    };
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        with_type!(floats, input.element(), T => network.run::<T>(inputs, outputs, scratch))
    })
}

/// The sizes of a run.
#[derive(Clone, Copy)]
struct Sizes {
    times: usize,
    batch: usize,
    hidden: usize,
}

impl Network {
    fn run<T: MatrixNumber>(
        &self,
        inputs: &Inputs<'_>,
        outputs: &mut Outputs<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let (x, w, r) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let directions = self.backwards.len();
        let gates = self.cell.gates();
        let wrong = || {
            let message = format!(
                "inputs of shape {:?} do not fit weights of shapes {:?} and {:?}",
                x.shape(),
                w.shape(),
                r.shape()
            );
            Fault::new(message)
        };
        let &[first, second, input] = x.shape() else { return Err(wrong()) };
        let (times, batch) = if self.batch_first { (second, first) } else { (first, second) };
        let hidden = r.shape().last().copied().unwrap_or(0);
        if self.hidden.is_some_and(|size| size != hidden as i64)
            || w.shape() != [directions, gates * hidden, input]
            || r.shape() != [directions, gates * hidden, hidden]
        {
            return Err(wrong());
        }
        let sizes = Sizes { times, batch, hidden };
        let mut list = |index: usize, size: usize, what: &str| -> Result<Option<Buffer<f64>>, Fault> {
            let Some(view) = inputs.optional(index) else { return Ok(None) };
            if view.len() != directions * size {
                return Err(Fault::new(format!("{what} of shape {:?} does not fit", view.shape())));
            }
            if view.element() != T::TYPE {
                return Err(Fault::new(format!("{what} has elements of type {}, not {}", view.element(), T::TYPE)));
            }
            doubles(view, scratch).map(Some)
        };
        let bias = list(3, 2 * gates * hidden, "the bias")?;
        let first_hidden = list(5, batch * hidden, "the first state")?;
        let (first_memory, peepholes) = if self.cell == Cell::Memory {
            (list(6, batch * hidden, "the first memory")?, list(7, 3 * hidden, "the peepholes")?)
        } else {
            (None, None)
        };
        let zeros = scratch.zeros::<f64>((2 * gates * hidden).max(3 * hidden))?;
        let width = gates * hidden;
        let mut projected = scratch.unset::<T>(count(&[times * batch, width])?)?;
        let mut room = Room::<T>::new(sizes, width, scratch)?;
        let mut last = scratch.unset::<f64>(directions * batch * hidden)?;
        let mut memories = scratch.unset::<f64>(directions * batch * hidden)?;
        scratch.count(T::multiply_bytes(input.max(hidden), width))?;
        let shape =
            if self.batch_first { [batch, times, directions, hidden] } else { [times, directions, batch, hidden] };
        let last_shape = if self.batch_first { [batch, directions, hidden] } else { [directions, batch, hidden] };
        outputs.announce(T::TYPE, 1, &last_shape)?;
        outputs.announce(T::TYPE, 2, &last_shape)?;
        let all = outputs.allocate::<T>(0, &shape)?;
        let ends = listed(inputs, 4, None)?.map_or(Ok(vec![times; batch]), |ends| lengths(&ends))?;
        if ends.len() != batch || ends.iter().any(|end| *end > times) {
            return Err(Fault::new("the lengths of the sequences do not fit"));
        }
        for direction in 0..directions {
            self.first_state(first_hidden.as_deref(), direction, sizes, &mut room.state);
            self.first_state(first_memory.as_deref(), direction, sizes, &mut room.memory);
            let step = Step::<T> {
                network: self,
                direction,
                sizes,
                bias: part(&bias, &zeros, direction, 2 * gates * hidden),
                peepholes: part(&peepholes, &zeros, direction, 3 * hidden),
                weights: &r.values::<T>()?[direction * gates * hidden * hidden..][..gates * hidden * hidden],
            };
            // What all inputs give to all gates, in one product of matrices.
            let weights = &w.values::<T>()?[direction * width * input..][..width * input];
            let left = Matrix::rows(x.values::<T>()?, input);
            T::multiply(times * batch, input, width, left, Matrix::columns(weights, input), &mut projected);
            for time in 0..times {
                room.old_state.copy_from_slice(&room.state);
                room.old_memory.copy_from_slice(&room.memory);
                let at = |row: usize| {
                    if self.backwards[direction] {
                        ends[row].checked_sub(1 + time)
                    } else {
                        Some(time).filter(|time| *time < ends[row])
                    }
                };
                step.advance(&projected, &at, &mut room);
                for row in 0..batch {
                    let range = row * hidden..(row + 1) * hidden;
                    let Some(place) = at(row) else {
                        // A sequence that has ended keeps its state.
                        room.state[range.clone()].copy_from_slice(&room.old_state[range.clone()]);
                        room.memory[range.clone()].copy_from_slice(&room.old_memory[range]);
                        continue;
                    };
                    let into = if self.batch_first {
                        (row * times + place) * directions + direction
                    } else {
                        (place * directions + direction) * batch + row
                    };
                    let units = all[into * hidden..][..hidden].iter_mut().zip(&room.state[range]);
                    units.for_each(|(result, value)| *result = T::from_f64(*value));
                }
            }
            last[direction * batch * hidden..][..batch * hidden].copy_from_slice(&room.state);
            memories[direction * batch * hidden..][..batch * hidden].copy_from_slice(&room.memory);
        }
        for (number, values) in [last, memories].into_iter().enumerate() {
            if !outputs.wanted(number + 1) {
                continue;
            }
            let results = outputs.allocate::<T>(number + 1, &last_shape)?;
            for (index, value) in values.iter().enumerate() {
                let (unit, row, direction) = (index % hidden, index / hidden % batch, index / hidden / batch);
                results[if self.batch_first { (row * directions + direction) * hidden + unit } else { index }] =
                    T::from_f64(*value);
            }
        }
        Ok(())
    }

    fn first_state(&self, values: Option<&[f64]>, direction: usize, sizes: Sizes, state: &mut [f64]) {
        let Sizes { batch, hidden, .. } = sizes;
        let directions = self.backwards.len();
        let at = |row: usize| if self.batch_first { row * directions + direction } else { direction * batch + row };
        let Some(values) = values else { return state.fill(0.0) };
        for row in 0..batch {
            state[row * hidden..][..hidden].copy_from_slice(&values[at(row) * hidden..][..hidden]);
        }
    }
}

/// The states of all rows, and what a step needs to compute the next ones.
struct Room<T> {
    state: Buffer<f64>,
    memory: Buffer<f64>,
    old_state: Buffer<f64>,
    old_memory: Buffer<f64>,
    /// The old states in the type of the weights.
    before: Buffer<T>,
    /// What they give to all gates.
    fed: Buffer<T>,
    reset: Buffer<f64>,
}

impl<T: Number> Room<T> {
    fn new(sizes: Sizes, width: usize, scratch: &mut Scratch) -> Result<Self, Fault> {
        let Sizes { batch, hidden, .. } = sizes;
        Ok(Self {
            state: scratch.zeros(batch * hidden)?,
            memory: scratch.zeros(batch * hidden)?,
            old_state: scratch.unset(batch * hidden)?,
            old_memory: scratch.unset(batch * hidden)?,
            before: scratch.unset(batch * hidden)?,
            fed: scratch.unset(batch * width)?,
            reset: scratch.unset(hidden)?,
        })
    }
}

/// What belongs to one direction, or zeros.
fn part<'a>(values: &'a Option<Buffer<f64>>, zeros: &'a [f64], direction: usize, size: usize) -> &'a [f64] {
    values.as_ref().map_or(&zeros[..size], |values| &values[direction * size..][..size])
}

/// What one direction needs at every step.
struct Step<'a, T> {
    network: &'a Network,
    direction: usize,
    sizes: Sizes,
    bias: &'a [f64],
    peepholes: &'a [f64],
    weights: &'a [T],
}

impl<T: MatrixNumber> Step<'_, T> {
    fn advance(&self, projected: &[T], at: &dyn Fn(usize) -> Option<usize>, room: &mut Room<T>) {
        let Sizes { times, batch, hidden, .. } = self.sizes;
        let gates = self.network.cell.gates();
        let width = gates * hidden;
        let count = self.network.cell.activations().len();
        let activations = &self.network.activations[self.direction * count..][..count];
        let Room { state, memory, old_state, before, fed, reset, .. } = room;
        before.iter_mut().zip(old_state.iter()).for_each(|(into, value)| *into = T::from_f64(*value));
        let left = Matrix::rows(before, hidden);
        T::multiply(batch, hidden, width, left, Matrix::columns(self.weights, hidden), fed);
        for row in 0..batch {
            let Some(time) = at(row) else { continue };
            let place = if self.network.batch_first { row * times + time } else { time * batch + row };
            let own = &projected[place * width..][..width];
            let old = &old_state[row * hidden..][..hidden];
            let input = |gate: usize, unit: usize| own[gate * hidden + unit].to_f64() + self.bias[gate * hidden + unit];
            let back = |gate: usize, unit: usize| {
                fed[row * width + gate * hidden + unit].to_f64() + self.bias[width + gate * hidden + unit]
            };
            match self.network.cell {
                Cell::Plain => {
                    for unit in 0..hidden {
                        state[row * hidden + unit] = activations[0].apply(input(0, unit) + back(0, unit));
                    }
                }
                Cell::Gated => {
                    for (unit, reset) in reset.iter_mut().enumerate() {
                        *reset = activations[0].apply(input(1, unit) + back(1, unit));
                    }
                    for unit in 0..hidden {
                        let update = activations[0].apply(input(0, unit) + back(0, unit));
                        let fed_back = if self.network.reset_after {
                            reset[unit] * back(2, unit)
                        } else {
                            let weights = &self.weights[(2 * hidden + unit) * hidden..][..hidden];
                            let sum: f64 =
                                weights.iter().zip(reset.iter().zip(old)).map(|(w, (r, h))| w.to_f64() * r * h).sum();
                            sum + self.bias[width + 2 * hidden + unit]
                        };
                        let new = activations[1].apply(input(2, unit) + fed_back);
                        state[row * hidden + unit] = (1.0 - update) * new + update * old[unit];
                    }
                }
                Cell::Memory => {
                    for unit in 0..hidden {
                        let kept = memory[row * hidden + unit];
                        let peep = |gate: usize| self.peepholes[gate * hidden + unit];
                        let enter = activations[0].apply(input(0, unit) + back(0, unit) + peep(0) * kept);
                        let forget = if self.network.coupled {
                            1.0 - enter
                        } else {
                            activations[0].apply(input(2, unit) + back(2, unit) + peep(2) * kept)
                        };
                        let new = forget * kept + enter * activations[1].apply(input(3, unit) + back(3, unit));
                        let leave = activations[0].apply(input(1, unit) + back(1, unit) + peep(1) * new);
                        memory[row * hidden + unit] = new;
                        state[row * hidden + unit] = leave * activations[2].apply(new);
                    }
                }
            }
        }
    }
}
