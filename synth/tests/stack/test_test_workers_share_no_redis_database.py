"""Each pytest-xdist worker counts and flushes in a Redis database of its own."""

import pytest

from synth.testing.stores import own_redis_database


@pytest.mark.parametrize(
    ("worker", "url", "own"),
    [
        ("gw0", "unix:///tmp/v.sock?db=0", "unix:///tmp/v.sock?db=1"),
        ("gw1", "unix:///tmp/v.sock?db=0", "unix:///tmp/v.sock?db=2"),
        ("", "unix:///tmp/v.sock?db=0", "unix:///tmp/v.sock?db=0"),
        ("gw1", "redis://given:6379/3", "redis://given:6379/3"),
    ],
)
def test_a_worker_has_its_own_and_given_servers_stay(worker, url, own):
    env = {"PYTEST_XDIST_WORKER": worker, "REDIS_URL": url}
    own_redis_database(env)
    assert env["REDIS_URL"] == own
