"""The corpus of odd replies: each is parsed, retried once, or ended with a reason."""

from __future__ import annotations

import pytest

from synth.llm import LlmError, Message, Request, complete_json
from synth.llm.reasons import REASONS
from synth.llm.tolerant import PROBLEMS, parse
from synth.models import LlmCall
from synth.testing.malformed import GOOD, READ_AT_ONCE, REPLIES, WRONG_TEXT, Malformed
from synth.testing.scripted_host import ScriptedHost

EXPECTED = ("self_growth",)


def judge(value):
    text = value["self_growth"]
    return "" if isinstance(text, str) and text.strip() and len(text) <= 2000 else "self_growth is no text"


def ask():
    return complete_json(
        Request("reflection", [Message("user", "Reflect.")]), keys=EXPECTED, lenient=True, accept=judge
    )


def names(case: Malformed) -> str:
    return case.name


def test_the_corpus_is_large_and_its_names_are_unique():
    assert len(REPLIES) >= 70
    assert len({case.name for case in REPLIES}) == len(REPLIES)
    assert {case.outcome for case in REPLIES} - {"ok", "retry"} <= set(REASONS)
    assert {case.problem for case in REPLIES} - {""} <= set(PROBLEMS)


def test_every_problem_of_the_parser_is_reached():
    assert set(PROBLEMS) == {case.problem for case in REPLIES} - {""}


@pytest.mark.parametrize("case", READ_AT_ONCE, ids=names)
def test_the_parser_reads_it(case):
    parsed = parse(case.text, expected=EXPECTED)
    assert (parsed.problem, parsed.value and parsed.value["self_growth"]) == ("", case.value)


@pytest.mark.parametrize("case", WRONG_TEXT, ids=names)
def test_the_parser_names_the_problem(case):
    parsed = parse(case.text, expected=EXPECTED)
    assert (parsed.value, parsed.problem) == (None, case.problem)


@pytest.mark.django_db
@pytest.mark.parametrize("case", REPLIES, ids=names)
def test_given_twice_it_ends_as_the_corpus_says(case):
    with ScriptedHost([case.reply, case.reply]) as host, host.installed():
        if case.outcome == "ok":
            found = ask()
            assert (found.value["self_growth"], found.n_calls) == (case.value, 1)
        else:
            with pytest.raises(LlmError) as caught:
                ask()
            is_retry = case.outcome == "retry"
            assert caught.value.reason in (("bad_shape", "cut") if is_retry else (case.outcome,))
            assert len(host.requests) == (2 if is_retry else 1)
            assert caught.value.call_id
        assert LlmCall.objects.count() == len(host.requests)


@pytest.mark.django_db
@pytest.mark.parametrize("case", [c for c in REPLIES if c.outcome == "retry"], ids=names)
def test_a_good_second_reply_is_used(case):
    with ScriptedHost([case.reply, f'{{"self_growth": "{GOOD}"}}']) as host, host.installed():
        found = ask()
    assert (found.value["self_growth"], found.n_calls) == (GOOD, 2)
    assert "could not be used" in host.requests[1].text
