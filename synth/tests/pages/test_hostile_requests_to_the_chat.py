"""The chat pages under hostile hands: no foreign thing is seen, nothing written acts, nothing breaks."""

from __future__ import annotations

import re
import uuid
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.utils.timezone import now

from synth.models import Approval, Dialogue, Message
from synth.pages import chat, thread
from synth.services import agents, dialogues, people

pytestmark = pytest.mark.django_db
XSS = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}{% now %}"


@pytest.fixture
def pia():
    return people.ensure("pia")


@pytest.fixture
def wren():
    return agents.create(slug="wren", name="Wren <b>x</b>" + "\"'><script>alert(1)</script>")


@pytest.fixture
def talk(pia, wren):
    return dialogues.create(wren, pia, title=XSS)


@pytest.fixture
def page(pia):
    client = Client()
    client.force_login(pia)
    return client


class _Tags(HTMLParser):
    """Tags and attributes that could do something of their own."""

    def __init__(self):
        super().__init__()
        self.risky = []

    def handle_starttag(self, tag, attrs):
        is_ours = tag == "script" and str(dict(attrs).get("src")).startswith("/static/")
        if tag in ("script", "img", "iframe", "svg", "object") and not is_ours:
            self.risky.append((tag, attrs))
        self.risky += [(tag, name) for name, _ in attrs if name.startswith("on")]


def node(dialogue, role, content, parent=None, **more):
    made = Message.objects.create(dialogue=dialogue, parent=parent, role=role, content=content, **more)
    dialogue.active_leaf = made
    dialogue.save()
    return made


def question(answer, **arguments):
    return Approval.objects.create(
        answer=answer, dialogue=answer.dialogue, agent=answer.dialogue.agent, person=answer.dialogue.person,
        call_id="1.c", action=XSS[:60], arguments=arguments,  diff=XSS, reason=XSS,
        scopes=[{"key": "k", "text": XSS}], expires_at=now(),
    )  # fmt: skip


def test_nothing_that_anybody_wrote_acts_on_the_page(page, talk):
    said = node(talk, "user", XSS)
    tool = node(talk, "tool", XSS, said, metadata={"action": XSS, "is_ok": True})
    told = node(talk, "assistant", XSS, tool)
    gift = {name: XSS for name in ("item", "name", "art", "note", "from")}
    present = node(talk, "proactive", XSS, told, metadata={"gift": gift})
    note = node(talk, "system", XSS, present)
    failed = node(talk, "assistant", XSS, note, status="failed", metadata={"reason": XSS})
    open_ = node(talk, "assistant", XSS, failed, status="streaming")
    question(open_, **{XSS: XSS, "items": XSS})
    seen = page.get(f"/chat/{talk.pk}/").content.decode()
    assert seen.count("alert(1)") > 15
    reader = _Tags()
    reader.feed(seen)
    assert not reader.risky
    assert seen.count("{{7*7}}") > 15


def test_an_argument_named_items_hides_no_other(page, talk):
    open_ = node(talk, "assistant", "", node(talk, "user", "go"), status="streaming")
    question(open_, items=[["to", "mum"]], to="eve", amount=1000, note="a\u202eb")
    seen = page.get(f"/chat/{talk.pk}/").content.decode()
    assert "eve" in seen and "1000" in seen and "a\\u202eb" in seen
    question_ = Approval.objects.get()
    Approval.objects.filter(pk=question_.pk).update(arguments={"items": 7})
    assert page.get(f"/chat/{talk.pk}/").status_code == 200


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("say/", {"content": "hi", "key": "\x00"}),
        ("say/", {"content": "hi", "key": "k" * 300}),
        ("say/", {"content": "\x00"}),
        ("say/", {"content": " "}),
        ("say/", {"content": "x" * 32_001}),
        ("say/", {"content": "hi", "edits": "\x00"}),
        ("say/", {"content": "hi", "edits": "9" * 30}),
        ("say/", {"content": "hi", "edits": "-1"}),
        ("say/", {"content": "hi", "edits": "١"}),
        ("again/", {}),
        ("again/", {"message": "1e3"}),
        ("branch/", {"message": "9223372036854775807"}),
        ("branch/", {}),
        ("change/", {"what": "rename", "title": "\x00"}),
        ("change/", {"what": "rename", "title": "x" * 201}),
        ("change/", {"what": "\x00"}),
        ("earlier/", None),
        ("earlier/?above=x", None),
        ("earlier/?above=9223372036854775807", None),
        ("messages/9223372036854775808/", None),
        ("messages/" + "9" * 400 + "/", None),
    ],
)
def test_odd_values_are_refused_by_name(page, talk, path, data):
    url = f"/chat/{talk.pk}/{path}"
    answer = page.get(url) if data is None else page.post(url, data)
    assert 400 <= answer.status_code < 500, answer.content
    assert not Message.objects.filter(dialogue=talk).exists()


def test_other_peoples_things_are_not_there(page, wren, talk):
    eve = dialogues.create(wren, people.ensure("eve"))
    theirs = node(eve, "assistant", "secret", node(eve, "user", "hm"), status="streaming")
    asked = question(theirs)
    mine = node(talk, "user", "mine")
    tries = [
        page.get(f"/chat/{eve.pk}/"), page.get(f"/chat/{eve.pk}/news/"), page.post(f"/chat/{eve.pk}/stop/"),
        page.post(f"/chat/{eve.pk}/say/", {"content": "x"}),
        page.post(f"/chat/{eve.pk}/change/", {"what": "delete"}),
        page.get(f"/chat/{eve.pk}/earlier/?above={theirs.pk}"),
        page.get(f"/chat/{talk.pk}/earlier/?above={theirs.pk}"),
        page.get(f"/chat/{eve.pk}/messages/{theirs.pk}/"), page.get(f"/chat/{talk.pk}/messages/{theirs.pk}/"),
        page.post(f"/chat/{talk.pk}/say/", {"content": "x", "edits": theirs.pk}),
        page.post(f"/chat/{talk.pk}/again/", {"message": theirs.pk}),
        page.post(f"/chat/{talk.pk}/branch/", {"message": theirs.pk}),
        page.post(f"/chat/approvals/{asked.pk}/", {"decision": "allow_once"}),
        page.post(f"/chat/approvals/{uuid.uuid4()}/", {"decision": "allow_once"}),
        page.post("/chat/new/", {"agent": "nobody"}), page.get(f"/chat/{talk.pk}/messages/{mine.pk + 999}/"),
    ]  # fmt: skip
    assert [answer.status_code for answer in tries] == [404] * len(tries)
    asked.refresh_from_db()
    assert asked.status == "pending" and Dialogue.objects.filter(pk=eve.pk).exists()


def test_agents_reserved_for_others_or_archived_cannot_be_begun_with(page, wren):
    agents.create(slug="owl", name="Owl", people=[people.ensure("eve")])
    assert page.post("/chat/new/", {"agent": "owl"}).status_code == 404
    agents.archive(wren, by=None, door="command")
    assert page.post("/chat/new/", {"agent": "wren"}).status_code == 404
    assert "Owl" not in page.get("/chat/").content.decode()


def test_every_change_needs_the_token_of_the_page(pia, talk):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(pia)
    for path in ("say", "again", "branch", "stop", "change"):
        assert strict.post(f"/chat/{talk.pk}/{path}/", {"what": "delete", "content": "x"}).status_code == 403
        assert strict.get(f"/chat/{talk.pk}/{path}/").status_code == 405
    assert strict.post("/chat/new/", {"agent": "wren"}).status_code == 403
    assert strict.post(f"/chat/approvals/{uuid.uuid4()}/").status_code == 403
    assert strict.post("/logout/").status_code == 403


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)",
               "\thttps://evil.example", "http:evil.example", "/chat/\r\nX: y"]
)  # fmt: skip
def test_a_login_leads_nowhere_else(pia, target, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    pia.set_password("a long word for tests")
    pia.save()
    credentials = {"username": "pia", "password": "a long word for tests", "next": target}
    for url in ("/login/", f"/login/?next={target}"):
        answer = Client().post(url, credentials)
        assert answer.status_code == 302 and answer["Location"].startswith("/chat/")
        assert "evil" not in answer["Location"]


def test_a_page_that_was_logged_out_is_told_so_and_loses_nothing(talk):
    answer = Client().post(f"/chat/{talk.pk}/say/", {"content": "hi"}, headers={"HX-Request": "true"})
    assert (answer.status_code, chat.LOGGED_OUT in answer.content.decode()) == (401, True)
    plain = Client().get(f"/chat/{talk.pk}/")
    assert plain["Location"] == f"/login/?next=/chat/{talk.pk}/"


def test_the_same_message_sent_twice_is_said_once(page, talk):
    for _ in range(2):
        assert page.post(f"/chat/{talk.pk}/say/", {"content": "hi", "key": "k1"}).status_code == 200
    assert Message.objects.filter(dialogue=talk, role="user").count() == 1
    assert page.post(f"/chat/{talk.pk}/say/", {"content": "ho", "key": "k1"}).status_code == 422
    said = Message.objects.get(dialogue=talk, role="user")
    edit = {"content": "edited", "edits": said.pk, "key": "k2"}
    assert page.post(f"/chat/{talk.pk}/say/", edit).status_code == 409, "an answer is on its way"


def test_a_very_long_dialogue_costs_no_more_than_a_short_one(page, talk, django_assert_max_num_queries):
    rows = Message.objects.bulk_create(
        [
            Message(dialogue=talk, role=("user", "assistant")[n % 2], content=f"Number {n}")
            for n in range(3_000)
        ]
    )
    for parent, row in zip(rows, rows[1:], strict=False):
        row.parent = parent
    Message.objects.bulk_update(rows, ["parent"], batch_size=2_000)
    talk.active_leaf = rows[-1]
    talk.save()
    with django_assert_max_num_queries(20):
        seen = page.get(f"/chat/{talk.pk}/").content.decode()
    assert "Show earlier" in seen and "(2600)" in seen
    assert "Number 2600" in seen and "Number 2599" not in seen
    with django_assert_max_num_queries(12):
        above = page.get(f"/chat/{talk.pk}/earlier/?above={rows[2600].pk}").content.decode()
    assert "(2200)" in above and "Number 2599" in above and "Number 2600" not in above
    top = page.get(f"/chat/{talk.pk}/earlier/?above={rows[100].pk}").content.decode()
    assert "Show earlier" not in top and "Number 0<" in top and "Number 99<" in top
    with django_assert_max_num_queries(12):
        one = page.get(f"/chat/{talk.pk}/messages/{rows[-1].pk}/").content.decode()
    assert "Number 2999" in one and "Number 2998" not in one


def test_earlier_messages_are_cut_where_no_answer_is_parted_from_its_actions(page, talk, monkeypatch):
    monkeypatch.setattr(thread, "SHOWN_N", 3)
    last = None
    for n in range(4):
        last = node(talk, "user", f"Ask {n}", last)
        call = {"tool_calls": [{"id": f"c{n}", "name": "bell_ring", "arguments": "{}"}], "via": "tools"}
        last = node(talk, "assistant", "", last, metadata=call)
        result = {"call_id": f"c{n}", "action": "bell_ring", "is_ok": True}
        last = node(talk, "tool", f"Rung {n}.", last, metadata=result)
        last = node(talk, "assistant", f"Rang {n}.", last)
    seen = [page.get(f"/chat/{talk.pk}/").content.decode()]
    while found := re.search(r"earlier/[?]above=(\d+)", seen[-1]):
        seen.append(page.get(f"/chat/{talk.pk}/earlier/?above={found[1]}").content.decode())
    assert len(seen) > 3
    for n in range(4):
        (with_answer,) = [text for text in seen if f"Rang {n}." in text]
        assert f"Rung {n}." in with_answer
        assert sum(f"Ask {n}<" in text for text in seen) == 1


def test_an_agent_that_is_reserved_to_others_is_no_longer_talked_to(page, talk, wren):
    said = node(talk, "user", "hello")
    answer = node(talk, "assistant", "good day", said)
    wren.people.add(people.ensure("max"))
    for path, body in (("say", {"content": "and now?"}), ("again", {"message": answer.pk})):
        refused = page.post(f"/chat/{talk.pk}/{path}/", body)
        assert refused.status_code == 403 and "no longer open" in refused.content.decode()
    assert Message.objects.filter(dialogue=talk).count() == 2
    assert "good day" in page.get(f"/chat/{talk.pk}/").content.decode()
    wren.people.add(talk.person)
    assert page.post(f"/chat/{talk.pk}/say/", {"content": "and now?"}).status_code == 200
    assert Message.objects.filter(dialogue=talk, content="and now?").exists()


def test_a_person_in_a_browser_has_one_rate_for_pages_and_api(page, talk, settings):
    settings.RATE_PER_KEY = 3
    asked = [page.get("/chat/"), page.get("/api/me/"), page.get(f"/chat/{talk.pk}/")]
    assert [answer.status_code for answer in asked] == [200, 200, 200]
    late = page.post(f"/chat/{talk.pk}/say/", {"content": "one too many"})
    assert late.status_code == 429 and 1 <= int(late["Retry-After"]) <= 61
    assert "Nothing was sent" in late.content.decode()
    assert page.get("/api/me/").status_code == 429
    assert not Message.objects.filter(dialogue=talk).exists()
