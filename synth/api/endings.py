"""The end of an answer as its row tells it, in the words that its stream would have used."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from rest_framework.renderers import JSONRenderer

from synth.api.dialogues import MessageOut
from synth.chat import events
from synth.codes import CODES
from synth.llm import REASONS
from synth.models import LlmCall, Message, MessageStatus
from synth.services import branches

NO_ANSWER = "There is no answer; the log has the cause."
# Why an answer has no end of its own; asking again may help at once.
BROKEN_OFF = {
    "crashed": "The process that wrote the answer went silent.",
    "interrupted": "The server was stopped while the answer was being written.",
}


def of_row(row: Message) -> tuple[str, dict[str, Any]]:
    """(event, data) of an answer that has ended: `message.end`, or `error` where it failed."""
    if row.status == MessageStatus.FAILED:
        code, message = reason_of(row)
        failed = {"code": code, "message": message, "message_id": row.pk}
        wait_s = row.metadata.get("retry_after_s")
        return events.ERROR, failed if wait_s is None else {**failed, "retry_after_s": wait_s}
    data = {
        "message_id": row.pk,
        "message": plain(MessageOut(row).data),
        "actions": actions(row),
        "usage": usage(row),
        "finish_reason": finish_reason(row),
    }
    calls = row.metadata.get("client_calls")
    return events.END, {**data, "tool_calls": calls} if calls else data


def reason_of(row: Message) -> tuple[str, str]:
    """The code of a failed answer, and a sentence."""
    code = str(row.metadata.get("reason") or "internal_error")
    if code in REASONS:
        return code, REASONS[code].sentence
    return code, BROKEN_OFF.get(code) or CODES.get(code, NO_ANSWER)


def status_of(code: str) -> int:
    """The HTTP status of an answer that failed for this reason."""
    if code in REASONS:
        return REASONS[code].status
    return 503 if code in BROKEN_OFF else 409 if code in CODES else 500


def actions(row: Message) -> list[dict[str, Any]]:
    """What was done on the way to the answer."""
    from synth.api.chat import ActionOut

    return [plain(ActionOut(done).data) for done in branches.actions_of(row)]


def finish_reason(row: Message) -> str:
    """Why the text ends where it does."""
    if row.status == MessageStatus.CANCELLED:
        return "cancelled"
    said = row.metadata.get("finish_reason")
    return said if isinstance(said, str) and said else "length" if row.metadata.get("is_cut") else "stop"


def usage(row: Message) -> dict[str, int]:
    """Tokens, as kept with the answer, else those of its last call."""
    kept = row.metadata.get("usage")
    if not isinstance(kept, dict):
        kept = _of_call(str(row.metadata.get("llm_call", "")))
    prompt, completion = (int(kept.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": int(kept.get("total_tokens") or prompt + completion),
    }


def _of_call(call_id: str) -> dict[str, Any]:
    try:
        call = LlmCall.objects.filter(pk=UUID(call_id)).first()
    except ValueError:
        call = None
    if call is None:
        return {}
    return {"prompt_tokens": call.n_prompt_tokens, "completion_tokens": call.n_completion_tokens}


def plain(data: Any) -> Any:
    """What a serializer gives, as JSON holds it."""
    return json.loads(JSONRenderer().render(data))
