"""Whoever logs in, by whatever address of the admin site, ends on its first page."""

from __future__ import annotations

from django.test import Client

from synth.models import Person


def test_a_login_without_a_wish_leads_to_the_first_page(olga: Person) -> None:
    olga.set_password("correct horse 7")
    olga.save(update_fields=["password"])
    answer = Client().post("/admin/login/", {"username": "olga", "password": "correct horse 7"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


def test_the_site_answers_without_its_last_slash(operator: Client) -> None:
    assert operator.get("/admin")["Location"] == "/admin/"
