"""The proof of repeatability: when it says that all runs were equal."""

from __future__ import annotations

from ironbird.proofs.determinism import Result, all_equal


def test_all_runs_of_one_length_must_have_one_hash() -> None:
    long = [Result("alone", 60.0, "a"), Result("among others", 60.0, "a")]
    short = [Result("alone, short", 6.0, "b"), Result("elsewhere", 6.0, "b")]

    assert all_equal([*long, *short])
    assert not all_equal([*long, *short, Result("elsewhere, again", 6.0, "c")])
    assert not all_equal([*long, Result("another place", 60.0, "b"), *short])


def test_a_run_that_was_skipped_is_no_difference() -> None:
    assert all_equal([Result("alone", 60.0, "a"), Result("elsewhere", 60.0, "", "there is no emulator")])
