"""Status codes, waiting times, base URLs and addresses, as hosts send them and people type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synth.llm.addresses import base_url, is_local, resolve
from synth.llm.completion import error_of_status, read_body, redact, retry_after_s
from synth.llm.reasons import LlmError

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1//", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1/v1", "http://localhost:1234/v1"),
        (" localhost:11434 ", "http://localhost:11434/v1"),
        ("192.168.1.5:8080", "http://192.168.1.5:8080/v1"),
        ("gpu-box:8080/v1", "http://gpu-box:8080/v1"),
        ("api.example.com", "https://api.example.com/v1"),
        ("https://example.com/api/v1/chat/completions", "https://example.com/api/v1"),
        ("https://user:secret@example.com/v1?key=1#x", "https://example.com/v1"),
        ("https://example.com/v1beta/openai/", "https://example.com/v1beta/openai"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_a_base_url_is_read_as_people_type_it(typed, url):
    assert base_url(typed) == url


@pytest.mark.parametrize("typed", ["ftp://example.com", "http://", "file:///etc/passwd", "http://h:99999"])
def test_what_is_no_web_address_is_refused(typed):
    with pytest.raises(ValueError):
        base_url(typed)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("::1", True),
        ("fd00::1", True),
        ("::ffff:192.168.0.1", True),
        ("fe80::1%eth0", True),
        ("8.8.8.8", False),
        ("::ffff:8.8.8.8", False),
        ("2001:4860:4860::8888", False),
        ("172.32.0.1", False),
        ("224.0.0.1", False),
    ],
)
def test_local_means_this_machine_or_a_private_network(address, local):
    assert is_local(address) is local


def test_a_name_without_an_address_is_unreachable():
    with pytest.raises(LlmError) as caught:
        resolve("no-such-host.invalid", 80, 20)
    assert caught.value.reason == "llm_unreachable"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("999999", 3600.0),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("soon", None),
        ("-1", None),
        ("Mon, 30 Nov 2020 12:00:30 GMT", 0.0),
        ("", None),
        ("²", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header, seconds):
    assert retry_after_s({"Retry-After": header}, AT) == seconds


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (408, "", "llm_overloaded"),
        (429, "", "llm_overloaded"),
        (500, "", "llm_overloaded"),
        (529, "", "llm_overloaded"),
        (400, "", "llm_refused"),
        (401, "", "llm_refused"),
        (302, "", "llm_refused"),
        (400, '{"error": {"code": "content_filter"}}', "content_filter"),
    ],
)
def test_each_status_has_its_reason(status, body, reason):
    error = error_of_status(status, {}, body, AT)
    assert error.reason == reason
    assert error.retryable is (reason == "llm_overloaded")


def test_a_host_that_quotes_the_key_is_redacted():
    body = '{"error": {"message": "Incorrect API key provided: sk-abcdef0123456789."}}'
    assert "abcdef" not in str(error_of_status(401, {}, body, AT))
    assert redact("my key is hunter2", ["hunter2"]) == "my key is [key]"


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "7", '"x"', '{"a": 1}', '{"n": ' + "9" * 9000 + "}", "data: {"]
)
def test_no_body_raises_anything_but_a_reason(body):
    try:
        read_body(body)
    except LlmError as error:
        assert error.reason == "llm_refused"
