"""Checks for authors of blocks, vehicles and chips, and tools to run one block by itself."""

from ironbird.testing.checks import check_block, check_vehicle
from ironbird.testing.chips import check_chip

__all__ = ["check_block", "check_chip", "check_vehicle"]
