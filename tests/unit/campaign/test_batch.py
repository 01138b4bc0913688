"""Batches: which flights may share one."""

from campaign_data import flight_case

from ironbird.campaign.batch import fly_all, group_key, lanes_that_fit
from ironbird.runtime.tuning import Tuning


def test_flights_that_change_on_the_way_share_no_batch() -> None:
    plain, other = flight_case(1), flight_case(2)
    tuned = flight_case(3, tunings=(Tuning(500, "body.mass", 1.6),))
    retuned = flight_case(4, tunings=(Tuning(500, "body.mass", 1.7),))
    assert group_key(plain) == group_key(other)
    assert len({group_key(case) for case in (plain, tuned, retuned)}) == 3
    assert lanes_that_fit([plain, other]) > 1 == lanes_that_fit([tuned]) == lanes_that_fit([plain, tuned])

    results = fly_all([plain, tuned, other])
    assert [result.verdict for result in results] == ["pass"] * 3, [result.sentence for result in results]
    assert [result.digest for result in results] == [plain.digest(), tuned.digest(), other.digest()]
