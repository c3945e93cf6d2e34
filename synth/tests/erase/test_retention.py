"""What is kept for a while goes after it, and not before."""

from datetime import UTC, datetime, timedelta

import pytest

from synth.llm.messages import sha256
from synth.models import Agent, IdempotentAnswer, LlmCall, LlmCallPart, Person, PromptPart
from synth.services import forget, retention

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def call(purpose, days, *texts, session=""):
    row = LlmCall.objects.create(
        at=AT - timedelta(days=days),
        purpose=purpose,
        backend="scripted",
        outcome="ok",
        response_text=f"{purpose} {days}",
        session=session,
        n_prompt_tokens=7,
    )
    for position, text in enumerate(texts):
        PromptPart.objects.get_or_create(sha256=sha256(text), defaults={"text": text})
        LlmCallPart.objects.create(call=row, position=position, role="system", part_id=sha256(text))
    return row


def test_chat_bodies_go_after_fourteen_days_and_their_rows_stay():
    old, young = call("chat", 15, "shared", "old only"), call("chat", 13, "shared")
    assert retention.sweep(AT)["call_bodies"] == 1
    old.refresh_from_db()
    young.refresh_from_db()
    assert (old.response_text, old.n_prompt_tokens, old.call_parts.count()) == ("", 7, 0)
    assert young.response_text == "chat 13"
    assert [part.text for part in PromptPart.objects.all()] == ["shared"]
    assert retention.sweep(AT) == {"call_bodies": 0, "prompt_parts": 0, "answers": 0}


@pytest.mark.parametrize("purpose", ["reflection", "review"])
def test_reflections_and_reviews_stay_until_their_run_goes(purpose):
    row = call(purpose, 400, "the week", session="cycle:12")
    retention.sweep(AT)
    row.refresh_from_db()
    assert row.response_text and row.call_parts.count() == 1
    assert forget.forget_sessions(["cycle:12"]) == {"synth.PromptPart": 1, "synth.LlmCall": 1}
    row.refresh_from_db()
    assert row.response_text == "[removed]" and PromptPart.objects.get().text == "[removed]"


def test_what_others_sent_too_is_not_forgotten_with_an_agent():
    one, two = Agent.objects.create(slug="a", name="A"), Agent.objects.create(slug="b", name="B")
    for agent, texts in ((one, ("rules", "secret")), (two, ("rules",))):
        row = call("chat", 1, *texts)
        row.agent = agent
        row.save()
    forget.forget_agent(one)
    assert set(PromptPart.objects.values_list("text", flat=True)) == {"rules", "[removed]"}


def test_answers_to_repeated_requests_go_after_seven_days():
    person = Person.objects.create(username="p")
    for days in (6, 8):
        IdempotentAnswer.objects.create(
            actor=person, key=str(days), request_sha256="0", at=AT - timedelta(days=days)
        )
    assert retention.sweep(AT)["answers"] == 1
    assert IdempotentAnswer.objects.get().key == "6"


def test_a_backlog_goes_in_chunks(monkeypatch):
    monkeypatch.setattr(retention, "_CHUNK", 3)
    for n in range(8):
        call("chat", 20 + n, f"text {n}")
    assert retention.sweep(AT, max_chunks=2)["call_bodies"] == 6
    assert retention.sweep(AT)["call_bodies"] == 2
