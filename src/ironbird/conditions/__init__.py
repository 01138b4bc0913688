"""Conditions on signals as text with units: one language for the triggers of faults and for requirements.

`formula` reads a text with the `names` of a model, `trigger` compiles it for the kernel, `evaluate` computes its
numbers from columns; margins are made in `ironbird.requirements`.
"""
