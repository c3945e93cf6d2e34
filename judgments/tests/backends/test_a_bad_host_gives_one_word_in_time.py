"""A home-made host that hangs, drips, resets, redirects and lies: one word each, in time, and no key."""

import gzip
import json
import logging
import socket
import threading
import time
import zlib

import pytest
from django.db import transaction

from judgments import backends
from judgments.backends import Failure, HostConfig
from judgments.tests.backends.asks import ASK, JUST_NOUL, KEY, good
from synth.net.database import InTransaction
from synth.testing.scripted_host import ScriptedHost

DEADLINE_S = 0.6
BOMB = gzip.compress(b"[" + b" " * 200_000_000 + b"]", 9)


def config(host, **changes):
    return HostConfig(f"http://127.0.0.1:{host.port}", key=KEY, **changes)


def failure(reply, ask=JUST_NOUL, deadline_s=DEADLINE_S, **changes):
    """The Failure of one ask; every failure is in time and keyless, and was one request."""
    with ScriptedHost([reply]) as host:
        started = time.monotonic()
        with pytest.raises(Failure) as caught:
            backends.ask(config(host, **changes), ask, deadline_s)
        assert time.monotonic() - started < deadline_s + 1
        assert len(host.requests) <= 1
    assert KEY not in str(caught.value) and KEY not in repr(caught.value)
    assert len(caught.value.text) <= 200
    return caught.value


def answers(**found):
    return {"body": {"model": "m", "answers": found}}


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ({"hang": True}, "timeout"),
        ({"body": good(), "drip_s": 0.1}, "timeout"),
        ({"drop": "before"}, "unreachable"),
        ({"body": good(), "drop": "mid"}, "unreachable"),
        ({"body": good(), "cut": True}, "bad_answer"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}, "body": good()}, "bad_answer"),
        ({"raw": "<html>Sign in</html>", "headers": {"Content-Type": "text/html"}}, "bad_answer"),
        ({"raw": BOMB, "headers": {"Content-Encoding": "gzip"}}, "bad_answer"),
        ({"raw": b"not gzip", "headers": {"Content-Encoding": "gzip"}}, "bad_answer"),
        ({"raw": gzip.compress(b"{}")[:-4], "headers": {"Content-Encoding": "gzip"}}, "bad_answer"),
        ({"raw": b"{}", "headers": {"Content-Encoding": "br"}}, "bad_answer"),
        ({"raw": b" " * 5_000_000}, "bad_answer"),
        ({"raw": b""}, "bad_answer"),
        ({"raw": b"[" * 50_000}, "bad_answer"),
        ({"raw": b"\xff\xfe"}, "bad_answer"),
        ({"raw": "[]"}, "bad_answer"),
        ({"raw": '{"model": "m", "answers": {"n": {"type": "noul", "noul": NaN}}}'}, "bad_answer"),
        (answers(other={"type": "noul", "noul": 0.5}), "bad_answer"),
        (answers(), "bad_answer"),
        (answers(n={"type": "noul", "noul": 1.7}), "bad_answer"),
        ({"status": 429, "body": {"error": "slow"}, "headers": {"Retry-After": "3"}}, "overloaded"),
        ({"status": 529, "body": {}, "headers": {"Retry-After": "3"}}, "overloaded"),
        ({"status": 408, "body": {}}, "overloaded"),
        ({"status": 500, "raw": "<html>oops</html>"}, "overloaded"),
        ({"status": 400, "body": {}}, "refused"),
        ({"status": 401, "body": {"detail": {"message": f"bad key {KEY}"}}}, "refused"),
        ({"status": 422, "body": {"detail": [{"loc": ["body", "q"], "msg": "no", "type": "x"}]}}, "refused"),
    ],
)
def test_each_trouble_has_its_word(reply, word, caplog):
    caplog.set_level(logging.DEBUG)
    assert failure(reply).word == word
    assert KEY not in caplog.text


def test_a_sum_of_point_four_and_a_missing_answer_fail_the_whole_ask():
    flat = {"Café": 0.2, "Tee": 0.1, "Größe": 0.1}
    body = {
        "n": {"type": "noul", "noul": 0.5},
        "café-1": {"type": "choice", "choice": "Café", "probabilities": flat, "confidence": 0.0},
        "s": {"type": "score", "score": 0, "probabilities": {"0": 1, "1": 0, "2": 0}, "confidence": 1},
    }
    assert "sum" in failure(answers(**body), ASK).text
    del body["café-1"]
    assert "missing" in failure(answers(**body), ASK).text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": "one"}, "400: one"),
        ({"error": {"message": "two", "type": "x"}}, "400: two"),
        ({"message": "three"}, "400: three"),
        ({"detail": "four"}, "400: four"),
        ({"detail": {"error_type": "x", "message": "five"}}, "400: five"),
        ({"detail": [{"loc": ["body", "questions", 0], "msg": "six", "type": "x"}]}, "400: questions.0: six"),
        ({"other": 1}, "Status 400."),
    ],
)
def test_the_text_is_found_in_every_public_shape(body, text):
    assert failure({"status": 400, "body": body}).text == text


def test_a_long_text_is_cut_after_the_key_is_gone():
    text = failure({"status": 400, "raw": "x" * 180 + KEY + "\x00 y" * 1_000}).text
    assert len(text) == 200 and KEY[:12] not in text and "[key]" in text


def test_a_host_nobody_listens_at_is_unreachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = HostConfig(f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(Failure) as caught:
            backends.ask(host, JUST_NOUL, DEADLINE_S)
    assert caught.value.word == "unreachable"


def test_headers_that_drip_for_ever_end_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                for n in range(100):
                    try:
                        connection.sendall(b"X-%d: y\r\n" % n)
                    except OSError:
                        return
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(Failure) as caught:
            backends.ask(HostConfig(f"http://127.0.0.1:{server.getsockname()[1]}"), JUST_NOUL, DEADLINE_S)
    assert caught.value.word == "timeout"
    assert time.monotonic() - started < DEADLINE_S + 1


def test_a_server_that_speaks_no_http_gives_a_bad_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"220 mail.example ESMTP\r\n\r\n")
                connection.recv(65_536)
                time.sleep(0.2)

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(Failure) as caught:
            backends.ask(HostConfig(f"http://127.0.0.1:{server.getsockname()[1]}"), JUST_NOUL, DEADLINE_S)
    assert caught.value.word == "bad_answer"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_answer_is_read(encoding):
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    reply = {"raw": pack(json.dumps(good()).encode()), "headers": {"Content-Encoding": encoding}}
    with ScriptedHost([reply]) as host:
        assert backends.ask(config(host), JUST_NOUL, 5).typed["n"].noul == 0.9


@pytest.mark.parametrize(
    "broken",
    [
        {"base_url": "ftp://example.org"},
        {"base_url": "http://"},
        {"base_url": "http://[::1"},
        {"base_url": "http://h:99999"},
        {"key": "line\nbreak-secret"},
        {"key": "ключ-secret"},
        {"auth_header": "bad header", "key": "x-secret"},
    ],
)
def test_a_host_that_cannot_be_asked_is_refused_without_its_key(broken):
    host = HostConfig(**{"base_url": "http://127.0.0.1:1", **broken})
    with pytest.raises(Failure) as caught:
        backends.ask(host, JUST_NOUL, DEADLINE_S)
    assert caught.value.word == "refused"
    assert "secret" not in str(caught.value) + repr(host)


def test_a_local_only_agent_asks_no_host_elsewhere():
    host = HostConfig("http://8.8.8.8:9", local_only=True)
    with pytest.raises(Failure, match="local_only"):
        backends.ask(host, JUST_NOUL, DEADLINE_S)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_asked_inside_a_transaction():
    with ScriptedHost([{"body": good()}]) as host, transaction.atomic(), pytest.raises(InTransaction):
        backends.ask(config(host), JUST_NOUL, DEADLINE_S)
    assert host.requests == []
