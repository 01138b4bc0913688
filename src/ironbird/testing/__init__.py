"""Checks that authors of blocks and vehicles run, and a block by itself."""

from ironbird.testing.checks import check_block, check_vehicle

__all__ = ["check_block", "check_vehicle"]
