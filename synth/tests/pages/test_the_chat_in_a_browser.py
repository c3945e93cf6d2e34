"""People talk on the chat page: words as they are written, cards, branches, on a phone too."""

from __future__ import annotations

import re

import pytest

from synth.testing.accessible import problems

pytestmark = pytest.mark.slow


def begin(page, agent="Wren"):
    page.get_by_role("main").get_by_role("button", name=re.compile(agent)).first.click()
    page.wait_for_url(re.compile(r"/chat/[0-9a-f-]{36}/"))


def say(page, text):
    page.fill("#words", text)
    page.click("#send")


def last(page, kind="agent"):
    return page.locator(f"article.{kind}").last


def settled(page):
    page.wait_for_selector("article.agent:last-of-type:not([data-follow])")


def test_a_talk_with_words_as_they_come(open_as, world):
    world.scripts["tell me of herons"] = {"content": "They **wait** a lot. " * 20, "token_s": 0.03}
    page = open_as("pia")
    begin(page)
    say(page, "tell me of herons")
    page.wait_for_selector("article.agent .words.live:not(:empty)")
    assert page.locator("#stop").is_visible()
    settled(page)
    assert last(page).locator("strong").first.inner_text() == "wait"
    assert not page.locator("#stop").is_visible()
    assert page.input_value("#words") == ""
    assert page.problems == []


def test_stop_edit_anew_and_the_ways_between(open_as, world):
    world.scripts["long story"] = {"content": "once " * 300, "token_s": 0.05}
    world.scripts["short story"] = "The end."
    page = open_as("pia")
    begin(page)
    say(page, "long story")
    page.wait_for_selector("article.agent .words.live:not(:empty)")
    page.click("#stop")
    page.get_by_text("Stopped.").wait_for()
    page.get_by_role("button", name="Edit").first.click()
    say(page, "short story")
    page.get_by_text("The end.").wait_for()
    settled(page)
    assert page.locator("article.user .siblings").inner_text().strip().startswith("‹ 2/2")
    page.get_by_role("button", name="Answer anew").click()
    page.locator("article.agent .siblings", has_text="2/2").wait_for()
    settled(page)
    page.locator("article.user").get_by_role("button", name="The way before").click()
    page.get_by_text("Stopped.").wait_for()
    assert page.problems == []


def test_what_others_wrote_is_shown_by_its_kind(open_as, world):
    page = open_as("pia")
    begin(page)
    dialogue = page.url.rstrip("/").rsplit("/", 1)[1]
    code = f"""
from synth.services import dialogues
from synth.models import Dialogue
row = Dialogue.objects.get(pk="{dialogue}")
dialogues.attach_proactive_node(row, "I thought of **you**.", {{"decision_id": 3}})
gift = {{"item": "shell", "name": "A shell", "art": "(@)", "note": "from the beach <b>", "from": "Wren"}}
dialogues.attach_proactive_node(row, "For you.", {{"gift": gift}})
"""
    world.tree.manage("shell", "-c", code)
    page.reload()
    assert page.locator("article.proactive strong").inner_text() == "you"
    gift = page.locator("article.gift").inner_text()
    assert "A shell" in gift and "(@)" in gift and "from the beach <b>" in gift
    assert page.problems == [] == problems(page)


def test_the_inbox_is_heard_again_after_a_proxy_answered_for_the_server(open_as, world):
    """A proxy in front says 502 while the server restarts; a browser then stays away by itself."""
    page = open_as("pia")
    asked = []

    def proxy(route):
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=502, body="Bad Gateway")
        else:
            route.continue_()

    page.route("**/api/reminders/stream*", proxy)
    page.reload()
    with page.expect_response(lambda said: "/api/reminders/stream" in said.url and said.ok):
        pass
    code = """
from django.db import transaction
from reminders.services import dispatch
from synth.models import Person
with transaction.atomic():
    pia = Person.objects.get(username="pia")
    dispatch.send(kind="system", title="The kettle is on", person=pia, dedupe_key="kettle")
"""
    assert world.tree.manage("shell", "-c", code).returncode == 0
    page.locator("#toasts article", has_text="The kettle is on").wait_for()
    assert page.problems == [] and len(asked) == 2, (asked, page.problems)


def test_a_hostile_model_moves_nothing_on_the_page(open_as, world):
    world.scripts["be evil"] = (
        "<img src=x onerror=\"document.title='owned'\"> ![p](https://evil.example/?q) <script>x</script>"
    )
    page = open_as("pia")
    begin(page)
    calls = []
    page.on("request", lambda request: calls.append(request.url))
    say(page, "be evil <b>bold</b>")
    settled(page)
    assert "owned" not in page.title()
    assert page.locator("article.user .said").inner_text() == "be evil <b>bold</b>"
    assert page.locator("article img, article script").count() == 0
    assert [url for url in calls if not url.startswith(world.url)] == []


def test_trouble_is_told_and_what_was_said_stays(open_as, world):
    world.scripts["break it"] = {"status": 500}
    page = open_as("pia")
    begin(page)
    say(page, "break it")
    page.locator("article.agent .trouble").wait_for()
    assert "busy or failing" in page.locator("article.agent .trouble").inner_text()
    assert page.locator("article.user").inner_text().startswith("break it")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_refusal_is_told_not_only_the_first(open_as, world, width):
    world.scripts["slow tale"] = {"content": "then " * 200, "token_s": 0.05}
    page = open_as("pia", width=width)
    begin(page)
    say(page, "slow tale")
    page.wait_for_selector("article.agent .words.live:not(:empty)")
    size = page.locator("main").bounding_box()
    for _ in range(2):
        say(page, "and this")
        page.locator("#notice").get_by_text("still answering").wait_for()
        assert page.locator("main").bounding_box() == size, "the notice lies above the talk"
        page.locator("#notice").get_by_role("button", name="Close").click()
        assert page.locator("#notice p").count() == 0
        assert page.input_value("#words") == "and this", "nothing that was written is lost"
    page.click("#stop")
    settled(page)
    assert page.problems == []


def test_who_comes_back_in_mid_answer_sees_each_action_once(open_as, world):
    calls = [{"name": "memory_list", "arguments": {}}]
    replies = iter([{"content": "I look.", "tool_calls": calls}, {"content": "Now " * 200, "token_s": 0.05}])
    world.scripts["look at them"] = lambda _request: next(replies)
    world.scripts["call_1"] = lambda _request: next(replies, "Done.")
    page = open_as("pia")
    begin(page)
    say(page, "look at them")
    last(page).get_by_text("Now Now").wait_for()
    page.reload()
    last(page).get_by_text("Now Now").wait_for()
    assert last(page).locator(".actions li").all_inner_texts() == ["Done: memory_list"]
    page.click("#stop")
    settled(page)
    assert page.problems == []


def test_who_is_logged_out_in_mid_answer_is_told_so(open_as, world):
    world.scripts["all night"] = {"content": "more " * 200, "token_s": 0.05}
    page = open_as("pia")
    begin(page)
    say(page, "all night")
    page.wait_for_selector("article.agent .words.live:not(:empty)")
    page.context.clear_cookies()
    page.get_by_text("no longer logged in").wait_for()
    assert not page.locator("#stop").is_visible() and page.problems == []


def test_it_works_on_a_phone(open_as, world):
    world.scripts["small talk"] = "Fine.\n\n```\n" + "x" * 300 + "\n```"
    page = open_as("pia", width=390)
    begin(page)
    say(page, "small talk")
    settled(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "nothing makes the page scroll sideways"
    assert not page.locator("nav.side").is_visible()
    page.locator("#drawer").check(force=True)
    page.locator("nav.side").wait_for()
    assert page.locator("nav.side a[aria-current]").is_visible()


def test_everything_can_be_done_by_keyboard_and_has_a_name(open_as):
    page = open_as("pia")
    begin(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, a')]
        .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute('aria-label'))
        .filter((e) => !e.textContent.trim())
        .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    page.fill("#words", "by keyboard")
    page.press("#words", "Enter")
    settled(page)
    assert page.locator("article.user .said").inner_text() == "by keyboard"


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong(open_as, world, width):
    code = "```\n" + "x" * 400 + "\n```"
    world.scripts["all of it"] = (
        f"# Big\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://x.example) `y`\n\n{code}"
    )
    page = open_as("pia", width=width)
    assert problems(page) == []
    begin(page)
    assert problems(page) == []
    say(page, "all of it")
    settled(page)
    assert problems(page) == []
    page.locator("article.user .plain").first.click()
    assert problems(page) == []
    page.goto("/chat/?q=all")
    assert problems(page) == []
    page.goto("/chat/conformance/")
    assert problems(page) == []
    page.context.clear_cookies()
    page.goto("/login/")
    assert problems(page) == []


def test_a_long_turn_is_asked_about_and_the_card_outlives_its_event(open_as, world):
    calls = [{"name": "memory_list", "arguments": {}}] * 16
    at_work = {"content": "Now I write. " * 60, "token_s": 0.2, "tool_calls": calls[:1]}
    replies = iter([{"content": "I look.", "tool_calls": calls}, at_work])
    world.scripts["look long"] = lambda _request: next(replies)
    world.scripts["call_16"] = lambda _request: next(replies, "Stopped.")
    page = open_as("pia")
    begin(page)
    say(page, "look long and hard")
    card = last(page).locator(".check-in")
    card.wait_for()
    assert "16 actions" in card.inner_text() and problems(page) == []
    code = (
        "from synth import liveness; from synth.chat import events; from synth.models import Message; "
        "key = events.stream_key(Message.objects.get(status='streaming').pk); liveness.client().xtrim(key, 1)"
    )
    world.tree.manage("shell", "-c", code)
    page.reload()
    card.get_by_role("button", name="Stop").click()
    card.wait_for(state="detached")
    page.reload()
    last(page).locator(".words.live:not(:empty)").wait_for()
    assert not card.is_visible()
    page.click("#stop")
    settled(page)
    assert page.problems == []


def test_one_click_checks_the_streams(open_as, world):
    world.scripts["count from one"] = {"content": "one two three four five six seven", "token_s": 0.05}
    world.scripts["very long story"] = {"content": "sea " * 300, "token_s": 0.05}
    page = open_as("pia")
    before = world.http().get("/api/dialogues/").json()["results"]
    page.goto("/chat/conformance/")
    page.select_option("#agent", "wren")
    page.get_by_role("button", name="Run the checks").click()
    page.locator("#checks li").first.wait_for()
    other = world.http().post("/api/dialogues/", json={"agent": "wren", "title": "Mine"}).json()["id"]
    page.locator("#verdict[data-failures]").wait_for(timeout=60_000)
    bad = page.locator("#checks .bad").all_inner_texts()
    assert bad == [] and page.locator("#verdict").inner_text() == "Every check holds."
    assert page.locator("#checks .ok").count() > 20
    assert "curl -N" in page.locator("#curl").inner_text()
    left = world.http().get("/api/dialogues/").json()["results"]
    assert [row["id"] for row in left] == [other, *(row["id"] for row in before)], (
        "what it began is gone again"
    )
