"""The secret between Django and the front: no client knows it, sets it, or sees what goes by it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from synth.api import handoff
from synth.api.handoff import KINDS, Handed, serves, with_handoff
from synth.services import people

WHO: dict[str, Any] = {"person": 1, "key": 1}


@pytest.fixture
def served() -> Any:
    """What the front was told to serve, of a kind that exists for one test."""
    found: list[Handed] = []

    @serves("test-kind")
    async def serve(handed: Handed) -> None:
        found.append(handed)
        await handed.answer(200, b'"ok"')

    yield found
    del KINDS["test-kind"]


def asked(*headers: tuple[bytes, bytes], order: Any = None) -> tuple[list[Any], list[Any]]:
    """The scope Django gets, and what is sent to the client."""
    seen: list[Any] = []
    sent: list[Any] = []

    async def django(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        given = [(b"content-type", b"text/html"), (b"content-length", b"0"), (b"vary", b"Cookie")]
        if order is not None:
            given.append((b"x-synth-stream", json.dumps(order).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": given})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": list(headers), "query_string": b""}

    async def one() -> None:
        await with_handoff(django)(scope, None, send)

    asyncio.run(one())
    return seen, sent


@pytest.mark.parametrize("name", [b"x-synth-front", b"X-Synth-Front", b"x-synth-again", b"x-synth-stream"])
def test_what_a_client_sends_is_taken_off(name):
    ((scope,), _) = asked((name, b"1"), (b"accept", b"*/*"))
    names = [header for header, _ in scope["headers"]]
    assert names == [b"accept", b"x-synth-front"]
    assert scope["headers"][-1][1] == handoff._secret.encode() != b"1"


def test_an_order_never_reaches_the_client(served):
    _, sent = asked(order={"kind": "test-kind", "who": WHO, "answer": 7})
    assert served[0].data == {"who": WHO, "answer": 7} and served[0].kind == "test-kind"
    names = {name for name, _ in sent[0]["headers"]}
    assert names == {b"vary", b"content-type", b"content-length"} and sent[1]["body"] == b'"ok"'
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/json"


def test_a_plain_answer_passes_as_it_is():
    _, sent = asked()
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert (b"content-type", b"text/html") in sent[0]["headers"]


def of(**headers: str) -> Request:
    return Request(RequestFactory().get("/", headers={k.replace("_", "-"): v for k, v in headers.items()}))


def test_django_gives_orders_only_to_its_own_front(db):
    request = of(X_Synth_Front=handoff._secret)
    person = people.ensure("pia")
    request.user, request.auth = person, None
    answer = handoff.handoff(request, "test-kind", answer=7)
    assert answer is not None
    order = json.loads(answer["X-Synth-Stream"])
    assert order["kind"] == "test-kind" and order["who"]["person"] == person.pk
    for foreign in (
        of(),
        of(X_Synth_Front="x"),
        of(X_Synth_Front="é"),
        of(X_Synth_Front=f"x,{handoff._secret}"),
    ):
        assert handoff.handoff(foreign, "test-kind") is None
        assert not handoff.is_again(foreign)


def test_the_second_question_has_the_same_credentials_and_no_body(served):
    headers = [
        (b"authorization", b"Bearer x"), (b"x-person", b"pia"), (b"content-type", b"application/json"),
        (b"content-length", b"12"), (b"x-synth-again", b"0"), (b"Transfer-Encoding", b"chunked"),
    ]  # fmt: skip
    asked(*headers, order={"kind": "test-kind", "who": WHO})
    seen: list[Any] = []

    async def django(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([scope, await receive()])

    handed = Handed({**served[0].scope, "method": "POST"}, None, None, "test-kind", {}, [], django)
    asyncio.run(handed.again("/api/chat/7/"))
    scope, message = seen
    names = [name for name, _ in scope["headers"]]
    assert names == [b"authorization", b"x-person", b"x-synth-front", b"x-synth-again"]
    assert (scope["method"], scope["path"]) == ("GET", "/api/chat/7/")
    assert message == {"type": "http.request", "body": b"", "more_body": False}
