"""When the last viewer of an answer goes, it is stopped; a web process that dies stops nothing."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from synth import liveness
from synth.chat import events
from synth.models import Approval, Message, TurnState
from synth.net.clients import channel as channel_named
from synth.tests.streams.served import Client, eventually, pause

pytestmark = pytest.mark.slow
TCP_REPAIR = 19


def reason(answer):
    return TurnState.objects.get(pk=answer.id).stop_reason


def viewers(answer):
    return liveness.client().zcard(events.viewers_key(answer.id))


def watch(web, answer, bearer) -> Client:
    client: Client = web.open("GET", answer.path, **bearer)
    client.head()
    next(client.blocks())
    return client


def test_the_last_viewer_to_go_stops_the_turn_for_good(web, begin, bearer):
    answer = begin()
    answer.start()
    client = watch(web, answer, bearer)
    assert eventually(lambda: viewers(answer) == 1)
    client.connection.close()
    assert eventually(lambda: viewers(answer) == 0)
    assert reason(answer) == ""  # not at once: the client may come back
    assert eventually(lambda: reason(answer) == "left", 15)


def test_a_question_is_not_taken_back_when_its_page_is_closed(web, begin, bearer, person):
    answer = begin(lease_until=None, due_at=now() + timedelta(minutes=30))
    row = Approval.objects.create(
        agent=answer.row.dialogue.agent, person=person, dialogue=answer.row.dialogue, answer=answer.row,
        call_id="1", action="memory_forget", expires_at=now() + timedelta(minutes=30),
    )  # fmt: skip
    answer.start()
    client = watch(web, answer, bearer)
    assert eventually(lambda: viewers(answer) == 1)
    client.connection.close()
    assert eventually(lambda: viewers(answer) == 0)
    pause(6)
    assert (reason(answer), Approval.objects.get(pk=row.pk).status) == ("", "pending")
    decided = {"decision": "deny"}
    assert web.ask("POST", f"/api/approvals/{row.pk}/decide/", decided, **bearer)[0] == 200


def test_one_of_two_changes_nothing(web, begin, bearer):
    answer = begin()
    one, other = watch(web, answer, bearer), watch(web, answer, bearer)
    assert eventually(lambda: viewers(answer) == 2)
    one.connection.close()
    assert eventually(lambda: viewers(answer) == 1)
    pause(6)
    assert reason(answer) == ""
    other.connection.close()
    assert eventually(lambda: reason(answer) == "left", 15)


def test_a_viewer_of_another_process_counts(web, own_web, begin, bearer):
    answer = begin()
    here, there = watch(web, answer, bearer), watch(own_web, answer, bearer)
    assert eventually(lambda: viewers(answer) == 2)
    here.connection.close()
    pause(6)
    assert reason(answer) == ""
    there.connection.close()
    assert eventually(lambda: reason(answer) == "left", 15)


def test_who_comes_back_in_time_keeps_it_running(web, begin, bearer):
    answer = begin()
    for _ in range(3):
        client = watch(web, answer, bearer)
        client.connection.close()
        pause(1)
    with watch(web, answer, bearer):
        pause(6)
        assert reason(answer) == "" and viewers(answer) == 1


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_a_web_process_that_ends_stops_nothing(own_web, begin, bearer, sig):
    answer = begin()
    client = watch(own_web, answer, bearer)
    assert eventually(lambda: viewers(answer) == 1)
    own_web.kill(sig)
    client.connection.close()
    pause(6)
    assert reason(answer) == ""
    answer.row.refresh_from_db()
    assert answer.row.status == "streaming"


def test_a_lease_is_renewed_and_runs_out_by_itself(web, own_web, begin, bearer):
    answer = begin()
    with watch(own_web, answer, bearer):
        assert eventually(lambda: viewers(answer) == 1)
        first = lease(answer)[1]
        assert eventually(lambda: lease(answer)[1] > first, 12)
        # While it is watched: a living process would take the lease away.
        own_web.kill(signal.SIGKILL)
    # A crash left the lease. It is over before somebody else's going is weighed.
    liveness.client().zadd(events.viewers_key(answer.id), {lease(answer)[0]: first - 60})
    watch(web, answer, bearer).connection.close()
    assert eventually(lambda: reason(answer) == "left", 15)


def lease(answer) -> tuple[str, float]:
    """The one viewer of an answer, and when its lease ends."""
    found: Any = liveness.client().zrange(events.viewers_key(answer.id), 0, -1, withscores=True)
    ((member, until),) = found
    return str(member), float(until)


def test_a_reset_before_the_body_is_a_going_too(web, begin, bearer):
    answer = begin()
    for _ in range(20):
        web.open("GET", answer.path, **bearer).reset()
    assert eventually(lambda: web.n_open() == 0)
    assert eventually(lambda: reason(answer) == "left", 15)
    log = web.log.read_text()
    assert "Traceback" not in log, log[-3000:]


def test_an_ended_answer_has_nobody_to_stop_it(web, begin, bearer):
    answer = begin()
    answer.start()  # else a look between row and event, and nothing told yet, tells the end by the row
    client = watch(web, answer, bearer)
    answer.end()
    assert [event.event for event in client.events()] == ["message.start", "message.end"]
    client.connection.close()
    pause(5)
    assert reason(answer) == ""


def test_a_client_that_vanished_without_a_word_is_noticed(web, begin, bearer):
    answer = begin()
    client = watch(web, answer, bearer)
    try:
        # In repair mode the kernel forgets a connection without telling its peer.
        client.connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    except OSError:
        pytest.skip("no right to drop a connection silently")
    client.connection.close()
    assert eventually(lambda: reason(answer) == "left", 60)


def test_a_reader_that_takes_nothing_is_cut_and_others_are_not(web, begin, bearer):
    answer = begin()
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", web.port))
    slow.settimeout(60)
    stuck = Client(slow)
    stuck.ask("GET", answer.path, None, version="1.1", **bearer)
    stuck.head()
    answer.start()
    first = next(stuck.events())
    before = web.rss_kib()
    with watch(web, answer, bearer) as quick:
        told = quick.events()
        assert next(told).event == "message.start"
        for n in range(300):
            answer.say(f"{n} " + "x" * 20_000)
            assert next(told).event == "delta"
        assert web.n_open() == 2
        assert eventually(lambda: web.n_open() == 1, 60)
        # What it got is whole up to where it was cut, and it can come back.
        last = last_id(stuck) or int(first.id)
        assert web.rss_kib() - before < 30_000
        with web.open("GET", answer.path, Last_Event_ID=str(last), **bearer) as again:
            answer.end()
            rest = [int(event.id) for event in again.events()]
        assert [event.event for event in told] == ["message.end"]
    assert rest == list(range(last + 1, events.sse_id(answer.id, 302) + 1))
    assert "Traceback" not in web.log.read_text()


def last_id(client: Client) -> int:
    """The id of the last whole event a client was sent."""
    last = 0
    with contextlib.suppress(ConnectionError):
        for event in client.events():
            last = int(event.id)
    return last


def test_many_clients_dropped_at_once_leave_nothing(web, begin, bearer):
    def crowd(answers: list[Any]) -> list[Client]:
        return [watch(web, answers[n % 5], bearer) for n in range(100)]

    def drop(clients: list[Client]) -> None:
        for n, client in enumerate(clients):
            client.reset() if n % 2 else client.connection.close()
        assert eventually(lambda: web.n_open() == 0, 25)

    drop(crowd([begin() for _ in range(5)]))  # the first one opens the connections that are kept
    pause(5)
    n_sockets, n_threads = web.n_sockets(), web.n_threads()
    answers = [begin() for _ in range(5)]
    clients = crowd(answers)
    assert web.n_open() == 100 and web.n_sockets() >= n_sockets + 90  # kept ones may have closed meanwhile
    drop(clients)
    assert eventually(lambda: web.n_sockets() <= n_sockets + 2, 25)
    assert web.n_threads() <= n_threads + 4  # those for short work with the database
    assert eventually(lambda: {reason(answer) for answer in answers} == {"left"}, 15)
    assert liveness.client().pubsub_channels(channel_named("chat:bell:*")) == []


def test_a_stop_is_for_everybody_and_once(web, begin, bearer):
    answer = begin(lease_until=None)
    with watch(web, answer, bearer) as one, watch(web, answer, bearer) as other:
        status, _, body = web.ask("POST", f"/api/chat/{answer.id}/stop/", **bearer)
        assert status == 200 and b'"message"' in body
        ends = [list(client.events()) for client in (one, other)]
    for told in ends:
        assert [event.event for event in told] == ["message.end"]
        assert told[0].json["finish_reason"] == "cancelled"
    status, _, body = web.ask("POST", f"/api/chat/{answer.id}/stop/", **bearer)
    error = json.loads(body)["error"]
    assert (status, error["code"], error["status"]) == (409, "already_ended", "cancelled")
    assert Message.objects.get(pk=answer.id).status == "cancelled"
    assert web.ask("POST", f"/api/chat/{answer.row.parent_id}/stop/", **bearer)[0] == 404
    assert web.ask("POST", "/api/chat/99999999999999999999999/stop/", **bearer)[0] == 404
