"""Link faults: each does what it is ordered, to as many packets as it is ordered, and says so."""

from __future__ import annotations

import math

import pytest

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.route import ROUTE_FAULTS
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import ATTITUDE, COMMAND_ACK, HEARTBEAT
from ironbird.transport.disturbance import Disturbance, check_faults
from ironbird.transport.frames import Frame, FrameReader

COUNT = 4000


def packets(count: int = COUNT) -> list[Frame]:
    packer, reader = Packer(), FrameReader()
    found: list[Frame] = []
    for number in range(count):
        packer.add(ATTITUDE, number, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0)
        found += reader.feed(bytes(packer.take()))
    assert len(found) == count and reader.skipped == 0
    return found


ALL = packets()


def passed(text: str, seed: int = 0, hz: float = 100.0) -> tuple[list[tuple[float, bytes]], Disturbance]:
    one = Disturbance("gcs", [parse_fault(text, ROUTE_FAULTS)], seed)
    return [out for k, frame in enumerate(ALL) for out in one.passes(k / hz, frame)], one


def test_without_a_fault_and_outside_its_window_packets_pass_byte_for_byte() -> None:
    clean = Disturbance("gcs")
    assert [clean.passes(0.01 * k, f) for k, f in enumerate(ALL)] == [[(0.01 * k, f.data)] for k, f in enumerate(ALL)]
    out, one = passed("route.drop@1:instance=gcs,severity=1,start=10,end=20")
    assert [data for _, data in out] == [f.data for f in ALL[:1000] + ALL[2000:]]
    assert one.witnesses[0].lost == 1000 and one.witnesses[0].first_s == 10.0


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_as_many_packets_are_lost_doubled_and_changed_as_ordered(share: float) -> None:
    bound = 4.0 * math.sqrt(share * (1.0 - share) * COUNT)  # four deviations of the binomial distribution
    for kind, count in (("drop", "lost"), ("duplicate", "doubled"), ("corrupt", "changed")):
        out, one = passed(f"route.{kind}@1:instance=gcs,severity={share}")
        assert abs(getattr(one.witnesses[0], count) - share * COUNT) < bound
        extra = {"drop": -1, "duplicate": 1, "corrupt": 0}[kind]
        assert len(out) == COUNT + extra * one.witnesses[0].disturbed
    different = sum(data != frame.data for (_, data), frame in zip(out, ALL, strict=True))
    assert different == one.witnesses[0].changed


def test_delay_and_jitter_keep_the_order_and_their_bounds() -> None:
    out, _ = passed("route.delay@1:instance=gcs,severity=0.25")
    assert all(due == pytest.approx(0.01 * k + 0.5) for k, (due, _) in enumerate(out))
    out, _ = passed("route.jitter@1:instance=gcs,severity=0.1")
    late = [due - 0.01 * k for k, (due, _) in enumerate(out)]
    assert [data for _, data in out] == [f.data for f in ALL]
    assert min(late) >= 0.0 and max(late) <= 0.1 + 1e-9 and max(late) > 0.09
    assert [due for due, _ in out] == sorted(due for due, _ in out)


def test_reordered_packets_are_overtaken_by_the_next_and_none_is_lost() -> None:
    out, one = passed("route.reorder@1:instance=gcs,severity=0.2")
    came = [data for _, data in out]
    sent = [f.data for f in ALL]
    assert set(came) <= set(sent) and len(came) >= COUNT - 1
    moved = sum(a != b for a, b in zip(came, sent, strict=False))
    assert 0.25 * COUNT < moved < 0.45 * COUNT  # two places for each exchange of neighbours
    assert one.witnesses[0].late > 0


def test_a_throttled_link_carries_its_bytes_a_second_and_loses_the_rest() -> None:
    out, one = passed("route.throttle@1:instance=gcs,severity=1")  # 100 bytes/s
    carried = sum(len(data) for due, data in out if due <= 40.0)
    assert carried == pytest.approx(100.0 * 40.0, rel=0.03)
    assert one.witnesses[0].lost > 0.9 * COUNT


def test_only_heartbeats_or_acknowledgements_come_through() -> None:
    packer, reader = Packer(), FrameReader()
    packer.add(HEARTBEAT, 0, 2, 12, 81, 4, 3)
    packer.add(COMMAND_ACK, 400, 0, 0, 0, 0, 0)
    packer.add(ATTITUDE, 1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    three = reader.feed(bytes(packer.take()))
    for kind, kept in (("heartbeats_only", 0), ("acks_only", 1)):
        one = Disturbance("gcs", [parse_fault(f"route.{kind}@1:instance=gcs", ROUTE_FAULTS)])
        assert [data for f in three for _, data in one.passes(0.0, f)] == [three[kept].data]
    assert "acted from 0.000 s: 2 lost of 3 packets" in one.witnesses[0].sentence()


def test_equal_seeds_give_equal_packets_and_others_do_not() -> None:
    text = "route.drop@1:instance=gcs,severity=0.3"
    assert passed(text, 7)[0] == passed(text, 7)[0] != passed(text, 8)[0]


def test_a_fault_at_no_packet_says_that_it_was_ineffective() -> None:
    _, one = passed("route.drop@1:instance=gcs,severity=0")
    assert "ineffective" in one.witnesses[0].sentence()


def test_faults_of_unknown_connections_and_with_predicates_are_refused() -> None:
    fault = parse_fault("route.cut@1:instance=gsc", ROUTE_FAULTS)
    with pytest.raises(UnknownNameError, match="gcs"):
        check_faults([fault], ["gcs"])
    with pytest.raises(FaultError, match="when"):
        check_faults([parse_fault("route.cut@1:instance=gcs,when=height > 3 m", ROUTE_FAULTS)], ["gcs"])
