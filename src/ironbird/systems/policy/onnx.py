"""ONNX files of small dense networks, read without a library: protobuf fields, Gemm, MatMul, Add, Tanh, Relu.

What a policy observes and commands is the JSON text of its metadata `policy` (`Policy.facts`). Files are data: nothing
in them is run; every other operation is refused by name. The format is that of onnx.proto [ONNX].
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RecordError
from ironbird.systems.policy.network import Layer, Policy

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FLOAT, DOUBLE = 1, 11  # TensorProto.DataType
ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu"}
PASSED = ("Identity", "Flatten")


def read_onnx(path: Path) -> Policy:
    """The policy of an ONNX file; `RecordError` says what it has that a policy may not have."""
    try:
        model = _fields(path.read_bytes())
        graph = _fields(model[7][0])
        texts = {k: v for k, v in (_pair(entry) for entry in model.get(14, []))}
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise RecordError(f"{path} is no ONNX file: {error!r}") from None
    if "policy" not in texts:
        raise RecordError(
            f"{path} does not say what its numbers are: set its metadata 'policy' to the JSON of Policy.facts "
            "(docs/guide/learning.md)"
        )
    try:
        layers = _layers(graph, path)
        facts: dict[str, Any] = json.loads(texts["policy"])
    except (IndexError, KeyError, struct.error, ValueError, UnicodeDecodeError, TypeError) as error:
        raise RecordError(f"{path} cannot be read as a policy: {error!r}") from None
    return Policy.of_facts(facts, layers, str(path))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise IndexError("a number without end")


def _parts(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            if at + size > len(data):
                raise IndexError("cut off")
            yield number, data[at : at + size]
            at += size
        elif kind == BYTES:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise IndexError("cut off")
            yield number, data[at : at + size]
            at += size
        else:
            raise IndexError(f"a field of kind {kind}")


def _fields(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, value in _parts(data):
        found.setdefault(number, []).append(value)
    return found


def _pair(data: bytes) -> tuple[str, str]:
    fields = _fields(data)
    return fields[1][0].decode(), fields[2][0].decode()


def _tensor(data: bytes) -> tuple[str, np.ndarray]:
    """Name and numbers of a TensorProto."""
    fields = _fields(data)
    shape: list[int] = []
    for part in fields.get(1, []):
        if isinstance(part, int):
            shape.append(part)
        else:  # packed
            at = 0
            while at < len(part):
                size, at = _varint(part, at)
                shape.append(size)
    kind = fields[2][0]
    if kind not in (FLOAT, DOUBLE):
        raise ValueError(f"a tensor of type {kind}; weights are float or double")
    if 13 in fields:
        raise ValueError("weights in another file; write them into this one")
    if 9 in fields:
        values = np.frombuffer(fields[9][0], "<f4" if kind == FLOAT else "<f8")
    else:
        values = np.frombuffer(b"".join(fields.get(4 if kind == FLOAT else 10, [])), "<f4" if kind == FLOAT else "<f8")
    return fields[8][0].decode(), np.array(values, np.float32).reshape(shape)


def _attributes(node: dict[int, list[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in node.get(5, []):
        fields = _fields(entry)
        number = fields.get(2) or fields.get(3)  # f, i
        value = number[0] if number else None
        found[fields[1][0].decode()] = struct.unpack("<f", value)[0] if isinstance(value, bytes) else value
    return found


def _layers(graph: dict[int, list[Any]], path: Path) -> list[Layer]:
    """The chain of layers; each node takes what the one before it gave."""
    tensors = dict(_tensor(entry) for entry in graph.get(5, []))
    inputs = [_fields(entry)[1][0].decode() for entry in graph.get(11, [])]
    here = next(name for name in inputs if name not in tensors)
    layers: list[Layer] = []
    for node in map(_fields, graph.get(1, [])):
        kind = node[4][0].decode()
        taken, given = [name.decode() for name in node.get(1, [])], node[2][0].decode()
        if kind == "Constant":
            raise RecordError(f"{path} has constants as nodes: fold them to initializers when it is written")
        if here not in taken:
            raise RecordError(f"{path}: node {kind} does not take what the one before gave; a policy is one chain")
        others = [tensors[name] for name in taken if name != here]
        if kind == "Gemm":
            layers.append(_gemm(_attributes(node), others))
        elif kind == "MatMul":
            layers.append(Layer(others[0].T.copy(), np.zeros(others[0].shape[1], np.float32), "none"))
        elif kind == "Add" and layers and layers[-1].activation == "none":
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias + others[0].ravel(), "none")
        elif kind in ACTIVATIONS and layers and layers[-1].activation == "none":
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, ACTIVATIONS[kind])
        elif kind not in PASSED:
            raise RecordError(
                f"{path} has the operation {kind} here, which a policy may not have: Gemm, MatMul and Add, each "
                "followed by Tanh, Relu or nothing"
            )
        here = given
    return layers


def _gemm(attributes: dict[str, Any], others: list[np.ndarray]) -> Layer:
    if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0 or attributes.get("transA", 0):
        raise ValueError("a Gemm with alpha, beta or transA")
    weight = others[0] if attributes.get("transB", 0) else others[0].T
    bias = others[1].ravel() if len(others) > 1 else np.zeros(weight.shape[0], np.float32)
    return Layer(np.ascontiguousarray(weight), bias, "none")
