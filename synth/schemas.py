"""Values that cross the border of the core: what services and selectors give besides rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.models import Agent, ApiKey, Person


@dataclass(frozen=True)
class IssuedKey:
    """A fresh API key; `plain` is shown once and kept nowhere."""

    key: ApiKey
    plain: str


@dataclass(frozen=True)
class Caller:
    """Who stands behind a request: a person, narrowed by the key it came with (None: a browser session).

    `app` is the app's own service person when the key is an app's; `person` is then whom it acts for.
    """

    person: Person
    key: ApiKey | None
    is_operator: bool
    may_train: bool
    app: Person | None = None

    def trains(self, agent: Agent) -> bool:
        """May steer this agent: its trainer with a key that lets them, or an operator."""
        return self.is_operator or (
            self.may_train and self.person.trained_agents.filter(pk=agent.pk).exists()
        )

    def has_scope(self, scope: str) -> bool:
        """An app key without scopes has them all; other keys and sessions are not bound by scopes."""
        return self.app is None or self.key is None or not self.key.scopes or scope in self.key.scopes


@dataclass(frozen=True)
class ApprovalVerdict:
    """What a judge of approvals says: `may` it run without a person, from which run, weighed how.

    `gates` are JSON values and stay with the approval.
    """

    may: bool
    run_id: str | None = None
    gates: dict[str, Any] = field(default_factory=dict)
