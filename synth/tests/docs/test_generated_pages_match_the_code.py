"""docs/configuration.md and docs/lifecycle.md are what the code would write today."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from synth.docs_pages import configuration, lifecycle, moves
from synth.management.commands import docs
from synth.options import OPTIONS


@pytest.mark.parametrize("name", sorted(docs.PAGES))
def test_the_page_has_not_drifted(name: str):
    assert docs.is_current(name), "run manage.py docs"


def test_every_option_stands_on_the_configuration_page():
    page = configuration.page()
    assert [name for name in OPTIONS if f"`{name}`" not in page] == []


def test_no_secret_has_a_default_to_print():
    assert [option.name for option in OPTIONS.values() if option.is_secret and option.default] == []


def test_every_status_is_drawn_in_its_models_docstring():
    found = {status.label: moves.problems(status.values, status.docstring) for status in lifecycle.statuses()}
    assert {label: problems for label, problems in found.items() if problems} == {}
    assert {"growth.GrowthRun", "growth.Proposal.delivery_status", "synth.EventHandling"} <= set(found)


def test_check_fails_and_names_a_page_that_has_drifted(monkeypatch, tmp_path):
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    with pytest.raises(CommandError, match=r"docs/lifecycle\.md has drifted"):
        call_command("docs", "--check")
    assert list(tmp_path.iterdir()) == []


def test_docs_writes_every_page(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    call_command("docs")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(docs.PAGES)
