"""The pytest plugin gives tests real, private stores."""

import os

import pytest
import redis
from django.db import connection


@pytest.mark.django_db
def test_tests_run_on_a_private_postgresql_18():
    with connection.cursor() as cursor:
        cursor.execute("show server_version_num")
        assert int(cursor.fetchone()[0]) >= 150000
        cursor.execute("select upper('straße ä')")
        assert "Ä" in cursor.fetchone()[0]


def test_tests_run_on_a_redis_protocol_server():
    assert redis.Redis.from_url(os.environ["REDIS_URL"]).ping()
