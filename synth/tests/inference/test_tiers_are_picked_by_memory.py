"""Free memory decides the tier; what doesn't fit is refused with numbers."""

from __future__ import annotations

import pytest

from synth.inference import tiers


@pytest.mark.parametrize(
    ("free_mib", "name"),
    [
        (None, "cpu"),
        (0, "cpu"),
        (2_000, "cpu"),
        (2_100, "gpu-small"),
        (8_000, "gpu-medium"),
        (24_000, "gpu-large"),
    ],
)
def test_the_tier_follows_from_free_memory_less_the_context(free_mib, name):
    assert tiers.pick(free_mib).name == name


def test_a_forced_tier_wins_and_a_wrong_name_is_refused():
    assert tiers.pick(None, forced="gpu-small").dtype == "bfloat16"
    with pytest.raises(ValueError, match="known are"):
        tiers.pick(None, forced="gpu-huge")


def test_a_load_that_does_not_fit_is_refused_with_numbers():
    with pytest.raises(tiers.DoesNotFit, match="needs 900 MiB; 800 MiB are free"):
        tiers.check_fit("m", 900, 800)
    tiers.check_fit("m", 800, 800)


def test_the_least_recently_used_models_go_first():
    loaded = {"new": (100, 9.0), "old": (100, 1.0), "older": (50, 0.5)}
    assert tiers.to_unload(loaded, 120, 0) == ["older", "old"]
    assert tiers.to_unload(loaded, 10, 50) == []
