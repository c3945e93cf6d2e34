"""A client's address is what the peer or our proxy says, never what the client says."""

from __future__ import annotations

import pytest
import structlog
from axes.models import AccessAttempt
from django.test import Client, RequestFactory

from synth.net import client_address
from synth.services import people

OURS = "203.0.113.7"


@pytest.mark.parametrize(
    ("forwarded", "peer", "direct", "behind"),
    [
        ("", OURS, OURS, OURS),
        ("198.51.100.1", OURS, OURS, "198.51.100.1"),
        ("10.0.0.1, 198.51.100.1", OURS, OURS, "198.51.100.1"),
        ("198.51.100.1, ", OURS, OURS, OURS),
        ("10.0.0.1,  2001:DB8::0:1 ", OURS, OURS, "2001:db8::1"),
        ("198.51.100.1, no address", OURS, OURS, OURS),
        ("x" * 5_000, "", None, None),
        ("198.51.100.1", "unix:", None, "198.51.100.1"),
        ("::ffff:198.51.100.1", f"::ffff:{OURS}", OURS, "198.51.100.1"),
        ("10.0.0.1:1, 198.51.100.1:51334", OURS, OURS, "198.51.100.1"),
        ("[2001:db8::1]:443", OURS, OURS, "2001:db8::1"),
        ("[2001:db8::1]", OURS, OURS, "2001:db8::1"),
        ("198.51.100.1:99x", OURS, OURS, OURS),
        ("", "fe80::1%eth0", "fe80::1", "fe80::1"),
    ],
)
def test_whose_word_counts(settings, forwarded, peer, direct, behind):
    request = RequestFactory().get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    settings.BEHIND_TLS = False
    assert client_address.of(request) == direct
    settings.BEHIND_TLS = True
    assert client_address.of(request) == behind


@pytest.mark.django_db
def test_a_log_line_bears_it(settings):
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        Client().get("/api/me/", REMOTE_ADDR=OURS, HTTP_X_FORWARDED_FOR="10.0.0.1")
    assert {line["ip"] for line in lines if line["event"].startswith("request_")} == {OURS}


@pytest.mark.django_db
def test_guessing_a_password_is_not_made_longer_by_other_headers(settings):
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 3
    people.ensure("pia")
    log_in = {"username": "pia", "password": "wrong"}
    answers = [
        Client().post("/admin/login/", log_in, REMOTE_ADDR=OURS, HTTP_X_FORWARDED_FOR=f"10.0.0.{n}")
        for n in range(4)
    ]
    assert [answer.status_code for answer in answers][-1] == 429
    assert {row.ip_address for row in AccessAttempt.objects.all()} == {OURS}


@pytest.mark.django_db
def test_behind_a_proxy_one_guesser_does_not_lock_the_others_out(settings):
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT, settings.BEHIND_TLS = True, 3, True
    people.ensure("pia")
    log_in = {"username": "pia", "password": "wrong"}

    def guess(forwarded):
        return Client().post("/admin/login/", log_in, REMOTE_ADDR=OURS, HTTP_X_FORWARDED_FOR=forwarded)

    assert [guess("198.51.100.1").status_code for _ in range(3)][-1] == 429
    assert guess("10.0.0.9, 198.51.100.1").status_code == 429
    assert guess("198.51.100.2").status_code == 200
    assert guess("no address").status_code == 200
