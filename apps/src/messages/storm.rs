//! Waves flood a graph. The root starts one after the other, each when the one before has calmed down everywhere.

use std::sync::Arc;

use drawloom_messages::data::{Field, Layout, Record, Scalar, Tuple};
use drawloom_messages::{
    Code, Device, DeviceType, DeviceView, EdgeView, GraphType, Handlers, InputId, InputPin, Instance, InstanceBuilder,
    OutputId, OutputPin, Pins, Result, Sent,
};

/// What the handlers reach.
struct Node {
    waves: Field<u32>,
    root: Field<u8>,
    /// The last wave that came here, and the last that was passed on.
    seen: Field<u32>,
    passed: Field<u32>,
    heard: Field<u32>,
    wave: Field<u32>,
}

impl Handlers for Node {
    fn receive(&self, _: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let (wave, seen) = (self.wave.get(message), self.seen.get(device.state));
        self.seen.set(device.state, seen.max(wave));
        *self.heard.at_mut(device.state) += 1;
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), self.passed.get(device.state) < self.seen.get(device.state));
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let seen = self.seen.get(device.state);
        self.passed.set(device.state, seen);
        self.wave.set(message, seen);
        Sent::Broadcast
    }

    fn idle(&self, device: &mut Device<'_>) {
        if self.root.get(device.properties) == 0 {
            return;
        }
        let seen = self.seen.get(device.state);
        if seen < self.waves.get(device.graph) {
            self.seen.set(device.state, seen + 1);
        } else {
            device.export(0, seen);
            device.exit(0);
        }
    }
}

/// The graph type `drawloom_storm`.
pub fn graph_type() -> Arc<GraphType> {
    let build = || {
        let graph = Layout::new(Tuple::new().with_default("waves", Scalar::U32, 1))?;
        let properties = Layout::new(Tuple::new().with_default("root", Scalar::Bool, false))?;
        let state =
            Layout::new(Tuple::new().with("seen", Scalar::U32).with("passed", Scalar::U32).with("heard", Scalar::U32))?;
        let wave = Layout::new(Tuple::new().with("wave", Scalar::U32))?;
        let node = Node {
            waves: graph.field("waves")?,
            root: properties.field("root")?,
            seen: state.field("seen")?,
            passed: state.field("passed")?,
            heard: state.field("heard")?,
            wave: wave.field("wave")?,
        };
        let idle = "if(deviceProperties->root){\n\
            \x20 if(deviceState->seen < graphProperties->waves){ deviceState->seen++; }\n\
            \x20 else{ handler_export_key_value(0, deviceState->seen); handler_exit(0); }\n}";
        GraphType::builder("drawloom_storm")
            .documentation("Waves flood a graph, each when the one before has calmed down everywhere.")
            .properties(graph)
            .message("surge", wave)
            .device(
                DeviceType::builder("node")
                    .properties(properties)
                    .state(state)
                    .input(InputPin::new("in", "surge").with_code(
                        "if(message->wave > deviceState->seen){ deviceState->seen = message->wave; }\ndeviceState->heard++;",
                    ))
                    .output(OutputPin::new("out", "surge").with_code(
                        "deviceState->passed = deviceState->seen;\nmessage->wave = deviceState->seen;",
                    ))
                    .code(Code {
                        ready: "*readyToSend = deviceState->passed < deviceState->seen ? RTS_FLAG_out : 0;".to_owned(),
                        idle: idle.to_owned(),
                        ..Code::default()
                    })
                    .handlers(node),
            )
            .build()
    };
    build().expect("the sample is well-formed")
}

/// A random graph of `nodes` nodes, each with `degree` edges to others and one to the next, over which `waves` waves go.
/// Every node is reached, so a wave is `nodes` sends and `nodes * (degree + 1)` deliveries.
///
/// # Errors
/// When there are too many edges.
pub fn instance(nodes: u32, degree: u32, waves: u32, seed: u64) -> Result<Arc<Instance>> {
    let graph_type = graph_type();
    let id = graph_type.device("node").expect("the type has nodes");
    let mut builder = InstanceBuilder::new(&graph_type, format!("storm_{nodes}_{degree}_{waves}"));
    builder.properties(Record::new(graph_type.properties()).with("waves", waves)?.bytes())?;
    let root = Record::new(graph_type.devices()[id.index()].properties()).with("root", 1_u8)?;
    let devices = (0..nodes)
        .map(|number| builder.device_with(&format!("node_{number}"), id, (number == 0).then(|| root.bytes()), None))
        .collect::<Result<Vec<_>>>()?;
    let mut rng = fastrand::Rng::with_seed(seed);
    for number in 0..devices.len() {
        builder.edge(devices[number], OutputId(0), devices[(number + 1) % devices.len()], InputId(0))?;
        for _ in 0..degree {
            builder.edge(devices[number], OutputId(0), devices[rng.usize(..devices.len())], InputId(0))?;
        }
    }
    builder.build()
}
