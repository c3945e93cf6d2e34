"""Free memory decides the tier; what doesn't fit is refused with numbers."""

from __future__ import annotations

import pytest

from synth.inference import probe, tiers
from synth.inference.tiers import Loaded


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
    loaded = {"new": Loaded(100, 9.0), "old": Loaded(100, 1.0), "older": Loaded(50, 0.5)}
    assert tiers.to_unload(loaded, 120, 0) == ["older", "old"]
    assert tiers.to_unload(loaded, 10, 50) == []


def test_a_model_makes_a_place_where_all_are_taken_though_memory_is_left():
    loaded = {"a": Loaded(1, 2.0), "b": Loaded(1, 1.0)}
    assert tiers.to_unload(loaded, 1, 9_000, resident=2) == ["b"]
    assert tiers.to_unload(loaded, 1, 9_000, resident=3) == []


def test_a_nice_load_takes_no_place_of_what_matters_more():
    loaded = {"chat": Loaded(100, 1.0, "CHAT"), "ours": Loaded(100, 2.0), "nice": Loaded(50, 3.0, "NICE")}
    assert tiers.to_unload(loaded, 500, 0, priority="NICE") == ["nice"]
    assert tiers.to_unload(loaded, 120, 0, priority="IMPORTANT") == ["chat", "ours"]
    with pytest.raises(tiers.DoesNotFit, match="2 models in use are loaded, 2 may be"):
        tiers.check_place("m", 2, 2)


def test_a_container_has_less_than_its_machine(tmp_path):
    mib = 1024 * 1024
    for name, value in {"memory.max": 900 * mib, "memory.current": 500 * mib}.items():
        (tmp_path / name).write_text(f"{value}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {100 * mib}\n")
    assert probe.cgroup_free_mib(tmp_path) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert probe.cgroup_free_mib(tmp_path) is None
