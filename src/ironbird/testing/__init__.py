"""Checks that authors of blocks and vehicles run, and the proofs of the platform itself."""
