"""Generated rows are reproducible, labelled with an option, and no phrase is in both parts."""

from __future__ import annotations

import pytest

from judgments.ml import generated
from judgments.ml.rendering import FIELDS, field_texts
from judgments.services.training import question_of, trainable

FAMILIES = generated.families()


def test_every_trainable_judgment_has_rows():
    assert sorted(FAMILIES) == trainable()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_rows(family):
    assert generated.rows(family, 60) == generated.rows(family, 60)
    assert generated.rows(family, 60) != generated.rows(family, 60, seed=8)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_fields_that_heads_read_and_labels_that_are_options(family):
    question = question_of(family)
    for row in generated.rows(family, 120):
        assert field_texts(row.state, FIELDS[family]) is not None
        options = row.options or dict.fromkeys(question.options or ("true", "false"))
        assert row.label in options


@pytest.mark.parametrize("family", FAMILIES)
def test_both_parts_and_all_labels_of_a_noul_occur(family):
    rows = generated.rows(family, 400)
    parts = {(row.is_test, row.label) for row in rows if row.label in ("true", "false")}
    assert {row.is_test for row in rows} == {True, False}
    assert not parts or len(parts) == 4
