"""Celery's messages lie in the numbered database that REDIS_URL names, however it names it."""

import pytest
import redis
from kombu import Connection

from synth.net.broker import broker_url


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
        ("redis://me:p%40ss@cache.example:6379/4", "redis://me:p%40ss@cache.example:6379/4"),
        ("redis://127.0.0.1:6379?db=5", "redis://127.0.0.1:6379/5"),
        ("redis://127.0.0.1:6379/4?socket_timeout=3&db=5", "redis://127.0.0.1:6379/5"),
        (
            "rediss://cache.example:6379/?ssl_cert_reqs=none&db=6",
            "rediss://cache.example:6379/6?ssl_cert_reqs=none",
        ),
        ("unix:///tmp/redis.sock", "redis+socket:///tmp/redis.sock"),
        ("unix:///tmp/redis.sock?protocol=3&db=3", "redis+socket:///tmp/redis.sock?virtual_host=3"),
    ],
)
def test_the_address_is_one_that_celery_takes(given, wanted):
    assert broker_url(given) == wanted
    number = redis.connection.parse_url(given).get("db", 0)
    if not given.startswith("unix"):  # of a socket, the test below shows it
        assert int(Connection(wanted).virtual_host.strip("/") or 0) == number


def test_a_message_lies_where_redis_url_points(settings):
    url = f"{settings.REDIS_URL.partition('?')[0]}?health_check_interval=9&db=14"
    with Connection(broker_url(url)) as celery, redis.Redis.from_url(url) as store:
        queue = celery.SimpleQueue("a-test-of-addresses")
        try:
            queue.put({"hello": 1})
            assert store.llen("a-test-of-addresses") == 1
        finally:
            queue.close()
            store.delete("a-test-of-addresses", "_kombu.binding.a-test-of-addresses")
