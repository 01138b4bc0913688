"""From a diagram to native code: flatten, value graph, C text, compiler, cache."""
