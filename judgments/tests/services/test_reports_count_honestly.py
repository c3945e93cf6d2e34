"""ls, report, replay and export: never pooled, never more than was labelled."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from judgments import registry
from judgments.models import Run
from judgments.services import exporting, labels, ordered, replay, reports
from judgments.services.asking import judge
from synth.errors import NotFound
from synth.services import agents

S = "api:test"


def ask(judgments, name, p, label=None, **more):
    judgments.answer(name, p)
    run_id = judge(name, "x", session=S, **more).run_id
    if label:
        labels.label(run_id, label, by="t")
    return run_id


def the_report(name, **more):
    return reports.report(name, days=30, at=timezone.now(), **more)


def test_a_report_counts_what_happened(judgments, rain):
    for p, label in ((0.95, "wet"), (0.9, "wet"), (0.85, "dry"), (0.1, "dry"), (1.0, None), (0.0, "maybe")):
        ask(judgments, rain, p, label)
    judgments.fail(rain, "timeout")
    judge(rain, "x", session=S)
    judgments.shared_host_busy()
    judge(rain, "x", session=S)
    found = {group["served_model"]: group for group in the_report(rain)["groups"]}
    good, none = found["scripted"], found[""]
    assert (good["n_runs"], good["n_failed"], good["n_skipped"], good["n_unlabelled"]) == (6, 0, 0, 1)
    assert (none["n_failed"], none["failures"], none["skipped"]) == (1, {"timeout": 1}, {"shared_host": 1})
    question = good["questions"]["q"]
    assert question["histogram"] == [1, 1, 0, 0, 0, 0, 0, 0, 1, 3]
    assert question["labels"] == {"wet": 2, "dry": 2, "maybe": 1}
    figures = question["calibration"]
    assert figures["n"] == 4 and figures["accuracy"] == 0.75
    assert figures["brier"] == pytest.approx((0.05**2 + 0.1**2 + 0.85**2 + 0.1**2) / 4)
    assert question["dial"]["threshold"] == 0.9 and question["dial"]["coverage"] == 0.75


def test_of_many_wordings_the_most_used_are_shown_with_their_histograms(judgments):
    registry.declare("weather.worded", questions=lambda s: {"q": {"type": "noul", "instructions": s}})
    judgments.answer("weather.worded", 0.95)
    wordings = [str(n) for n in range(reports.MAX_GROUPS + 1)]
    for wording in [*wordings, wordings[0]]:
        judge("weather.worded", wording, session=S)
    found = the_report("weather.worded")
    assert (found["n_groups"], len(found["groups"])) == (reports.MAX_GROUPS + 1, reports.MAX_GROUPS)
    assert [group["questions"]["q"]["histogram"][9] for group in found["groups"]] == [2] + [1] * 39


def test_what_clients_called_things_moves_no_terminal(judgments):
    name = "\x1b]0;mine\x07\r" + "long " * 1_000
    registry.declare("weather.odd", questions={name: {"type": "noul", "instructions": "?"}}, positive="y")
    judgments.answer("weather.odd", 0.9)
    labels.label(judge("weather.odd", "x", session=S).run_id, "y\x1b[2J\n", by="t")
    for command in (("ls",), ("report", "weather.odd"), ("replay", "weather.odd")):
        out = StringIO()
        call_command("judgments", *command, stdout=out)
        text = out.getvalue()
        assert "weather.odd" in text and len(text) < 10_000
        assert all(char.isprintable() for char in text.replace("\n", ""))
    assert "labelled y\ufffd[2J\ufffd: 1" in report_of("weather.odd")


def report_of(name):
    out = StringIO()
    call_command("judgments", "report", name, stdout=out)
    return out.getvalue()


def test_the_last_label_counts(judgments, rain):
    run_id = ask(judgments, rain, 0.9, "dry")
    labels.label(run_id, "wet", by="t")
    question = the_report(rain)["groups"][0]["questions"]["q"]
    assert question["labels"] == {"wet": 1} and question["calibration"]["accuracy"] == 1.0


def test_a_label_without_a_question_is_about_the_first_and_the_last_one_counts(judgments, rain):
    run_id = ask(judgments, rain, 0.9, "dry")
    labels.label(run_id, "dry", by="t", question="q")
    labels.label(run_id, "wet", by="t")
    question = the_report(rain)["groups"][0]["questions"]["q"]
    assert question["labels"] == {"wet": 1} and question["calibration"]["n"] == 1
    (line,) = exporting.labelled(rain)
    assert line["label"] == "true"
    registry.declare(
        "weather.two",
        questions={n: {"type": "noul", "instructions": n} for n in ("second", "a")},
        positive="wet",
        negative="dry",
    )
    judgments.answer("weather.two", 0.9, question="second")
    judgments.answer("weather.two", 0.2, question="a")
    labels.label(judge("weather.two", "x", session=S).run_id, "wet", by="t")
    questions = the_report("weather.two")["groups"][0]["questions"]
    assert questions["second"]["calibration"]["brier"] == pytest.approx(0.01)
    assert questions["a"]["labels"] == {}


def test_wordings_and_models_are_never_pooled(judgments, rain):
    ask(judgments, rain, 0.9, "wet")
    Run.objects.update(served_model="older")
    ask(judgments, rain, 0.9, "dry")
    found = {g["served_model"]: g["questions"]["q"]["labels"] for g in the_report(rain)["groups"]}
    assert found == {"older": {"wet": 1}, "scripted": {"dry": 1}}


def test_a_choice_is_right_when_its_label_names_it(judgments, many):
    judgments.answer(many, [0.1, 0.7, 0.2], question="kind")
    for value in ("a", "b"):
        run_id = judge(many, "x", session=S).run_id
        labels.label(run_id, value, by="t", question="kind")
    questions = the_report(many)["groups"][0]["questions"]
    assert questions["kind"]["calibration"]["accuracy"] == 0.5
    assert questions["kind"]["histogram"][7] == 2 and questions["level"]["histogram"][5] == 2
    assert questions["q"]["labels"] == {}


def test_a_right_choice_with_less_than_a_half_is_right(judgments, many):
    judgments.answer(many, [0.3, 0.4, 0.3], question="kind")
    for value in ("a", "a", "a", "b"):
        labels.label(judge(many, "x", session=S).run_id, value, by="t", question="kind")
    question = the_report(many)["groups"][0]["questions"]["kind"]
    assert question["calibration"]["accuracy"] == 0.75
    assert question["calibration"]["ece"] == pytest.approx(0.35)


def test_a_score_is_right_when_its_label_names_the_most_likely_level(judgments, many):
    judgments.answer(many, [0.1, 0.3, 0.6], question="level")
    for value in ("much", "2", "some", "0", "no level at all"):
        labels.label(judge(many, "x", session=S).run_id, value, by="t", question="level")
    question = the_report(many)["groups"][0]["questions"]["level"]
    figures = question["calibration"]
    assert (figures["n"], figures["accuracy"]) == (4, 0.5) and sum(question["labels"].values()) == 5
    assert figures["brier"] == pytest.approx((2 * 0.4**2 + 2 * 0.6**2) / 4)
    assert question["dial"]["coverage"] == 0


def test_ls_knows_every_judgment(judgments, rain, many):
    ask(judgments, rain, 0.9, "wet")
    rows = {row["name"]: row for row in reports.listing()}
    assert (rows[rain]["n_runs"], rows[rain]["n_labels"], rows[rain]["models"]) == (1, 1, ["scripted"])
    assert rows[many]["n_runs"] == 0 and rows[many]["mode"] == "off"
    assert rows["approvals.allow"]["n_versions"] == 0


def test_an_unknown_name_is_refused_with_the_nearest(judgments, rain):
    with pytest.raises(NotFound, match="Did you mean weather.rain"):
        the_report("weather.rian")
    with pytest.raises(SystemExit) as caught:
        call_command("judgments", "report", "weather.rian", stderr=StringIO())
    assert caught.value.code == 2


def test_the_command_prints_all_of_it(judgments, rain):
    ask(judgments, rain, 0.9, "wet")
    out = StringIO()
    call_command("judgments", "ls", stdout=out)
    call_command("judgments", "report", rain, stdout=out)
    text = out.getvalue()
    assert "weather.rain" in text and "accuracy 1.000" in text and "act from certainty 0.900" in text
    lines = StringIO()
    call_command("judgments", "export", rain, stdout=lines)
    (line,) = [json.loads(text) for text in lines.getvalue().splitlines()]
    assert (line["labels"][""]["value"], line["label"]) == ("wet", "true")
    assert list(line["questions"]) == ["q"]
    js = StringIO()
    call_command("judgments", "report", rain, "--json", stdout=js)
    assert json.loads(js.getvalue())["judgment"] == rain


def test_a_replay_says_what_would_have_changed(judgments, rain):
    for p in (0.9, 0.8, 0.2):
        ask(judgments, rain, p)
    judgments.shared_host_busy()
    judge(rain, "skipped then", session=S)
    judgments.answer(rain, 0.3)
    done = replay.replay(rain, model="other").as_json()
    assert (done["n_asked"], done["questions"]["q"]["n"], done["questions"]["q"]["n_changed"]) == (4, 3, 2)
    assert done["questions"]["q"]["n_new"] == 1
    assert done["questions"]["q"]["mean_shift"] == pytest.approx((0.6 + 0.5 + 0.1) / 3)
    assert Run.objects.filter(origin="replay").count() == 0
    replay.replay(rain, model="other", is_saved=True)
    assert Run.objects.filter(origin="replay").count() == 4
    assert replay.replay(rain).n_asked == 4
    out = StringIO()
    call_command("judgments", "replay", rain, "--model", "other", stdout=out)
    assert "2 of 3 would have changed" in out.getvalue()


def test_a_replay_can_ask_in_several_orders(judgments):
    registry.declare("weather.pick", questions={"q": {"type": "choice", "criteria": {"a": None, "b": None}}})
    judgments.answer("weather.pick", [0.7, 0.3])
    judge("weather.pick", "x", session=S)
    done = replay.replay("weather.pick", n_orders=2).as_json()
    # This reader only looks at the position: both orders together say nothing.
    assert done["instability"] == pytest.approx(0.2)


def test_cut_states_are_not_asked_again(judgments, rain):
    judgments.answer(rain, 0.9)
    judge(rain, "y" * 20_000, session=S)
    done = replay.replay(rain)
    assert (done.n_asked, done.n_truncated) == (0, 1)
    assert list(exporting.labelled(rain)) == []


def test_a_replay_of_a_local_agents_run_stays_on_this_network(judgments, rain, monkeypatch):
    judgments.answer(rain, 0.9)
    agent = agents.create(slug="wren", name="Wren")
    judge(rain, "secret", session="cycle:1", agent=agent)
    judge(rain, "open", session="cycle:2", agent=agents.create(slug="lark", name="Lark"))
    agents.update(agent, {"local_only": True}, by=None, door="command")
    asked: dict[str, bool] = {}
    real = ordered.ask

    def noted(host, one, *args, **more):
        asked[one.state] = host.local_only
        return real(host, one, *args, **more)

    monkeypatch.setattr(ordered, "ask", noted)
    assert replay.replay(rain).n_asked == 2
    assert asked == {"secret": True, "open": False}


def test_a_wording_that_is_gone_cannot_be_asked_anew(judgments, rain):
    ask(judgments, rain, 0.9)
    with registry.isolated():
        registry._declared.pop(rain)
        assert replay.replay(rain).n_asked == 1
        with pytest.raises(SystemExit) as caught:
            call_command("judgments", "replay", rain, "--wording", "current", stderr=StringIO())
    assert caught.value.code == 2


def test_a_current_wording_that_refuses_an_old_state_is_counted(judgments):
    said = {"q": {"type": "noul", "instructions": "?"}}
    registry.declare("weather.pick", questions=lambda state: said)
    ask(judgments, "weather.pick", 0.9)
    said["q"] = {"type": "box"}
    done = replay.replay("weather.pick", is_current_wording=True)
    assert (done.n_asked, done.failures) == (0, {"bad_questions": 1})


@pytest.mark.parametrize("given", ["--limit=0", "--limit=-1", "--orders=0", "--orders=9", "--days=-1"])
def test_a_replay_takes_whole_numbers_that_make_sense(judgments, rain, given):
    with pytest.raises(CommandError, match=given.partition("=")[0]):
        call_command("judgments", "replay", rain, given)


EXTRA = [
    {"choice": "wet", "probabilities": {"wet": "high"}},
    {"score": {"of": "what"}, "probabilities": {"wet": 0.1, "dry": 0.9}, "legend": {"wet": "wet"}},
]


@pytest.mark.parametrize("extra", EXTRA)
def test_fields_of_a_host_that_no_noul_has_change_no_number(judgments, rain, extra):
    judgments.answer(rain, {"q": {"type": "noul", "noul": 0.9, **extra}})
    labels.label(judge(rain, "x", session=S).run_id, "wet", by="t")
    (group,) = the_report(rain)["groups"]
    figures = group["questions"]["q"]["calibration"]
    assert (figures["n"], figures["accuracy"]) == (1, 1) and figures["brier"] == pytest.approx(0.01)


@pytest.mark.parametrize("extra", [{"noul": "no number"}, {"noul": 0.3}, {"score": 1}, {"noul": 10**400}])
def test_fields_of_a_host_that_no_choice_has_change_no_number(judgments, extra):
    registry.declare(
        "weather.sky", questions={"q": {"type": "choice", "criteria": {"blue": None, "grey": None}}}
    )
    said = {"type": "choice", "choice": "blue", "probabilities": {"blue": 0.8, "grey": 0.2}, **extra}
    judgments.answer("weather.sky", {"q": said})
    labels.label(judge("weather.sky", "x", session=S).run_id, "blue", by="t")
    (group,) = the_report("weather.sky")["groups"]
    figures = group["questions"]["q"]["calibration"]
    assert (figures["n"], figures["accuracy"]) == (1, 1) and figures["brier"] == pytest.approx(0.04)
