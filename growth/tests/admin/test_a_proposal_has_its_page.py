"""A proposal's page: what would change, what it rests on, where it came from; and every decision on it."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from growth.models import GrowthState, Revision
from growth.services import proposals
from growth.tests.admin.conftest import door, login, page
from growth.tests.cycles import NOTE, reply
from growth.tests.proposals.desk import CONCRETE, again, rewrite_with
from synth.testing.scripted_host import ScriptedHost


def shown(client: Client, proposal) -> str:
    answer = client.get(page("proposal", proposal))
    assert answer.status_code == 200
    return answer.content.decode()


def current() -> GrowthState:
    return GrowthState.objects.get(is_current=True)


def test_it_shows_changes_evidence_and_the_prompt(proposal, trainer):
    text = shown(login(trainer), proposal)
    assert "<ins>" in text and "+ plum cake" in text
    assert "Jay brought his cracked blue teapot" in text and "/admin/synth/diaryentry/" in text
    assert "no diary line named" in text
    assert "/admin/synth/llmcall/" in text and proposal.run.fingerprint in text
    assert "Grounded in" in text and proposal.content_hash in text
    assert text.count("csrfmiddlewaretoken") >= 4


def test_what_others_wrote_is_escaped(proposal, trainer):
    proposal.content = "<script>alert(1)</script> I am."
    proposal.feedback = "<img src=x onerror=alert(1)>"
    proposal.save()
    text = shown(login(trainer), proposal)
    assert "<script>alert" not in text and "<img src=x" not in text


def test_approving_as_shown_makes_it_the_current_self(proposal, trainer):
    answer = login(trainer).post(door("approve", proposal), {"hash": proposal.content_hash})
    assert answer.status_code == 302
    assert current().content == NOTE and current().likes == ["rain", "plum cake"]
    assert again(proposal).decided_by == "tomas" and again(proposal).decided_door == "admin"
    text = shown(login(trainer), proposal)
    assert "Approved by <strong>tomas</strong>" in text and "Approve as shown" not in text


def test_an_edited_text_is_applied_and_both_are_kept(proposal, trainer):
    form = {
        "hash": proposal.content_hash, "form": "edit", "content": "I glued a teapot.\r\n\r\nIt leaks.",
        "likes": "rain\r\nteapots\r\n", "dislikes": "",
    }  # fmt: skip
    login(trainer).post(door("approve", proposal), form)
    assert current().content == "I glued a teapot.\n\nIt leaks."
    assert (current().likes, current().dislikes) == (["rain", "teapots"], [])
    assert again(proposal).content == NOTE
    assert "What was applied instead" in shown(login(trainer), proposal)


def test_the_untouched_edit_form_counts_as_approving_what_was_shown(proposal, trainer):
    form = {
        "hash": proposal.content_hash, "form": "edit", "content": proposal.content.replace("\n", "\r\n"),
        "likes": "\r\n".join(proposal.likes), "dislikes": "\r\n".join(proposal.dislikes),
    }  # fmt: skip
    login(trainer).post(door("approve", proposal), form)
    assert current().evidence == proposal.evidence


def test_sentences_are_kept_dropped_and_changed(proposal, trainer):
    form = {"hash": proposal.content_hash, "form": "sentences", "keep-1": "on"}
    first = "I glued Jay's blue teapot together on the balcony, and I did not mind that it leaks."
    form |= {"sentence-0": first, "sentence-1": "Ana laughed until the cat ran off."}
    login(trainer).post(door("approve", proposal), form)
    assert current().content == "Ana laughed until the cat ran off."


def test_without_any_sentence_nothing_is_approved(proposal, trainer):
    form = {"hash": proposal.content_hash, "form": "sentences", "sentence-0": "Mine, changed."}
    answer = login(trainer).post(door("approve", proposal), form)
    assert answer.status_code == 400 and "Keep at least one sentence" in answer.content.decode()
    assert "Mine, changed." in answer.content.decode()
    assert again(proposal).status == "pending"


def test_a_text_that_does_not_fit_comes_back_with_what_was_typed(proposal, trainer):
    form = {"hash": proposal.content_hash, "form": "edit", "content": "I " * 1500, "likes": "my own like"}
    answer = login(trainer).post(door("approve", proposal), form)
    text = answer.content.decode()
    assert answer.status_code == 400 and "I I I I" in text and "my own like" in text
    assert again(proposal).status == "pending"


def test_rejecting_keeps_the_reason_and_writes_no_state(proposal, trainer):
    answer = login(trainer).post(
        door("reject", proposal), {"hash": proposal.content_hash, "feedback": "Not you."}
    )
    assert answer["Location"] == reverse("admin:growth_desk")
    assert again(proposal).status == "rejected" and again(proposal).feedback == "Not you."
    assert not GrowthState.objects.exists()


def test_a_rewrite_is_asked_for_watched_and_leads_to_the_new_proposal(proposal, trainer):
    client = login(trainer)
    with ScriptedHost([]) as host, host.installed():
        form = {"hash": proposal.content_hash, "feedback": "More concrete."}
        answer = client.post(door("revise", proposal), form)
    revision = Revision.objects.get()
    assert answer["Location"] == door("revision", revision)
    assert again(proposal).status == "pending"
    waiting = client.get(answer["Location"]).content.decode()
    assert (
        "waiting for a worker" in waiting and "growth/progress.js" in waiting and "More concrete." in waiting
    )
    steps = client.get(door("revision_progress", revision)).json()
    assert steps["is_open"] and steps["percent"] == 5 and len(steps["steps"]) == 3
    rewrite_with(reply(CONCRETE))
    done = client.get(answer["Location"]).content.decode()
    newer = again(proposal).revisions.get()
    assert page("proposal", newer) in done and "growth/progress.js" not in done
    assert not client.get(door("revision_progress", revision)).json()["is_open"]
    text = shown(client, newer)
    assert "Rewritten from" in text and "More concrete." in text and text.count("what was sent") == 1


def test_a_failed_rewrite_says_why_and_the_old_one_waits(proposal, trainer):
    client = login(trainer)
    with ScriptedHost([]) as host, host.installed():
        client.post(door("revise", proposal), {"hash": proposal.content_hash, "feedback": "Shorter."})
    rewrite_with("no", "no")
    text = client.get(door("revision", Revision.objects.get())).content.decode()
    assert "could not be used" in text and "still waits for you" in text
    assert "came to nothing" in shown(client, proposal)


def test_without_a_model_the_page_says_so_and_keeps_the_feedback(proposal, trainer, settings):
    settings.LLM_BASE_URL = None
    client = login(trainer)
    assert "No language model is configured" in shown(client, proposal)
    form = {"hash": proposal.content_hash, "feedback": "Say more."}
    answer = client.post(door("revise", proposal), form)
    assert answer.status_code == 422 and "Say more." in answer.content.decode()
    assert not Revision.objects.exists()


def test_an_earlier_decision_is_seen_on_the_next_page(proposal, trainer, agent):
    from growth.tests.proposals.desk import propose

    proposals.reject(proposal.pk, by=trainer, door="rest", feedback="Too vague.")
    assert "rejected by tomas" in shown(login(trainer), propose(agent))
