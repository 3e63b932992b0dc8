# SPDX-License-Identifier: Apache-2.0
"""What the Python contestants share: options, tokens, and one JSON line per step."""
import argparse
import json
import time

import numpy

LEARNING_RATE = 1e-4


def options(description, **switches):
    """`switches`: flags of one contestant, name -> help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", required=True, help="gpt2-124m.onnx with its weights")
    parser.add_argument("--tokens", required=True, help=".npy, int64, batch x sequence")
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--artifacts", help="folder for what is compiled")
    for name, text in switches.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser.parse_args()


def micro_batches(given):
    tokens = numpy.load(given.tokens)
    return numpy.split(tokens, given.micro_batches)


def run(steps, step):
    """Calls step() -> loss; prints {"loss", "ms"} each time."""
    for _ in range(steps):
        start = time.perf_counter()
        loss = step()
        print(json.dumps({"loss": float(loss), "ms": (time.perf_counter() - start) * 1e3}), flush=True)
