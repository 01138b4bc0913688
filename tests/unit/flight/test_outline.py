"""The outline of a vehicle: what is refused before a model is compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ironbird.errors import ConditionError
from ironbird.flight.order import make_order
from ironbird.flight.outline import check_requirements


def test_a_requirement_that_cannot_be_read_is_refused_before_the_model_is_compiled() -> None:
    good = make_order("quad_f450", control="truth", mission="hover", requirements=["always (height < 50 m)"])
    check_requirements(good)
    bad = replace(good, requirements=(replace(good.requirements[0], formula="always (hieght < 50 m)"),))
    with pytest.raises(ConditionError, match="hieght"):
        check_requirements(bad)
    check_requirements(replace(bad, control="mine.py:Controller"))  # its model is known when it is loaded
