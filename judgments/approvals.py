"""The judge of approvals (`approvals.allow`): whether an action of an agent may run without its person.

Everything must hold: mode on, a sure answer, a rule that an operator listed, nothing of Synth's own touched,
and a clean record of that rule with the very model that answered. Whatever fails, the person is asked.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from judgments import options
from judgments.declared import APPROVALS_ALLOW
from judgments.models import Run, RunEvent, RunEventKind
from judgments.services import asking, gates, labels, runs, settings
from synth import actions, selectors
from synth.schemas import ApprovalVerdict
from synth.services.outbox import subscribe

if TYPE_CHECKING:
    from synth.turns import Turn

MAX_ARGUMENT_CHARS = 2_000
MAX_DIFF_CHARS = 2_000
MAX_SIMILAR = 10
MAX_SIMILAR_CHARS = 200
MAX_EVENTS = 500  # gates of a rule that are looked through
AGAINST = ("deny", labels.SHOULD_HAVE_ASKED)
# A person's answers as labels; a dismissed card says nothing.
LABELS = {
    "allow_once": "allow_once",
    "allow_session": "allow_wide",
    "allow_always": "allow_wide",
    "deny": "deny",
}


@dataclass(frozen=True)
class Weighed:
    """The gates of one ask; kept with its run and its approval."""

    rule: str
    rule_listed: bool
    self_protect_refused: bool
    threshold: float
    p: float | None
    mode: str
    is_doubted: bool
    is_clean: bool
    is_whole: bool

    @property
    def may(self) -> bool:
        """Whether all of them are open."""
        is_sure = self.p is not None and self.p >= self.threshold
        is_barred = self.self_protect_refused or self.is_doubted
        is_known = self.is_clean and self.is_whole
        return self.mode == "on" and is_sure and self.rule_listed and not is_barred and is_known


def judge(approval: Any, turn: Turn, record: list[dict[str, Any]]) -> ApprovalVerdict:
    """Ask, weigh, keep what was weighed. A verdict in any case, which only in the best may allow."""
    if settings.mode_of(APPROVALS_ALLOW) == "off":
        return ApprovalVerdict(False)
    session = f"dialogue:{approval.dialogue_id}"
    quotes = [one["run_id"] for one in record[:MAX_SIMILAR] if one["run_id"]]
    result = asking.judge(
        APPROVALS_ALLOW, state_of(approval, record), session=session, agent=turn.agent, quotes=quotes
    )
    found = weigh(approval, result.p(), result.mode, result.run_id, record)
    gates.save(
        result.run_id, rule=found.rule, rule_listed=found.rule_listed,
        self_protect_refused=found.self_protect_refused, threshold=found.threshold, by="approvals:judge",
    )  # fmt: skip
    # What is on no record can be held against no rule.
    may = found.may and result.run_id is not None
    labels.acted(result.run_id, "auto" if may else "audit" if result.audit else "asked", by="judge")
    weighed = {**asdict(found), "reason": result.reason or ""}
    return ApprovalVerdict(may, result.run_id, weighed)


def state_of(approval: Any, record: list[dict[str, Any]]) -> dict[str, Any]:
    """What is judged: the action with its arguments, what would change, what became of similar ones."""
    similar = [
        f"{'should have been asked' if one['decision'] == labels.SHOULD_HAVE_ASKED else one['status']}: "
        f"{_told(one['action'], one['arguments'])[:MAX_SIMILAR_CHARS]}"
        for one in record[:MAX_SIMILAR]
    ]
    return {
        "action": _told(approval.action, approval.arguments)[:MAX_ARGUMENT_CHARS],
        "diff": approval.diff[:MAX_DIFF_CHARS],
        "similar": similar,
    }


def _told(action: str, arguments: Any) -> str:
    return f"{action}: {json.dumps(arguments, ensure_ascii=False)}"


def weigh(
    approval: Any, p: float | None, mode: str, run_id: str | None, record: list[dict[str, Any]]
) -> Weighed:
    """The gates as they stand for this question."""
    listed = [str(one) for one in options.read(options.APPROVALS_AUTO)]
    named = [approval.action, *(scope["key"] for scope in approval.scopes)]
    rule = next((one for one in listed if one in named), "")
    action = actions.named(approval.action)
    return Weighed(
        rule=rule or approval.action,
        rule_listed=bool(rule),
        self_protect_refused=action is None or action.touches_self,
        threshold=options.read(options.APPROVALS_PERCENT) / 100,
        p=p,
        mode=mode,
        is_doubted=bool(approval.gates.get("doubt")),
        is_clean=p is not None and is_clean(rule or approval.action, run_id, record),
        # What was cut off, nobody looked at.
        is_whole=len(_told(approval.action, approval.arguments)) <= MAX_ARGUMENT_CHARS
        and len(approval.diff) <= MAX_DIFF_CHARS,
    )


def is_clean(rule: str, run_id: str | None, record: list[dict[str, Any]]) -> bool:
    """Whether nobody said no to the latest runs of this rule that the same served model answered."""
    if run_id is None:
        return False
    n_latest = int(options.read(options.APPROVALS_RECORD))
    model = Run.objects.filter(pk=_key(run_id)).values_list("served_model", flat=True).first()
    if model is None:
        return False
    # A label may still be on its way; the answers themselves are already there.
    fresh = [_key(one["run_id"]) for one in record[:n_latest] if one["run_id"] and one["decision"] in AGAINST]
    same = Run.objects.filter(judgment=APPROVALS_ALLOW, served_model=model)
    if same.filter(pk__in=fresh).exists():
        return False
    weighed = RunEvent.objects.filter(
        judgment=APPROVALS_ALLOW, kind=RunEventKind.GATES, data__rule=rule[: gates.MAX_RULE]
    )
    of_rule = list(weighed.order_by("-at", "-id").values_list("run_id", flat=True)[:MAX_EVENTS])
    latest = same.filter(pk__in=of_rule).order_by("-at").values_list("pk", flat=True)
    ids = list(latest[:n_latest])
    against = RunEvent.objects.filter(run_id__in=ids, kind=RunEventKind.LABEL, value__in=AGAINST)
    return not against.exists()


def _key(run_id: str) -> UUID:
    return runs.parse_id(run_id)[1]


@subscribe("synth.approval_decided", "judgments.label_approval")
def label_decided(payload: dict[str, Any]) -> None:
    """A person's answer becomes a strong label; what ran out or was taken or put away is no answer."""
    row = selectors.approval_by_id(UUID(payload["approval_id"]))
    value = LABELS.get(row.decision) if row is not None else None
    if row is not None and row.judgment_run and value:
        labels.label(row.judgment_run, value, by="user")


@subscribe("synth.approval_regretted", "judgments.label_regretted_approval")
def label_regretted(payload: dict[str, Any]) -> None:
    """Somebody should have been asked."""
    row = selectors.approval_by_id(UUID(payload["approval_id"]))
    if row is not None and row.judgment_run:
        labels.label(row.judgment_run, labels.SHOULD_HAVE_ASKED, by="user")
