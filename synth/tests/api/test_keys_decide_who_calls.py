"""Keys, roles and X-Person: who a request is from."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils.timezone import now
from rest_framework.test import APIClient

from synth.models import Agent, ApiKey
from synth.services import keys, people


@pytest.mark.parametrize("scheme", ["Bearer", "Token", "bearer"])
def test_both_schemes_open_the_door(callers, scheme: str) -> None:
    plain = keys.issue(callers.person, role="person").plain
    answer = APIClient().get("/api/me/", HTTP_AUTHORIZATION=f"{scheme} {plain}")
    assert answer.json()["username"] == "pia"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Token synth_aa_bb", "Basic eDp5", "Bearer é"])
def test_anything_else_is_401_with_a_challenge(db: None, header: str) -> None:
    answer = APIClient().get("/api/me/", HTTP_AUTHORIZATION=header)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert set(answer.json()["error"]) == {"code", "message"}


def test_a_revoked_key_opens_nothing(callers) -> None:
    issued = keys.issue(callers.person, role="person")
    keys.revoke(issued.key, by=callers.operator, door="admin")
    assert APIClient().get("/api/me/", HTTP_AUTHORIZATION=f"Bearer {issued.plain}").status_code == 401


def test_an_archived_person_is_refused_with_key_and_session(callers) -> None:
    plain = keys.issue(callers.person, role="person").plain
    session = Client()
    session.force_login(callers.person, backend="django.contrib.auth.backends.ModelBackend")
    assert session.get("/api/me/").status_code == 200
    people.archive(callers.person, by=callers.operator, door="admin")
    assert session.get("/api/me/").status_code == 401
    assert APIClient().get("/api/me/", HTTP_AUTHORIZATION=f"Bearer {plain}").status_code == 401


def test_the_key_is_kept_only_as_a_hash(callers) -> None:
    issued = keys.issue(callers.person, role="person")
    row = ApiKey.objects.values().get(pk=issued.key.pk)
    assert issued.plain.startswith(f"synth_{row['prefix']}_")
    assert issued.plain.split("_", 2)[2] not in str(row)


def test_last_use_is_written_at_most_once_a_minute(callers, django_assert_num_queries) -> None:
    issued = keys.issue(callers.person, role="person")
    assert keys.authenticate(issued.plain)
    first = ApiKey.objects.get(pk=issued.key.pk).last_used_at
    assert first is not None and (now() - first).total_seconds() < 60
    with django_assert_num_queries(1):
        assert keys.authenticate(issued.plain)
    assert ApiKey.objects.get(pk=issued.key.pk).last_used_at == first


def test_a_session_needs_the_csrf_token(callers) -> None:
    session = Client(enforce_csrf_checks=True)
    session.force_login(callers.person, backend="django.contrib.auth.backends.ModelBackend")
    answer = session.patch("/api/me/", {"language": "it"}, content_type="application/json")
    assert answer.status_code == 403
    session.get("/admin/login/")
    token = session.cookies["csrftoken"].value if "csrftoken" in session.cookies else ""
    if token:
        answer = session.patch(
            "/api/me/", {"language": "it"}, content_type="application/json", headers={"X-CSRFToken": token}
        )
        assert answer.status_code == 200


def test_the_role_of_a_key_only_narrows(callers, agent: Agent) -> None:
    for role in ("person", "trainer"):
        client = callers.client(callers.operator, role)
        assert client.post("/api/agents/", {"slug": "x", "name": "X"}).status_code == 403
        assert client.get("/api/me/").json()["is_operator"] is False
        assert client.get("/api/agents/wren/diary/").status_code == 403
    narrowed = callers.client(callers.trainer, "person")
    assert narrowed.get("/api/agents/wren/diary/").status_code == 403


def test_a_key_cannot_have_more_than_its_person(callers) -> None:
    from synth.errors import Refused

    with pytest.raises(Refused):
        keys.issue(callers.person, role="operator")


def test_an_app_acts_for_a_plain_person(callers) -> None:
    app = callers.client(callers.service, "app")
    assert app.get("/api/me/").json()["username"] == "frontend"
    assert app.get("/api/me/", HTTP_X_PERSON="pia").json()["username"] == "pia"
    assert app.patch("/api/me/", {"language": "it"}, HTTP_X_PERSON="pia").status_code == 200
    callers.person.refresh_from_db()
    assert callers.person.language == "it"


def test_an_app_finds_no_unknown_or_archived_person(callers) -> None:
    app = callers.client(callers.service, "app")
    assert app.get("/api/me/", HTTP_X_PERSON="nobody").status_code == 404
    people.archive(callers.person, by=None, door="command")
    assert app.get("/api/me/", HTTP_X_PERSON="pia").status_code == 404


@pytest.mark.parametrize("username", ["tara", "olga"])
def test_an_app_never_acts_for_a_trainer_or_operator(callers, agent: Agent, username: str) -> None:
    answer = callers.client(callers.service, "app").get("/api/me/", HTTP_X_PERSON=username)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed")


def test_a_person_key_names_nobody_else(callers, person: APIClient) -> None:
    people.ensure("pat")
    assert person.get("/api/me/", HTTP_X_PERSON="pat").status_code == 403
    assert person.get("/api/me/", HTTP_X_PERSON="pia").status_code == 200


def test_an_app_key_of_an_operator_has_no_power(callers, agent: Agent) -> None:
    app = callers.client(callers.operator, "app")
    assert app.post("/api/agents/", {"slug": "x", "name": "X"}).status_code == 403
    assert app.get("/api/agents/wren/diary/").status_code == 403


def test_a_username_beyond_ascii_is_understood(callers) -> None:
    people.ensure("zoë")
    app = callers.client(callers.service, "app")
    header = "zoë".encode().decode("latin-1")
    assert app.get("/api/me/", HTTP_X_PERSON=header).json()["username"] == "zoë"
