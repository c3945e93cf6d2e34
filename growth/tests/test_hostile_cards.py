"""Cards made to break or to fill a server are refused with a reason, and what was taken goes out again."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib

import pytest
from rest_framework.test import APIClient

from synth import selectors as core
from synth.cards import card as cards
from synth.cards import png
from synth.services import dialogues, keys, people

pytestmark = pytest.mark.django_db
DATA = {"name": "Mara Vale", "description": "{{char}} keeps a lighthouse.", "first_mes": "Oh, {{user}}."}


def card(**more):
    return json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {**DATA, **more}})


@pytest.fixture
def operator():
    person = people.make_operator(people.ensure("olga"), by=None, door="command")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role='operator').plain}")
    return client


def send(client, raw, query=""):
    answer = client.generic("POST", f"/api/agents/import/{query}", raw, content_type="application/x")
    return answer.status_code, answer.json()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(*chunks):
    plain = png.plain(b"x", 2, 2)
    return plain[:-12] + b"".join(chunks) + plain[-12:]


def zipped(text, packing=zipfile.ZIP_DEFLATED, **files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, data in {"card.json": text, **files}.items():
            archive.writestr(name, data)
    return out.getvalue()


def damaged(raw, mark):
    at = raw.index(mark) + len(mark)
    return raw[: at + 8] + bytes(byte ^ 0xFF for byte in raw[at + 8 : at + 24]) + raw[at + 24 :]


def nested(depth):
    return card()[:-2] + ', "x": ' + "[" * depth + "]" * depth + "}}"


@pytest.mark.parametrize(
    "raw",
    [
        card(creator="a@b").replace("@", "\x00").encode(),
        picture(chunk(b"tEXt", b"ccv3\x00")),
        zipped(card()).replace(b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\xff\x00"),
        damaged(zipped(card(), zipfile.ZIP_LZMA), b"card.json"),
        damaged(zipped(card(), zipfile.ZIP_BZIP2), b"card.json"),
        damaged(zipped(card(), a=b"x" * 50), b"PK\x03\x04\x14\x00\x00\x00\x08\x00"),
        zipped(card(creator="x" * 17_000_000)),
        nested(120),
        card()[:-1] + ',"":0' * 20_000 + "}",
        card()[:-2] + ',"":0' * 20_000 + "}}",
        card(extensions={})[:-3] + '"":0' + ',"":0' * 20_000 + "}}}",
        card(description="{{//" * 200_000),
    ],
    ids=["nul", "empty", "zip version", "lzma", "bzip2", "other file", "card too big", "deep", "members",
         "members of data", "members of extensions", "notes without end"],
)  # fmt: skip
def test_a_hostile_card_is_a_400_and_leaves_nothing(operator, raw):
    status, answer = send(operator, raw)
    assert (status, answer["error"]["field"] in ("file", "data.description")) == (400, True), answer
    assert not core.agents().exists()


def test_of_a_picture_with_many_packed_cards_one_is_unpacked(operator):
    bombs = [chunk(b"zTXt", b"chara\x00\x00" + b"no zlib")] * 1_000
    good = chunk(b"zTXt", b"chara\x00\x00" + zlib.compress(base64.b64encode(card().encode())))
    assert send(operator, picture(good, *bombs), "?slug=pic")[0] == 201
    out = operator.get("/api/agents/pic/export/?format=png").content
    assert list(png.read(out)) == ["chara"]


def test_a_broken_picture_in_an_archive_does_not_keep_its_agent_in(operator):
    broken = png.plain(b"x", 2, 2).replace(b"IDAT", b"IDAX")
    assert send(operator, zipped(card(), **{"assets/icon.png": broken}), "?slug=zip")[0] == 201
    for form in ("json", "png", "charx"):
        assert operator.get(f"/api/agents/zip/export/?format={form}").status_code == 200


def test_long_names_do_not_multiply(operator):
    bomb = card(name="N" * 50_000, description="<BOT>" * 50_000, first_mes="<BOT>" * 1_000_000)
    status, answer = send(operator, bomb)
    assert (status, answer["error"]["field"]) == (400, "data.description")
    small = card(name="N" * 500, first_mes="<BOT>" * 200_000, alternate_greetings=["hi"] * 5_000)
    assert send(operator, small, "?slug=n")[0] == 201
    agent = core.agent_by_slug("n")
    assert agent is not None
    greeting = dialogues.create(agent, people.ensure("pia")).active_leaf
    assert greeting is not None and len(greeting.content) <= dialogues.MAX_CONTENT_CHARS
    out = operator.get("/api/agents/n/export/").json()
    assert out["data"]["name"] == "N" * 500, "the name stays as it came"


def test_a_note_ends_where_it_ends():
    read = cards.read(card(description="a{{// one {{char}} b}}c{{comment: x}}{{ original }}d{{//e"))
    assert read.persona == "a b}}cd{{//e"


def test_macros_in_names_are_not_filled_twice(operator):
    odd = card(nickname="{{user}}{{char}}", description="I am {{char}}.")
    status, answer = send(operator, odd)
    assert (status, answer["agent"]["persona"]) == (201, "I am {{user}}{{char}}.")


def test_names_that_are_no_slugs_and_taken_ones_get_another(operator):
    names = ["../../etc/passwd", "日本", "日本", "import", "x" * 59 + " y z", "-- ü --", "a/b\\c", "me"]
    slugs = [send(operator, card(name=name))[1]["agent"]["slug"] for name in names]
    assert slugs == ["etc-passwd", "agent", "agent-2", "import-2", "x" * 59, "u", "a-b-c", "me-2"]
