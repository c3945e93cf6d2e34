"""Every test starts with closed circuits."""

import pytest

from judgments.backends.breaker import hosts


@pytest.fixture(autouse=True)
def _closed_circuits():
    hosts.forget()
    yield
    hosts.forget()
