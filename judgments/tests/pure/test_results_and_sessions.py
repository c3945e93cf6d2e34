"""What a caller can ask of a Result, and how a session is bound."""

import threading

import pytest

from judgments import session
from judgments.results import REASONS, Result
from judgments.typed import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer

CHOICE = ChoiceAnswer("a", {"a": 1.0}, 1.0, 0.4)


def test_p_is_the_only_nouls_probability():
    result = Result("on", answers={"q": NoulAnswer(0.3)}, run_id="a.b/1", question_ids=("q",))
    assert result.p() == result.p("q") == 0.3
    assert result.p("other") is None
    assert not result.no_judgment and not result.audit


def test_p_needs_an_id_among_several_questions_even_without_answers():
    both: dict[str, Answer] = {"q": NoulAnswer(0.3), "c": CHOICE}
    for result in (Result("on", answers=both), Result("on", "failed", question_ids=("q", "c"))):
        with pytest.raises(ValueError, match="several questions"):
            result.p()
    assert Result("on", answers=both).p("c") is None


def test_p_is_none_without_an_answer():
    assert Result("audit", "failed", question_ids=("q",)).p() is None
    assert Result("off", "off").p() is None


def test_a_result_has_answers_or_a_known_reason():
    for wrong in ({"reason": None}, {"reason": "off", "answers": {"c": CHOICE}}, {"reason": "bored"}):
        with pytest.raises(ValueError, match="reason"):
            Result("on", **wrong)
    assert all(Result("on", reason).no_judgment for reason in REASONS)


def test_a_result_as_json_says_everything():
    score = ScoreAnswer(1.0, {"0": "l", "1": "h"}, {"0": 0.0, "1": 1.0}, 1.0)
    body = Result("audit", answers={"s": score}, run_id="a.b/1").as_json()
    assert body["answers"]["s"]["level"] == "h"
    assert (body["audit"], body["p"], body["reason"], body["run_id"]) == (True, None, None, "a.b/1")


@pytest.mark.parametrize("good", ["dialogue:7", "cycle:12", "decision:a-b", "api:synth_1234"])
def test_a_session_is_bound_for_a_block_and_one_thread(good):
    seen = []
    with session.bind(good):
        assert session.current() == good
        thread = threading.Thread(target=lambda: seen.append(session.current()))
        thread.start()
        thread.join()
        with session.bind(None):
            assert session.current() is None
        assert session.current("api:x") == "api:x"
    assert session.current() is None and seen == [None]
    assert session.kind_of(good) == good.split(":")[0]


@pytest.mark.parametrize(
    "bad", ["", "dialogue:", "chat:1", "dialogue", "dialogue:a b", "dialogue:" + "x" * 500]
)
def test_a_session_of_no_known_form_is_refused(bad):
    with pytest.raises(ValueError, match="a session is one of"), session.bind(bad):
        pass


def test_nothing_may_be_asked_while_a_stream_is_handled():
    session.refuse_in_stream()
    with session.stream_handler(), pytest.raises(session.InStreamHandler):
        session.refuse_in_stream()
    session.refuse_in_stream()
