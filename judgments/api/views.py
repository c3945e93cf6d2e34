"""REST views of judgments: settings, asking, runs and what came of them, reports."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.timezone import now
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from judgments import registry, selectors, strict_json
from judgments import session as sessions
from judgments.api import serializers as shapes
from judgments.models import Run
from judgments.registry import BadDeclaration, Declaration
from judgments.services import asking, labels, reports, settings
from synth.api.base import Api
from synth.api.idempotency import idempotent, once_unheld
from synth.errors import Invalid, NotAllowed, NotFound, Refused
from synth.selectors import dialogue_by_id

DOOR = "rest"
SCOPE = "systemone"
MAX_DAYS = 3_650
NAME = OpenApiParameter("judgment", OpenApiTypes.STR, description="its full name")
SESSION = OpenApiParameter("session_id", OpenApiTypes.STR)
DAYS = OpenApiParameter("days", {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": 14})


def shown(declaration: Declaration) -> dict[str, Any]:
    """A judgment with its settings."""
    row = settings.row_of(declaration.name)
    asked = declaration.questions
    return {
        "name": declaration.name,
        "is_core": declaration.is_core,
        "mode": row.mode,
        "host": row.host,
        "model": row.model,
        "n_orders": row.n_orders,
        "questions": None if asked is None else {question.id: question.as_wire() for question in asked},
        "positive": list(declaration.positive),
        "negative": list(declaration.negative),
    }


class Judgments(Api):
    """The base: who may look at judgments, who may ask."""

    pagination_class: Any = None

    def operator_only(self) -> None:
        """NotAllowed for everybody else."""
        if not self.caller.is_operator:
            raise NotAllowed("Only an operator may do this.")

    def found(self, name: str) -> Declaration:
        """The declared judgment, for those who may look."""
        self.operator_only()
        return settings.declared(name)


class JudgmentList(Judgments):
    """Every declared judgment."""

    serializer_class = shapes.JudgmentOut

    @extend_schema(operation_id="judgments", responses=shapes.JudgmentOut(many=True))
    def get(self, request: Request) -> Response:
        """Every declared judgment with its settings, by name. Operators only."""
        self.operator_only()
        rows = [shown(declaration) for declaration in registry.all_declared()]
        return Response(shapes.JudgmentOut(rows, many=True).data)


class JudgmentDetail(Judgments):
    """One judgment."""

    serializer_class = shapes.JudgmentOut

    @extend_schema(operation_id="judgment_read", responses=shapes.JudgmentOut)
    def get(self, request: Request, name: str) -> Response:
        """Its questions and settings. Operators only."""
        return Response(shapes.JudgmentOut(shown(self.found(name))).data)

    @extend_schema(operation_id="judgment_change", request=shapes.JudgmentPatch, responses=shapes.JudgmentOut)
    def patch(self, request: Request, name: str) -> Response:
        """Change its settings. 422 `core_judgment` for a core judgment's host or model."""
        declaration = self.found(name)
        changes = self.checked(shapes.JudgmentPatch, is_partial=True)
        settings.change(name, changes, by=self.caller.person, door=DOOR)
        return Response(shapes.JudgmentOut(shown(declaration)).data)


class JudgmentAsk(Judgments):
    """Asking one judgment."""

    serializer_class = shapes.ResultOut

    @extend_schema(operation_id="judgment_ask", request=shapes.AskBody, responses=shapes.ResultOut)
    def post(self, request: Request, name: str) -> Response:
        """Ask it now. Operators, and app keys with the scope `systemone`.

        Without an answer `reason` says why; the status is 200 all the same.
        """
        declaration = self._askable(name)  # first: a kept answer is not for everybody either
        return once_unheld(request, lambda: self._ask(declaration))

    def _ask(self, declaration: Declaration) -> Response:
        body = self.checked(shapes.AskBody)
        session = body.get("session_id") or self._own_session()
        try:
            sessions.check(session)
            self._refuse_foreign(session)
            result = asking.judge(
                declaration.name, body["state"], session=session,
                api_key_id=self.caller.key.pk if self.caller.key else None,
            )  # fmt: skip
        except BadDeclaration as error:
            raise Refused(str(error), code="bad_questions", field="state") from None
        except asking.BadState as error:
            raise Invalid(str(error), field="state") from None
        except ValueError as error:
            raise Invalid(str(error), field="session_id") from None
        return Response(shapes.ResultOut(result.as_json()).data)

    def _askable(self, name: str) -> Declaration:
        caller = self.caller
        if not caller.is_operator and (caller.app is None or not caller.has_scope(SCOPE)):
            raise NotAllowed("Only an operator or an app key with the scope systemone may ask.")
        return settings.declared(name)

    def _refuse_foreign(self, session: str) -> None:
        """Invalid for a session that is not the caller's to ask in: an operator's are all, an app's its own
        and the dialogues of the person it acts for.
        """
        if self.caller.is_operator or sessions.kind_of(session) == "api":
            return
        key = asking.dialogue_of(session)
        row = dialogue_by_id(key) if key else None
        if row is None or row.person != self.caller.person:
            raise Invalid("There is no such session of the person you act for.", field="session_id")

    def _own_session(self) -> str:
        key = self.caller.key
        return f"api:{key.prefix}" if key is not None else f"api:person-{self.caller.person.pk}"


class JudgmentReport(Judgments):
    """How good a judgment is."""

    serializer_class = shapes.ReportOut

    @extend_schema(operation_id="judgment_report", parameters=[DAYS], responses=shapes.ReportOut)
    def get(self, request: Request, name: str) -> Response:
        """Counts, calibration and the error-budget dial by wording, served model and caller.

        An operator sees every caller; a key sees what was asked with it.
        """
        caller = self.caller
        if not caller.is_operator and caller.key is None:
            raise NotAllowed("Only an operator, or a key for its own asks, may see a report.")
        days = _days(request)
        key_id = None if caller.is_operator or caller.key is None else caller.key.pk
        found = reports.report(name, days=days, at=now(), key_id=key_id)
        return Response(shapes.ReportOut(found).data)


def _days(request: Request) -> int:
    raw = request.query_params.get("days", "14")
    if not (raw.isascii() and raw.isdigit() and len(raw) < 6 and 1 <= int(raw) <= MAX_DAYS):
        raise Invalid(f"A whole number from 1 to {MAX_DAYS} is needed.", field="days")
    return int(raw)


class RunList(Api):
    """Saved asks."""

    serializer_class = shapes.RunOut
    queryset = Run.objects.none()

    @extend_schema(
        operation_id="judgment_runs", parameters=[NAME, SESSION], responses=shapes.RunOut(many=True)
    )
    def get(self, request: Request) -> Response:
        """Saved asks, newest first; an operator sees all, a key those asked with it."""
        rows = selectors.runs_seen(self.caller).defer("state")
        for column, parameter in (("judgment", "judgment"), ("session_id", "session_id")):
            value = request.query_params.get(parameter)
            if value is not None:
                rows = rows.filter(**{column: str(strict_json.saveable(value))})
        return self.page(rows, shapes.RunOut)


class OneRun(Api):
    """A saved ask that the caller may see."""

    pagination_class: Any = None

    def run(self, name: str, key: str) -> Run:
        """The run, or NotFound."""
        row = selectors.run_seen(self.caller, name, UUID(key))
        if row is None:
            raise NotFound("There is no such run.", code="run_not_found")
        return row

    def said_by(self, app: str, given: str = "") -> str:
        """Who says so: the key, or the person who is logged in; what they call themselves comes after it.

        Invalid when that is too long to be kept after the judgment's app.
        """
        key = self.caller.key
        who = f"key-{key.prefix}" if key is not None else self.caller.person.username
        said = f"{who}:{given}" if given else who
        if len(f"{app}:{said}") > labels.MAX_CHARS:
            raise Invalid(
                f"by is too long: with {app}:{who} before it, it may have {labels.MAX_CHARS} characters.",
                field="by",
            )
        return said


class RunDetail(OneRun):
    """One run."""

    serializer_class = shapes.RunDetailOut

    @extend_schema(operation_id="judgment_run_read", responses=shapes.RunDetailOut)
    def get(self, request: Request, name: str, key: str) -> Response:
        """The state as sent, the questions, and what was added later."""
        row = self.run(name, key)
        return self.shown(row, shapes.RunDetailOut, events=selectors.events_of(row))


class RunLabels(OneRun):
    """Labels of a run."""

    serializer_class = shapes.SavedOut

    @extend_schema(
        operation_id="judgment_run_label", request=shapes.LabelBody, responses={201: shapes.SavedOut}
    )
    @idempotent
    def post(self, request: Request, name: str, key: str) -> Response:
        """Say what came of it. Labels are appended; the last one of a question counts.

        409 `already_labelled` when `should_have_asked` is said twice.
        """
        row = self.run(name, key)
        body = self.checked(shapes.LabelBody)
        question = body.get("question")
        if question is not None and not selectors.has_question(row.version, question):
            raise Invalid("The run was asked no such question.", field="question")
        saved = labels.label(
            str(row), body["value"], by=self.said_by(row.judgment.partition(".")[0], body.get("by", "")),
            strength=body.get("strength", "strong"), question=question,
            is_once=body["value"] == labels.SHOULD_HAVE_ASKED,
        )  # fmt: skip
        return Response({"saved": saved}, status=201)


class RunActed(OneRun):
    """Deeds about a run."""

    serializer_class = shapes.SavedOut

    @extend_schema(
        operation_id="judgment_run_acted", request=shapes.ActedBody, responses={201: shapes.SavedOut}
    )
    @idempotent
    def post(self, request: Request, name: str, key: str) -> Response:
        """Say what was done about it."""
        row = self.run(name, key)
        what = self.checked(shapes.ActedBody)["what"]
        saved = labels.acted(str(row), what, by=self.said_by(row.judgment.partition(".")[0]))
        return Response({"saved": saved}, status=201)
