"""`GET /api/reminders/stream`: what reaches the caller, as it arrives; resumable, nothing is skipped.

An event's id is `<epoch>-<seq>`: the epoch changes when a backup is restored, and the numbers with it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from reminders import selectors
from reminders.api.inbox import DeliveryOut
from reminders.inbox_rooms import inboxes
from synth.api import streaming
from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.handoff import Handed, handoff, need_front, serves
from synth.api.tickets import OF_STREAMS, AnyAccept
from synth.chat.sse import frame
from synth.errors import Invalid
from synth.selectors import epoch

HEARTBEAT = b": still here\n\n"
LAST_ID = "Last-Event-ID"
_ID = re.compile(r"(?:([0-9a-f]{32})-)?([0-9]{1,18})")
EVENTS = (
    "Server-sent events; `data` is JSON. `delivery`: a delivery of `/api/inbox/`, with the id "
    "`<epoch>-<seq>`. Without an id: `status` {seq, status, at} when one was seen, acted on or put away on "
    "another screen, and `resync` {epoch, seq} when what was missed cannot be told: read `/api/inbox/` anew; "
    "later deliveries follow. Comments keep the connection open."
)


class RemindersStreamView(Api):
    """The caller's own inbox, live."""

    serializer_class = DeliveryOut
    pagination_class = None
    content_negotiation_class = AnyAccept
    authentication_classes = OF_STREAMS
    ticket_purpose = "reminders"

    @extend_schema(
        operation_id="reminders_stream",
        parameters=[
            OpenApiParameter("since", str, description="a number or id: only later deliveries"),
            OpenApiParameter(LAST_ID, str, OpenApiParameter.HEADER, description="the last id the client has"),
        ],
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, description=EVENTS)},
    )
    def get(self, request: Request) -> Response:
        """Deliveries as they arrive: after `Last-Event-ID` or `since`, from now on without either.

        An id of another epoch, or ahead of the inbox or older than what is kept, begins with `resync`.
        """
        may_chat(self.caller)
        given = _given(request)
        need_front(request)
        person, line = self.caller.person, epoch()
        at = selectors.counters([person.pk]).get(person.pk, 0)
        seq = _start(person.pk, line, given, at)
        order = handoff(
            request, "inbox-sse", person=person.pk, epoch=line, seq=at if seq is None else seq, at=at,
            is_resync=seq is None, is_fresh=given is None,
        )  # fmt: skip
        assert order is not None
        return order


def _given(request: Request) -> tuple[str, str] | None:
    """(epoch or blank, number) a client has; both blank for an id that is none. None when it gives none."""
    since = request.query_params.get("since", "")
    if since and not _ID.fullmatch(since):
        raise Invalid("A number or an id of a delivery is needed.", field="since")
    text = request.headers.get(LAST_ID, "").strip() or since
    if not text:
        return None
    found = _ID.fullmatch(text)
    return (found[1] or "", found[2]) if found else ("", "")


def _start(person_id: int, line: str, given: tuple[str, str] | None, at: int) -> int | None:
    """The number after which to tell; None where what was missed cannot be told."""
    if given is None:
        return at
    if not given[1] or given[0] not in ("", line) or int(given[1]) > at:
        return None
    seq = int(given[1])
    return seq if seq == at or selectors.first_after(person_id, seq) == seq + 1 else None


@serves("inbox-sse")
async def inbox_sse(handed: Handed) -> None:
    """The deliveries of `person` after number `seq`, until the client goes."""
    data = handed.data
    async with streaming.opened(handed) as stream:
        if stream.is_over:
            return
        await stream.put(_opening(data))
        if data["is_resync"]:
            said = json.dumps({"epoch": data["epoch"], "seq": data["seq"]}, separators=(",", ":"))
            await stream.put(frame("resync", said))
        seated = inboxes().seat(data["person"], data["epoch"], data["seq"], data["at"], stream.wake)
        async with seated as seat:
            while not stream.is_over:
                events = await seat.next()
                for event in events:
                    await stream.put(event)
                if not events:
                    await stream.rest(HEARTBEAT)


def _opening(data: dict[str, Any]) -> bytes:
    """A client that came without an id gets one, so that it misses nothing should it be cut off at once."""
    anchor = f"id: {data['epoch']}-{data['seq']}\n" if data["is_fresh"] else ""
    return f"retry: 2000\n{anchor}\n".encode()
