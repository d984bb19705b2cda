//! Heat spreads over a grid, without a global clock: each cell is as far in time as its neighbours let it.
//!
//! A cell tells its neighbours how hot it is at its own time. When it has heard all of them about that time, it goes on to
//! the next. A neighbour may be one step ahead, never two, so what it says about the next step is kept apart. Heat is a
//! whole number, so sums do not depend on the order in which the neighbours are heard.

use std::sync::Arc;

use drawloom_messages::data::{Field, Layout, Record, Scalar, Tuple, Type};
use drawloom_messages::{
    Code, Device, DeviceType, DeviceView, EdgeView, GraphType, Handlers, InputId, InputPin, Instance, InstanceBuilder,
    OutputId, OutputPin, Pins, Result, Sent,
};

/// What the handlers reach.
struct Cell {
    steps: Field<u32>,
    degree: Field<u32>,
    held: Field<u8>,
    first: Field<i32>,
    time: Field<u32>,
    heat: Field<i32>,
    sent: Field<u32>,
    /// How many neighbours were heard about this step and the next, and the sums of what they said.
    heard: Field<[u32; 2]>,
    sums: Field<[i64; 2]>,
    said_time: Field<u32>,
    said_heat: Field<i32>,
}

impl Cell {
    fn go_on(&self, device: &mut Device<'_>) {
        let (time, degree) = (self.time.get(device.state), self.degree.get(device.properties));
        let ([now, next], [sum, next_sum]) = (self.heard.get(device.state), self.sums.get(device.state));
        if self.sent.get(device.state) == 0 || now < degree || time >= self.steps.get(device.graph) {
            return;
        }
        let heat = i64::from(self.heat.get(device.state));
        if self.held.get(device.properties) == 0 {
            let change = (sum - i64::from(degree) * heat) / 8;
            self.heat.set(device.state, heat.saturating_add(change) as i32);
        }
        self.time.set(device.state, time + 1);
        self.sent.set(device.state, 0);
        self.heard.set(device.state, [next, 0]);
        self.sums.set(device.state, [next_sum, 0]);
    }
}

impl Handlers for Cell {
    fn init(&self, device: &mut Device<'_>) {
        self.heat.set(device.state, self.first.get(device.properties));
    }

    fn receive(&self, _: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let (said, time) = (self.said_time.get(message), self.time.get(device.state));
        let ahead = said.wrapping_sub(time);
        device.assert(ahead <= 1, || format!("at time {time}, a neighbour speaks of time {said}"));
        let ahead = (ahead & 1) as usize;
        self.heard.at_mut(device.state)[ahead] += 1;
        self.sums.at_mut(device.state)[ahead] += i64::from(self.said_heat.get(message));
        self.go_on(device);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), self.sent.get(device.state) == 0);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        self.said_time.set(message, self.time.get(device.state));
        self.said_heat.set(message, self.heat.get(device.state));
        self.sent.set(device.state, 1);
        self.go_on(device);
        Sent::Broadcast
    }

    fn idle(&self, device: &mut Device<'_>) {
        // Before, what was heard about the next step depends on the order of messages.
        device.checkpoint(0, "settled");
    }
}

/// The graph type `drawloom_heat`.
pub fn graph_type() -> Arc<GraphType> {
    let build = || {
        let graph = Layout::new(Tuple::new().with_default("steps", Scalar::U32, 10))?;
        let properties = Layout::new(
            Tuple::new().with("degree", Scalar::U32).with_default("held", Scalar::Bool, false).with_default(
                "first",
                Scalar::I32,
                0,
            ),
        )?;
        let state = Layout::new(
            Tuple::new()
                .with("time", Scalar::U32)
                .with("heat", Scalar::I32)
                .with("sent", Scalar::U32)
                .with("heard", Type::array(Scalar::U32, 2))
                .with("sums", Type::array(Scalar::I64, 2)),
        )?;
        let update = Layout::new(Tuple::new().with("time", Scalar::U32).with("heat", Scalar::I32))?;
        let cell = Cell {
            steps: graph.field("steps")?,
            degree: properties.field("degree")?,
            held: properties.field("held")?,
            first: properties.field("first")?,
            time: state.field("time")?,
            heat: state.field("heat")?,
            sent: state.field("sent")?,
            heard: state.field("heard")?,
            sums: state.field("sums")?,
            said_time: update.field("time")?,
            said_heat: update.field("heat")?,
        };
        GraphType::builder("drawloom_heat")
            .documentation("Heat spreads over a grid; each cell is as far in time as its neighbours let it.")
            .properties(graph)
            .message("update", update)
            .device(
                DeviceType::builder("cell")
                    .properties(properties)
                    .state(state)
                    .input(InputPin::new("in", "update").with_code(RECEIVE))
                    .output(OutputPin::new("out", "update").with_code(SEND))
                    .code(Code {
                        shared: GO_ON.to_owned(),
                        init: "deviceState->heat = deviceProperties->first;".to_owned(),
                        ready: "*readyToSend = deviceState->sent ? 0 : RTS_FLAG_out;".to_owned(),
                        idle: "handler_checkpoint(true, 0, \"settled\");".to_owned(),
                    })
                    .handlers(cell),
            )
            .build()
    };
    build().expect("the sample is well-formed")
}

const GO_ON: &str = "\
template<class G, class P, class S>
void go_on(const G *graphProperties, const P *deviceProperties, S *deviceState){
  if(!deviceState->sent || deviceState->heard[0] < deviceProperties->degree || deviceState->time >= graphProperties->steps){
    return;
  }
  if(!deviceProperties->held){
    deviceState->heat += (deviceState->sums[0] - (int64_t)deviceProperties->degree * deviceState->heat) / 8;
  }
  deviceState->time++;
  deviceState->sent = 0;
  deviceState->heard[0] = deviceState->heard[1];
  deviceState->heard[1] = 0;
  deviceState->sums[0] = deviceState->sums[1];
  deviceState->sums[1] = 0;
}";

const RECEIVE: &str = "\
uint32_t ahead = message->time - deviceState->time;
handler_assert(ahead <= 1);
deviceState->heard[ahead]++;
deviceState->sums[ahead] += message->heat;
go_on(graphProperties, deviceProperties, deviceState);";

const SEND: &str = "\
message->time = deviceState->time;
message->heat = deviceState->heat;
deviceState->sent = 1;
go_on(graphProperties, deviceProperties, deviceState);";

/// A grid whose upper left corner is kept hot, for so many steps.
///
/// # Errors
/// When there are too many cells.
pub fn instance(width: u32, height: u32, steps: u32) -> Result<Arc<Instance>> {
    let graph_type = graph_type();
    let id = graph_type.device("cell").expect("the type has cells");
    let layout = graph_type.devices()[id.index()].properties();
    let (degree, held, first) =
        (layout.field::<u32>("degree")?, layout.field::<u8>("held")?, layout.field::<i32>("first")?);
    let mut builder = InstanceBuilder::new(&graph_type, format!("heat_{width}x{height}_{steps}"));
    builder.properties(Record::new(graph_type.properties()).with("steps", steps)?.bytes())?;
    let mut record = Record::new(layout);
    let mut cells = Vec::new();
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let neighbours = [x > 0, x + 1 < width, y > 0, y + 1 < height].into_iter().map(u32::from).sum();
        let corner = (x, y) == (0, 0);
        degree.set(record.bytes_mut(), neighbours);
        held.set(record.bytes_mut(), u8::from(corner));
        first.set(record.bytes_mut(), if corner { 1 << 24 } else { 0 });
        cells.push(builder.device_with(&format!("cell_{x}_{y}"), id, Some(record.bytes()), None)?);
    }
    let number = |x: u32, y: u32| cells[(y as usize) * width as usize + x as usize];
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let mut join = |x2: u32, y2: u32| builder.edge(number(x, y), OutputId(0), number(x2, y2), InputId(0));
        if x > 0 {
            join(x - 1, y)?;
        }
        if x + 1 < width {
            join(x + 1, y)?;
        }
        if y > 0 {
            join(x, y - 1)?;
        }
        if y + 1 < height {
            join(x, y + 1)?;
        }
    }
    builder.build()
}
