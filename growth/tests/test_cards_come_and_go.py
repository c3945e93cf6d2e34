"""Agents are made of character cards in every form, and go out again with their grown self."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib

import pytest
from rest_framework.test import APIClient

from growth import selectors
from growth.services import states
from synth import selectors as core
from synth.cards import png
from synth.services import keys, people

pytestmark = pytest.mark.django_db

DATA = {
    "name": "Mara Vale", "description": "{{char}} keeps a lighthouse.", "personality": "dry", "scenario": "",
    "first_mes": "Oh, {{user}}.", "mes_example": "", "alternate_greetings": ["Again?"], "tags": ["sea"],
    "extensions": {"depth_prompt": {"depth": 4.0}}, "creator": "me",
    "character_book": {"entries": [
        {"keys": ["lamp"], "content": "The lamp of {{char}} is green.", "enabled": True, "name": "Lamp"},
        {"keys": ["fog"], "content": "Fog kills.", "enabled": False},
        {"keys": "no list", "content": "  "},
    ]},
}  # fmt: skip
V2 = json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA}, indent=1)
V3 = json.dumps({"spec": "chara_card_v3", "spec_version": "3.0", "data": {**DATA, "nickname": "Mar"}})


@pytest.fixture
def operator():
    person = people.make_operator(people.ensure("olga"), by=None, door="command")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role='operator').plain}")
    return client


def agent_of(slug):
    """The agent of that slug, which is there."""
    agent = core.agent_by_slug(slug)
    assert agent is not None
    return agent


def send(client, raw, content_type="application/json", query=""):
    return client.generic("POST", f"/api/agents/import/{query}", raw, content_type=content_type)


def in_png(**texts):
    made = png.plain(b"x", 2, 2)
    return png.write(made, texts)


def in_charx(card, **files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in {"card.json": card, **files}.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_card_becomes_an_agent_with_its_book_as_memories(operator):
    answer = send(operator, V2)
    assert answer.status_code == 201, answer.json()
    agent = agent_of(answer.json()["agent"]["slug"])
    assert (agent.slug, agent.name) == ("mara-vale", "Mara Vale")
    assert agent.persona == "Mara Vale keeps a lighthouse.\n\nPersonality: dry"
    assert [(m.text, m.kind, m.tags) for m in core.memories(agent)] == [
        ("Lamp: The lamp of Mara Vale is green.", "lore", ["lamp"])
    ]
    assert send(operator, V2).json()["agent"]["slug"] == "mara-vale-2"


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (in_png(chara=V2, ccv3=V3), "image/png"),
        (in_charx(V3, **{"assets/other/images/a.webp": b"RIFFx"}), "application/zip"),
        (V3.encode(), "application/octet-stream"),
        (b"\xef\xbb\xbf" + V3.encode(), "application/json"),
    ],
)
def test_each_form_goes_in_and_out_again(operator, raw, content_type):
    made = send(operator, raw, content_type, "?slug=mar").json()["agent"]
    assert made["persona"].startswith("Mar keeps"), "the third version wins in a picture"
    for form in ("json", "png", "charx"):
        out = operator.get(f"/api/agents/mar/export/?format={form}")
        assert out.status_code == 200
        again = send(operator, out.content, out["Content-Type"], f"?slug=mar-{form}")
        assert again.status_code == 201, again.json()
        assert again.json()["agent"]["persona"] == made["persona"]
        assert b'"depth": 4.0' in card_in(form, out.content), "unknown fields keep their very text"


def card_in(form, raw):
    if form == "png":
        texts = png.read(raw)
        older, newer = (json.loads(texts[name]) for name in ("chara", "ccv3"))
        assert (older.pop("spec"), older.pop("spec_version")) == ("chara_card_v2", "2.0")
        assert (newer.pop("spec"), newer.pop("spec_version")) == ("chara_card_v3", "3.0")
        assert older == newer and b'"depth": 4.0' in texts["chara"].encode()
        return texts["ccv3"].encode()
    if form == "charx":
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return archive.read("card.json")
    return raw


def test_other_files_of_an_archive_and_other_chunks_of_a_picture_stay(operator):
    send(operator, in_charx(V3, **{"assets/a.bin": b"\x00\x01"}), "application/zip", "?slug=zip")
    out = operator.get("/api/agents/zip/export/?format=charx").content
    with zipfile.ZipFile(io.BytesIO(out)) as archive:
        assert archive.read("assets/a.bin") == b"\x00\x01"
    picture = in_png(chara=V2)
    send(operator, picture, "image/png", "?slug=pic")
    out = operator.get("/api/agents/pic/export/?format=png").content
    assert png.write(out, {}) == png.write(picture, {})


def test_the_grown_self_travels_in_our_extension(operator):
    send(operator, V2, query="?slug=mara")
    agent = agent_of("mara")
    states.manual_edit(agent, content="I learned to wait.", likes=["fog"], by=None, door="command")
    out = operator.get("/api/agents/mara/export/").json()
    ours = out["data"]["extensions"]["synth"]
    assert (ours["self_growth"], ours["likes"]) == ("I learned to wait.", ["fog"])
    send(operator, json.dumps(out), query="?slug=twin")
    twin = agent_of("twin")
    grown = selectors.current(twin.pk)
    assert grown is not None and (grown.content, twin.likes) == ("I learned to wait.", ["fog"])


def test_a_form_with_a_file_works_too(operator):
    upload = io.BytesIO(V2.encode())
    upload.name = "mara.json"
    answer = operator.post("/api/agents/import/", {"file": upload, "slug": "form"}, format="multipart")
    assert answer.status_code == 201, answer.json()
    assert operator.post("/api/agents/import/", {"slug": "none"}, format="multipart").status_code == 400


def test_the_same_key_makes_one_agent(operator):
    for _ in range(2):
        answer = operator.generic(
            "POST", "/api/agents/import/", V2, content_type="application/json", HTTP_IDEMPOTENCY_KEY="k1"
        )
        assert answer.status_code == 201
    assert core.agents().filter(name="Mara Vale").count() == 1


def cut(raw):
    return raw[:-20]


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"null", b"\xff\xfe\x00", V2.encode()[:-9], in_png(), cut(in_png(chara=V2)),
        in_png(chara=V2).replace(b"IDAT", b"IDAX"),
        png.SIGNATURE + struct.pack(">I", 8) + b"tEXtchara\x00*!" + b"\x00" * 4,
        b"PK\x03\x04 no zip", in_charx("{}"), in_charx("[]"), cut(in_charx(V3)),
        json.dumps({"name": "x" * 9, "description": "y" * 100_001}).encode(),
    ],
)  # fmt: skip
def test_what_is_no_card_is_a_400_and_leaves_nothing(operator, raw):
    answer = send(operator, raw, "application/octet-stream")
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["field"]
    assert not core.agents().exists()


def test_a_packed_bomb_is_refused(operator):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", V3)
        archive.writestr("assets/zeros", b"\x00" * (65 * 1024 * 1024))
    assert send(operator, out.getvalue(), "application/zip").status_code == 400


def test_bad_base64_in_a_picture_is_refused(operator):
    picture = png.plain(b"x", 2, 2)
    bad = b"chara\x00" + base64.b64encode(b"\xff\xfe")
    chunk = struct.pack(">I", len(bad)) + b"tEXt" + bad + struct.pack(">I", zlib.crc32(b"tEXt" + bad))
    assert send(operator, picture[:-12] + chunk + picture[-12:], "image/png").status_code == 400


@pytest.mark.parametrize(("broken", "good"), [("chara", "ccv3"), ("ccv3", "chara")])
def test_one_broken_card_in_a_picture_does_not_hide_the_other(broken, good):
    picture = in_png(**{good: V3})
    bad = f"{broken}\x00".encode() + base64.b64encode(b"\xff\xfe")
    chunk = struct.pack(">I", len(bad)) + b"tEXt" + bad + struct.pack(">I", zlib.crc32(b"tEXt" + bad))
    for mixed in (picture[:-12] + chunk + picture[-12:], picture[:33] + chunk + picture[33:]):
        assert png.read(mixed) == {good: V3}


def test_a_newer_card_that_is_none_does_not_hide_the_older(operator):
    answer = send(operator, in_png(chara=V2, ccv3='{"spec": "chara_card_v9"}'), "image/png")
    assert answer.status_code == 201, answer.json()
    neither = send(operator, in_png(chara="[]", ccv3='{"spec": "chara_card_v9"}'), "image/png")
    assert neither.json()["error"]["field"] == "spec"


def test_odd_parts_are_passed_over_with_a_warning(operator):
    odd = json.loads(V2)
    odd["data"]["alternate_greetings"] = "none"
    odd["data"]["extensions"] = {"synth": {"timezone": "Mars/Base", "likes": ["tea"], "self_growth": 7}}
    answer = send(operator, json.dumps(odd)).json()
    assert len(answer["warnings"]) == 3
    assert answer["agent"]["likes"] == ["tea"]


def test_only_operators_import_and_only_trainers_export(operator):
    send(operator, V2, query="?slug=mara")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(people.ensure('pia'), role='person').plain}")
    assert send(client, V2).status_code == 403
    assert client.get("/api/agents/mara/export/").status_code == 403
    assert operator.get("/api/agents/nobody/export/").status_code == 404
    assert operator.get("/api/agents/mara/export/?format=gif").json()["error"]["field"] == "format"
