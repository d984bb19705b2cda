//! A random commutative graph type, and an interpreter to compare the executors with.

// Every test file uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;

use drawloom_messages::data::{Field, Layout, Record, Scalar, Tuple};
use drawloom_messages::{
    Counts, Device, DeviceId, DeviceType, DeviceView, EdgeValues, EdgeView, Executor, GraphType, Handlers, InputId,
    InputPin, Instance, InstanceBuilder, Machine, OutputId, OutputPin, Pins, Report, Sent, Settings,
};

/// Every executor, with some seeds.
pub fn executors() -> Vec<Executor> {
    vec![
        Executor::Fifo,
        Executor::Lifo,
        Executor::Random { seed: 1 },
        Executor::Random { seed: 2 },
        Executor::Delay { probability: 0.5, seed: 3 },
        Executor::Delay { probability: 0.9, seed: 4 },
        Executor::Parallel { workers: 1 },
        Executor::Parallel { workers: 2 },
        Executor::Parallel { workers: 3 },
    ]
}

/// Numbers add up, so order does not matter: each device sends a fixed number of messages from each of its pins, after it
/// has heard enough, and in each of several idle rounds. Some pins are indexed and deal messages out in turn, some sends
/// are cancelled first.
pub struct Mixer {
    pub outputs: u32,
    pub every: Field<u32>,
    pub rounds: Field<u32>,
    pub weight: Field<u32>,
    pub passed: Field<u32>,
    pub heard: Field<u32>,
    pub budget: Field<[u32; PINS]>,
    pub cancel: Field<u32>,
    pub round: Field<u32>,
    pub turn: Field<u32>,
    pub sum: Field<u64>,
    pub value: Field<u64>,
}

/// More than fit into one word.
pub const PINS: usize = 70;

/// The pins that are used: on both sides of the word's end.
pub const USED: [u32; 4] = [0, 3, 64, 69];

/// The pin that is indexed.
pub const INDEXED: u32 = 64;

impl Mixer {
    fn rest(&self, state: &[u8]) -> [u32; PINS] {
        self.budget.get(state)
    }
}

impl Handlers for Mixer {
    fn init(&self, device: &mut Device<'_>) {
        self.sum.set(device.state, u64::from(device.id().0) + 1);
        let mut budget = [0; PINS];
        budget[USED[device.id().index() % 4] as usize] = 1;
        self.budget.set(device.state, budget);
    }

    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let weight = u64::from(self.weight.get(edge.properties)) * u64::from(pin.0 + 1);
        let passed = self.passed.get(edge.state);
        self.passed.set(edge.state, passed + 1);
        let value = self.value.get(message).wrapping_mul(weight);
        let sum = self.sum.get(device.state);
        self.sum.set(device.state, sum.wrapping_add(value));
        let heard = self.heard.get(device.state) + 1;
        self.heard.set(device.state, heard);
        if heard.is_multiple_of(self.every.get(device.properties)) && heard < 40 {
            let pin = USED[(heard as usize + device.id().index()) % 4] as usize;
            self.budget.at_mut(device.state)[pin] += 1;
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        for (pin, budget) in (0..).zip(self.rest(device.state)) {
            pins.insert_if(OutputId(pin), budget > 0);
        }
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let cancel = self.cancel.get(device.state);
        self.cancel.set(device.state, cancel ^ 1);
        if cancel == 0 {
            return Sent::Cancelled;
        }
        self.budget.at_mut(device.state)[pin.index()] -= 1;
        // What is sent must not depend on what was heard so far.
        self.value.set(message, u64::from(device.id().0) * 1000 + u64::from(pin.0));
        if pin.0 != INDEXED {
            return Sent::Broadcast;
        }
        let turn = self.turn.get(device.state);
        self.turn.set(device.state, (turn + 1) % 2);
        Sent::Edge(turn)
    }

    fn idle(&self, device: &mut Device<'_>) {
        let round = self.round.get(device.state);
        if round < self.rounds.get(device.graph) {
            self.round.set(device.state, round + 1);
            self.budget.at_mut(device.state)[USED[(round as usize) % 4] as usize] += 1;
        } else {
            device.checkpoint(0, "end");
        }
    }
}

/// The graph type of mixers.
pub fn mixer_type() -> Arc<GraphType> {
    let graph = Layout::new(Tuple::new().with("rounds", Scalar::U32)).unwrap();
    let properties = Layout::new(Tuple::new().with("every", Scalar::U32)).unwrap();
    let budget = drawloom_messages::data::Type::array(Scalar::U32, PINS);
    let state = Tuple::new()
        .with("heard", Scalar::U32)
        .with("budget", budget)
        .with("cancel", Scalar::U32)
        .with("round", Scalar::U32)
        .with("turn", Scalar::U32)
        .with("sum", Scalar::U64);
    let state = Layout::new(state).unwrap();
    let edge = Layout::new(Tuple::new().with("weight", Scalar::U32)).unwrap();
    let passed = Layout::new(Tuple::new().with("passed", Scalar::U32)).unwrap();
    let message = Layout::new(Tuple::new().with("value", Scalar::U64)).unwrap();
    let mixer = || Mixer {
        outputs: PINS as u32,
        every: properties.field("every").unwrap(),
        rounds: graph.field("rounds").unwrap(),
        weight: edge.field("weight").unwrap(),
        passed: passed.field("passed").unwrap(),
        heard: state.field("heard").unwrap(),
        budget: state.field("budget").unwrap(),
        cancel: state.field("cancel").unwrap(),
        round: state.field("round").unwrap(),
        turn: state.field("turn").unwrap(),
        sum: state.field("sum").unwrap(),
        value: message.field("value").unwrap(),
    };
    let device = |id: &str| {
        let mut device = DeviceType::builder(id).properties(properties.clone()).state(state.clone()).handlers(mixer());
        for input in ["left", "right"] {
            let pin = InputPin::new(input, "number").with_properties(edge.clone()).with_state(passed.clone());
            device = device.input(pin);
        }
        for pin in 0..PINS as u32 {
            let output = OutputPin::new(format!("out_{pin}"), "number");
            device = device.output(if pin == INDEXED { output.indexed() } else { output });
        }
        device
    };
    let builder = GraphType::builder("mixer").properties(graph.clone()).message("number", message.clone());
    builder.device(device("mixer")).device(device("blender")).build().unwrap()
}

/// A random instance. Indexed pins have two edges each, so that every index is there.
pub fn mixer(graph_type: &Arc<GraphType>, seed: u64) -> Arc<Instance> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut builder = InstanceBuilder::new(graph_type, format!("mixer_{seed}"));
    let rounds = Record::new(graph_type.properties()).with("rounds", rng.u32(0..4)).unwrap();
    builder.properties(rounds.bytes()).unwrap();
    let devices: Vec<DeviceId> = (0..rng.u32(1..20))
        .map(|number| {
            let kind = graph_type.device(rng.choice(["mixer", "blender"]).unwrap()).unwrap();
            let layout = graph_type.devices()[kind.index()].properties();
            let every = Record::new(layout).with("every", rng.u32(1..5)).unwrap();
            builder.device_with(&format!("d{number}"), kind, Some(every.bytes()), None).unwrap()
        })
        .collect();
    let weight = graph_type.devices()[0].inputs()[0].properties().clone();
    for source in &devices {
        for pin in USED {
            let edges = if pin == INDEXED { 2 } else { rng.u32(0..4) };
            for index in 0..edges {
                let properties = Record::new(&weight).with("weight", rng.u32(0..10)).unwrap();
                let values = EdgeValues {
                    properties: Some(properties.bytes()),
                    state: None,
                    index: (pin == INDEXED).then(|| 1 - index),
                };
                let (target, input) = (*rng.choice(&devices).unwrap(), InputId(rng.u32(0..2)));
                builder.edge_with(*source, OutputId(pin), target, input, &values).unwrap();
            }
        }
    }
    builder.build().unwrap()
}

/// What an executor must come to: states of devices and edges, and counts.
#[derive(Debug, PartialEq)]
pub struct Result {
    pub states: Vec<Vec<u8>>,
    pub edges: Vec<Vec<u8>>,
    pub counts: Counts,
}

/// The result of a machine.
pub fn result(machine: &Machine, report: &Report) -> Result {
    let instance = machine.instance();
    Result {
        states: (0..instance.devices() as u32).map(|d| machine.state(DeviceId(d)).to_vec()).collect(),
        edges: instance.all_edges().map(|(edge, _)| machine.edge_state(edge).to_vec()).collect(),
        counts: report.counts,
    }
}

/// Runs an instance under an executor.
pub fn run(instance: &Arc<Instance>, executor: Executor) -> (Machine, Report) {
    let mut machine = Machine::new(instance);
    let report = machine.run(&Settings::new(executor).log()).unwrap();
    check_conservation(instance, &report);
    (machine, report)
}

/// Every message that was sent arrived over each of its edges, once: by what the log says.
pub fn check_conservation(instance: &Instance, report: &Report) {
    let log = report.log.as_ref().expect("the run was logged");
    let mut text = Vec::new();
    log.write(&mut text).unwrap();
    let mut expected = std::collections::BTreeMap::new();
    let (mut sends, mut deliveries) = (0, 0);
    for line in String::from_utf8(text).unwrap().lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        match event["event"].as_str() {
            Some("send") => {
                sends += 1;
                let device = instance.device(event["device"].as_str().unwrap()).unwrap();
                let pin = instance.type_of(device).output(event["pin"].as_str().unwrap()).unwrap();
                let mut edges: Vec<u64> = instance.edges_from(device, pin).map(|edge| u64::from(edge.0)).collect();
                if let Some(index) = event["index"].as_u64() {
                    edges = vec![edges[index as usize]];
                }
                for edge in edges {
                    assert!(expected.insert((event["n"].as_u64().unwrap(), edge), ()).is_none());
                }
            }
            Some("receive") => {
                deliveries += 1;
                let key = (event["message"].as_u64().unwrap(), event["edge"].as_u64().unwrap());
                assert!(expected.remove(&key).is_some(), "it was sent, and did not arrive before: {line}");
            }
            _ => {}
        }
    }
    assert!(expected.is_empty() || report.exit.is_some(), "nothing is lost");
    assert_eq!((sends, deliveries), (report.counts.sends, report.counts.deliveries));
}

/// A simple interpreter: pending deliveries in a list, of which any comes next.
pub fn interpret(instance: &Arc<Instance>, graph_type: &GraphType, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let state = graph_type.devices()[0].state();
    let (every, weight) = (
        graph_type.devices()[0].properties().field::<u32>("every").unwrap(),
        graph_type.devices()[0].inputs()[0].properties().field::<u32>("weight").unwrap(),
    );
    assert!(state.size() > 0);
    let rounds = graph_type.properties().field::<u32>("rounds").unwrap().get(instance.properties());
    let count = instance.devices();
    let mut sums: Vec<u64> = (1..=count as u64).collect();
    let (mut heard, mut turns) = (vec![0_u32; count], vec![0_u32; count]);
    let mut budgets: Vec<Vec<u32>> = (0..count).map(|device| vec![USED[device % 4]]).collect();
    let mut pending: Vec<(u32, u64)> = Vec::new();
    for round in 0..=rounds {
        loop {
            let ready: Vec<usize> = (0..count).filter(|device| !budgets[*device].is_empty()).collect();
            if pending.is_empty() && ready.is_empty() {
                break;
            }
            if !ready.is_empty() && (pending.is_empty() || rng.bool()) {
                let device = *rng.choice(&ready).unwrap();
                let place = rng.usize(..budgets[device].len());
                let pin = budgets[device].swap_remove(place);
                let mut edges: Vec<u32> =
                    instance.edges_from(DeviceId(device as u32), OutputId(pin)).map(|edge| edge.0).collect();
                if pin == INDEXED {
                    edges = vec![edges[turns[device] as usize]];
                    turns[device] = (turns[device] + 1) % 2;
                }
                pending.extend(edges.into_iter().map(|edge| (edge, device as u64 * 1000 + u64::from(pin))));
            } else {
                let place = rng.usize(..pending.len());
                let (edge, value) = pending.swap_remove(place);
                let (number, ends) = instance.all_edges().find(|(number, _)| number.0 == edge).unwrap();
                let target = ends.target.index();
                let factor = u64::from(weight.get(instance.edge_properties(number))) * u64::from(ends.input.0 + 1);
                sums[target] = sums[target].wrapping_add(value.wrapping_mul(factor));
                heard[target] += 1;
                if heard[target].is_multiple_of(every.get(instance.device_properties(ends.target)))
                    && heard[target] < 40
                {
                    budgets[target].push(USED[(heard[target] as usize + target) % 4]);
                }
            }
        }
        if round < rounds {
            budgets.iter_mut().for_each(|budget| budget.push(USED[round as usize % 4]));
        }
    }
    sums
}
