"""The readers of our torch worker as models that clients may name; known without torch."""

from __future__ import annotations

from collections.abc import Iterator

from judgments import heads, options
from judgments.models import ArtifactStatus, ModelArtifact
from judgments.services import training
from judgments.wire import ModelInfo
from synth.inference import specs

FIRST_RELEASE = "2026-01-01"


def readers() -> list[ModelInfo]:
    """Every reader that answers when it is named; heads for another encoder than the installed one don't."""
    found = [
        ModelInfo(said.model, f"The head {said.family}, version {said.version}.", released)
        for said, released in _heads()
    ]
    found.append(ModelInfo(heads.EMBEDDING, "Choices by likeness of state and option.", FIRST_RELEASE))
    if options.read(options.LANGUAGE_MODEL):
        found.append(ModelInfo(heads.LANGUAGE_MODEL, "The language model of this server.", FIRST_RELEASE))
    return found


def is_known(name: str) -> bool:
    """Whether a client may name this model, a head also with its version."""
    if name.partition("@")[0] == heads.ALL:
        return True  # the worker knows which version it is
    pinned = {f"{said.model}@{said.version}" for said, _ in _heads()}
    return name in pinned or name in {model.name for model in readers()}


def _heads() -> Iterator[tuple[heads.Said, str]]:
    """What each head that serves says of itself, and the day it is from."""
    days = dict(ModelArtifact.objects.filter(status=ArtifactStatus.ACTIVE).values_list("name", "created_at"))
    encoder = specs.picked().name
    for name, data in sorted(training.serving().items()):
        try:
            said = heads.said(data)
        except heads.BadHead:
            continue
        if said.encoder == encoder:
            yield said, days[name].date().isoformat() if name in days else FIRST_RELEASE
