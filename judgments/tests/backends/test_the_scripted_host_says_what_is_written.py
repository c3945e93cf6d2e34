"""The backend for tests: functions, files, failures, flat answers."""

import pytest

from judgments import backends
from judgments.backends import Failure, HostConfig, scripted
from judgments.backends.types import Raw
from judgments.tests.backends.asks import ASK, JUST_NOUL, good

HOST = HostConfig("scripted")


def test_without_a_script_every_answer_is_flat():
    reply = backends.ask(HOST, ASK, 1)
    assert reply.typed["n"].noul == 0.5
    assert reply.typed["café-1"].confidence == pytest.approx(0)


def test_a_function_answers_with_numbers_maps_or_a_failure():
    with scripted.script(lambda ask: {"n": 0.2, "café-1": [0, 1, 0], "s": [0, 0, 1]}):
        reply = backends.ask(HOST, ASK, 1)
        assert (reply.typed["n"].noul, reply.typed["café-1"].choice, reply.typed["s"].level) == (
            0.2,
            "Tee",
            "high",
        )
        with scripted.script(lambda ask: {"fail": "timeout", "text": "late"}):
            with pytest.raises(Failure, match="timeout: late"):
                backends.ask(HOST, ASK, 1)
    with scripted.script(lambda ask: good(1.7)["answers"]), pytest.raises(Failure, match="bad_answer"):
        backends.ask(HOST, JUST_NOUL, 1)
    with scripted.script(lambda ask: {}), pytest.raises(Failure, match="missing"):
        backends.ask(HOST, JUST_NOUL, 1)


def test_a_file_is_read_in_order_and_again(tmp_path):
    path = tmp_path / "script.jsonl"
    path.write_text('0.1\n\n{"n": 0.2}\n{"fail": "refused"}\n')
    host = HostConfig(f"scripted:{path}")
    for _ in range(2):
        assert backends.ask(host, JUST_NOUL, 1).typed["n"].noul == 0.1
        assert backends.ask(host, JUST_NOUL, 1).typed["n"].noul == 0.2
        with pytest.raises(Failure, match="refused"):
            backends.ask(host, JUST_NOUL, 1)


def test_a_label_shows_no_password():
    assert HostConfig("http://me:secret@h:1/x").label == "h:1"
    assert HostConfig("scripted:/tmp/x").label == "scripted"
    assert HostConfig("http://[::1").label == "not an address"


def test_answers_nobody_asked_for_are_not_kept(monkeypatch):
    said = good()
    said["answers"]["other"] = {"type": "noul", "noul": "x" * 1_000}
    monkeypatch.setattr(scripted, "send", lambda *args: Raw(said))
    assert set(backends.ask(HOST, JUST_NOUL, 1).answers) == {"n"}


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"not json", b"\xff\xfe"])
def test_a_script_that_cannot_be_read_is_a_host_that_is_not_there(tmp_path, content):
    path = tmp_path / "script.jsonl"
    if content is not None:
        path.write_bytes(content)
    for said in (f"scripted:{path}", "scripted:a\0b", "scripted:/dev/zero"):
        with pytest.raises(Failure, match="unreachable"):
            backends.ask(HostConfig(said), JUST_NOUL, 1)
