"""The OpenAPI tells the truth: generated requests get documented answers; the snapshot is current."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from rest_framework.test import APIClient

from synth.models import Agent
from synth.services import diary, keys

SNAPSHOT = Path(django_settings.BASE_DIR) / "docs" / "openapi.yaml"
N_EXAMPLES = {"operator": 20, "trainer": 12, "person": 6, "anonymous": 4}


def test_the_snapshot_is_current() -> None:
    out = StringIO()
    call_command("spectacular", "--fail-on-warn", stdout=out)
    assert SNAPSHOT.read_text() == out.getvalue(), (
        "run: manage.py spectacular --fail-on-warn --file docs/openapi.yaml"
    )


def test_every_operation_documents_its_refusals() -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    for path, operations in paths.items():
        assert path.endswith("/") or path.startswith("/v1/"), path
        for method, operation in operations.items():
            needed = {"400", "401", "403", "404", "422", "429", "503"}
            needed |= {"409", "413", "415"} if method != "get" else set()
            assert needed <= set(operation["responses"]), f"{method} {path}"
            assert operation["description"], f"{method} {path}"


def test_the_schema_and_its_page_are_open(db: None) -> None:
    for path in ("/api/schema/", "/api/schema", "/api/docs/", "/api/docs"):
        answer = APIClient().get(path)
        assert answer.status_code == 200
    page = APIClient().get("/api/docs/").content.decode()
    assert "https://" not in page and "/static/drf_spectacular_sidecar/" in page


def no_server_error(ctx: Any, response: Any, case: Any) -> None:
    """As schemathesis has it; but Django alone, without its front, cannot stream and says so."""
    import schemathesis

    if response.status_code == 503 and "no_stream_here" in response.text:
        return
    schemathesis.checks.not_a_server_error(ctx, response, case)


@pytest.fixture
def one_connection() -> Iterator[None]:
    """The test's transaction outlives each request, as with Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.parametrize("role", N_EXAMPLES)
def test_generated_requests_get_documented_answers(
    callers, agent: Agent, one_connection: None, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import schemathesis
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    wanted: list[Any] = [
        no_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    diary.write(agent, content="A day.")
    # A reader without a model, asked inside the transaction that undoes each request.
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "scripted")
    monkeypatch.setattr("synth.net.database.leave", lambda: None)
    monkeypatch.setattr("synth.net.database.check", lambda: None)
    headers = {}
    if role != "anonymous":
        plain = keys.issue(getattr(callers, role), role=role).plain
        headers["Authorization"] = f"Bearer {plain}"
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", get_wsgi_application())

    def try_out(operation: Any, mode: Any) -> None:
        @hypothesis_settings(
            max_examples=N_EXAMPLES[role], deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case: Any) -> None:
            if "slug" in case.path_parameters and len(str(case.path_parameters["slug"])) % 4:
                case.path_parameters["slug"] = "wren"
            case.headers.pop("Authorization", None)
            if len(str(case.headers.get("X-Person", ""))) % 4:
                case.headers.pop("X-Person")
            if len(str(case.headers.get("X-Person", ""))) % 4:
                case.headers.pop("X-Person")
            # Each request finds the world as it was.
            with transaction.atomic():
                case.call_and_validate(headers=headers, checks=wanted)
                transaction.set_rollback(True)

        one()

    operations: Any = schema.get_all_operations()
    for result in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try_out(result.ok(), mode)
