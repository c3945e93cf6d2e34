"""The form of a stream: headers, one event a write, ids that grow, one end."""

from __future__ import annotations

import pytest

from synth.tests.streams.served import Client

pytestmark = pytest.mark.slow


def test_headers_are_those_of_a_stream(web, begin, bearer):
    answer = begin()
    with web.open(
        "GET", answer.path, Accept_Encoding="gzip, br", Accept="text/event-stream", **bearer
    ) as client:
        assert client.status == 200
        assert client.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert client.headers["cache-control"] == "no-cache"
        assert client.headers["x-accel-buffering"] == "no"
        assert {"content-encoding", "content-length", "x-synth-stream"}.isdisjoint(client.headers)
        first = next(client.blocks())
        assert (first.retry, first.event, first.id) == ("2000", "", "")


def test_every_event_is_one_write_with_its_own_growing_id(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        blocks = client.blocks()
        next(blocks)
        answer.start()
        for text in ("Hel", "lo ", "Ünïcode 🜂", "\u2028\x85 \r\n\n data: x"):
            answer.say(text)
        answer.end()
        told = [block for block in blocks if block.event]
    assert [event.event for event in told] == ["message.start", *["delta"] * 4, "message.end"]
    assert [int(event.id) for event in told] == [answer.id * 1_000_000 + n for n in range(1, 7)]
    assert "".join(event.json["text"] for event in told if event.event == "delta") == answer.text
    assert told[-1].json["message"]["content"] == answer.text and client.ended
    assert all(write.endswith(b"\n\n") and write.count(b"\n\n") == 1 for write in client.writes)
    assert all(len(write.decode().splitlines()) == write.count(b"\n") for write in client.writes)


def test_a_client_that_reads_byte_by_byte_gets_the_same(web, begin, bearer):
    answer = begin()
    answer.start()
    for n in range(50):
        answer.say(f"wörd {n} 🜂 ")
    answer.end()
    answer.flush()
    with web.open("GET", answer.path, **bearer) as whole:
        expected = [event.raw for event in whole.events()]
    client = web.open("GET", answer.path, **bearer)
    client.step = 1
    with client:
        assert [event.raw for event in client.events()] == expected


def test_http_1_0_gets_the_stream_without_chunks(web, begin, bearer):
    answer = begin()
    answer.start()
    answer.end()
    answer.flush()
    with web.open("GET", answer.path, version="1.0", **bearer) as client:
        assert "transfer-encoding" not in client.headers and client.headers["connection"] == "close"
        assert [event.event for event in client.events()] == ["message.start", "message.end"]
    status, _, body = web.ask("GET", "/api/me/", **bearer)
    assert status == 200 and body.startswith(b"{")


def test_head_gets_the_headers_alone(web, begin, bearer):
    answer = begin()
    with web.open("HEAD", answer.path, Connection="close", **bearer) as client:
        assert client.headers["content-type"].startswith("text/event-stream")
        assert client.connection.recv(10) == b""
    answer.row.refresh_from_db()
    assert answer.row.status == "streaming"


def test_the_address_works_with_a_slash_too(web, begin, bearer):
    answer = begin()
    answer.end()
    answer.flush()
    for path in (answer.path, answer.path.replace("stream?", "stream/?")):
        with web.open("GET", path, **bearer) as client:
            assert [event.event for event in client.events()] == ["message.end"]


def test_two_requests_on_one_connection(web, begin, bearer):
    answer = begin()
    answer.end()
    answer.flush()
    client: Client = web.open("GET", answer.path, **bearer)
    with client:
        assert [event.event for event in client.events()] == ["message.end"]
        client.ask("GET", "/api/me/", None, version="1.1", **bearer)
        client.head()
        assert client.status == 200 and b"pia" in client.rest()
