//! A token goes around a ring of nodes, and counts its hops.

use std::sync::Arc;

use drawloom_messages::data::{Field, Layout, Record, Scalar, Tuple};
use drawloom_messages::{
    Code, Device, DeviceType, DeviceView, EdgeView, GraphType, Handlers, InputId, InputPin, Instance, InstanceBuilder,
    OutputId, OutputPin, Pins, Result, Sent,
};

/// What the handlers reach.
struct Node {
    total: Field<u32>,
    starts: Field<u8>,
    holds: Field<u32>,
    hops: Field<u32>,
    count: Field<u32>,
}

impl Handlers for Node {
    fn init(&self, device: &mut Device<'_>) {
        let begins = self.starts.get(device.properties) != 0 && self.total.get(device.graph) > 0;
        self.holds.set(device.state, u32::from(begins));
    }

    fn receive(&self, _: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let hops = self.count.get(message);
        let total = self.total.get(device.graph);
        device.assert(hops <= total, || format!("the token made {hops} hops of {total}"));
        self.hops.set(device.state, hops);
        self.holds.set(device.state, u32::from(hops < total));
        if hops >= total {
            device.export(0, hops);
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), self.holds.get(device.state) != 0);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        self.count.set(message, self.hops.get(device.state) + 1);
        self.holds.set(device.state, 0);
        Sent::Broadcast
    }
}

/// The graph type `drawloom_ring`.
pub fn graph_type() -> Arc<GraphType> {
    let build = || {
        let graph = Layout::new(Tuple::new().with_default("total", Scalar::U32, 1))?;
        let properties = Layout::new(Tuple::new().with_default("starts", Scalar::Bool, false))?;
        let state = Layout::new(Tuple::new().with("holds", Scalar::U32).with("hops", Scalar::U32))?;
        let token = Layout::new(Tuple::new().with("hops", Scalar::U32))?;
        let node = Node {
            total: graph.field("total")?,
            starts: properties.field("starts")?,
            holds: state.field("holds")?,
            hops: state.field("hops")?,
            count: token.field("hops")?,
        };
        let receive = "handler_assert(message->hops <= graphProperties->total);\n\
            deviceState->hops = message->hops;\n\
            deviceState->holds = message->hops < graphProperties->total;\n\
            if(message->hops >= graphProperties->total){ handler_export_key_value(0, message->hops); }";
        GraphType::builder("drawloom_ring")
            .documentation("A token goes around a ring of nodes, and counts its hops.")
            .properties(graph)
            .message("token", token)
            .device(
                DeviceType::builder("node")
                    .properties(properties)
                    .state(state)
                    .input(InputPin::new("in", "token").with_code(receive))
                    .output(
                        OutputPin::new("out", "token")
                            .with_code("message->hops = deviceState->hops + 1;\ndeviceState->holds = 0;"),
                    )
                    .code(Code {
                        init: "deviceState->holds = deviceProperties->starts && graphProperties->total > 0;".to_owned(),
                        ready: "*readyToSend = deviceState->holds ? RTS_FLAG_out : 0;".to_owned(),
                        ..Code::default()
                    })
                    .handlers(node),
            )
            .build()
    };
    build().expect("the sample is well-formed")
}

/// A ring of `nodes` nodes, around which the token goes `laps` times.
///
/// # Errors
/// When that makes too many hops.
pub fn instance(nodes: u32, laps: u32) -> Result<Arc<Instance>> {
    let graph_type = graph_type();
    let total =
        Record::from_json(graph_type.properties(), &format!("{{\"total\":{}}}", u64::from(nodes) * u64::from(laps)))?;
    let kind = &graph_type.devices()[0];
    let mut builder = InstanceBuilder::new(&graph_type, format!("ring_{nodes}_{laps}"));
    builder.properties(total.bytes())?;
    let first = Record::new(kind.properties()).with("starts", 1_u8)?;
    let id = graph_type.device("node").expect("the type has nodes");
    let devices = (0..nodes)
        .map(|number| {
            let properties = (number == 0).then(|| first.bytes());
            builder.device_with(&format!("node_{number}"), id, properties, None)
        })
        .collect::<Result<Vec<_>>>()?;
    for (number, device) in devices.iter().enumerate() {
        builder.edge(*device, OutputId(0), devices[(number + 1) % devices.len()], InputId(0))?;
    }
    builder.build()
}
