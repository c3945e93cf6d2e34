"""The judgments of the core: declared, with fixtures they answer; in audit in the demo."""

from __future__ import annotations

import pytest
from django.utils import timezone

from judgments import declared, wiring
from judgments.models import JudgmentSetting
from judgments.services.asking import judge
from synth.services import agents


@pytest.mark.parametrize("name", declared.CORE)
def test_each_answers_its_fixture(judgments, name):
    judgments.answer(name)
    result = judge(name, declared.FIXTURES[name], session="api:test")
    assert result.reason is None and len(result.answers) == 1


def test_a_toolkit_is_chosen_among_those_that_are_listed(judgments):
    judgments.answer("toolkit.suggest", [0.7, 0.2, 0.1])
    result = judge("toolkit.suggest", declared.FIXTURES["toolkit.suggest"], session="api:test")
    answer = result.answer()
    assert answer is not None and getattr(answer, "choice", "") == "calendar"


def test_the_demo_sets_them_to_audit_and_leaves_what_is_set(db):
    JudgmentSetting.objects.create(name="approvals.allow", mode="on")
    wiring.core_in_audit(agents.create(slug="wren", name="Wren"), at=timezone.now())
    modes = dict(JudgmentSetting.objects.values_list("name", "mode"))
    assert modes.pop("approvals.allow") == "on"
    assert set(modes.values()) == {"audit"} and len(modes) == len(declared.CORE) - 1
