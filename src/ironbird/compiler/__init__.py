"""Compiler from a diagram to native code: flattening, value graph, C text, C compiler, cache."""
