# Measures ONNX Runtime: one model, a batch of so many rows, in pieces. Prints one line of JSON.
import json
import sys
import time

import numpy
import onnxruntime

model, rows, piece, threads, repeat, dims = sys.argv[1], *map(int, sys.argv[2:6]), json.loads(sys.argv[6])


def status(name):
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0


def values(port):
    random = numpy.random.default_rng(1)
    shape = dims[port.name]
    if "int" in port.type:
        return random.integers(0, 256, size=shape).astype(port.type[7:-1])
    return random.standard_normal(shape).astype("float64" if "double" in port.type else "float32")


options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
inputs = {port.name: values(port) for port in session.get_inputs()}


def run(first, count):
    part = {}
    for name, value in inputs.items():
        axis = dims["axes"][name]
        if axis is None:
            part[name] = value
        else:
            cut = [slice(None)] * value.ndim
            cut[axis] = slice(first, first + count)
            part[name] = numpy.ascontiguousarray(value[tuple(cut)])
    return session.run(None, part)


run(0, 1)
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
best = None
for _ in range(repeat):
    cpu, wall = time.process_time(), time.perf_counter()
    for first in range(0, rows, piece):
        run(first, min(piece, rows - first))
    spent = (time.process_time() - cpu, time.perf_counter() - wall)
    best = min(best, spent) if best else spent
print(json.dumps({
    "bench": "tensor",
    "peer": "onnxruntime",
    "version": onnxruntime.__version__,
    "rows": rows,
    "piece": piece,
    "workers": threads,
    "cpu_ms_per_row": best[0] * 1e3 / rows,
    "seconds": best[1],
    "resident_bytes": max(0, status("VmHWM") - before),
}))
