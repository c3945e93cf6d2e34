"""Celery's messages lie in the numbered database that REDIS_URL names, however it names it."""

import ssl

import pytest
import redis
from kombu import Connection

from synth.net.broker import broker_url


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
        ("redis://me:p%40ss@cache.example:6379/4", "redis://me:p%40ss@cache.example:6379/4"),
        ("redis://me@[::1]:6379/4", "redis://me:@[::1]:6379/4"),
        (
            "redis://cache.example?username=me&password=p%40s%2F%23&db=5",
            "redis://me:p%40s%2F%23@cache.example/5",
        ),
        ("redis://:inner@cache.example/2?password=outer", "redis://:inner@cache.example/2"),
        ("redis://127.0.0.1:6379?db=5", "redis://127.0.0.1:6379/5"),
        ("redis://127.0.0.1:6379/4?socket_timeout=3&db=5", "redis://127.0.0.1:6379/5"),
        (
            "rediss://cache.example:6379/?ssl_cert_reqs=none&db=6",
            "rediss://cache.example:6379/6?ssl_cert_reqs=none",
        ),
        ("rediss://cache.example/1", "rediss://cache.example/1?ssl_cert_reqs=required"),
        (
            "unix:///tmp/redis.sock?username=me&password=p&db=3",
            "redis+socket://me:p@/tmp/redis.sock?virtual_host=3",
        ),
        ("unix:///tmp/redis.sock", "redis+socket:///tmp/redis.sock"),
        ("unix:///tmp/redis.sock?protocol=3&db=3", "redis+socket:///tmp/redis.sock?virtual_host=3"),
    ],
)
def test_the_address_is_one_that_celery_takes(given, wanted):
    assert broker_url(given) == wanted
    ours, celery = redis.connection.parse_url(given), Connection(wanted)
    if not given.startswith("unix"):  # of a socket, the test below shows it
        assert int(celery.virtual_host.strip("/") or 0) == ours.get("db", 0)
        assert (celery.userid, celery.password) == (ours.get("username"), ours.get("password"))


def test_celery_trusts_no_server_without_a_certificate_either():
    assert Connection(broker_url("rediss://cache.example")).ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED}


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
