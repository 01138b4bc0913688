"""Shared CasADi expressions that blocks are built from: rotations, quaternions, the Earth, shapes, smooth limits."""
