"""What judgments add to the core's registries."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from judgments.declared import CORE
from synth import registries

if TYPE_CHECKING:
    from synth.models import Agent


def register() -> None:
    """Called once when Django starts."""
    from judgments.api.asgi import OwnThreads
    from judgments.backends import local
    from judgments.services import purge

    asgi = OwnThreads()
    for prefix in ("/v1/systemone", "/v1/decisions"):
        registries.asgi_routes.add(prefix, asgi)
    registries.erasers.add("judgments.runs", purge.erase)
    registries.model_runners.add(local.KIND, local.make_runner)
    registries.demo_seeders.add("judgments.core_in_audit", core_in_audit)


def core_in_audit(agent: Agent, *, at: datetime, **_: Any) -> None:
    """The demo looks at the judgments of the core without acting on them; settings that exist stay."""
    from judgments.models import JudgmentSetting, Mode

    for name in CORE:
        JudgmentSetting.objects.get_or_create(name=name, defaults={"mode": Mode.AUDIT})
