"""Every error code the core gives beside the ones named after a status, with a sentence for people.

Codes are stable: clients decide by them. `synth.api.errors.CODES` has those of a bare status, and
`synth.llm.reasons.REASONS` those of a call to a language model.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "agent_archived": "The agent is put away; bring it back first.",
    "agent_not_archived": "The agent is not put away.",
    "agent_not_found": "There is no agent of that slug, or it is not open to the caller.",
    "already_ended": "The answer is not being written any more; `status` says how it ended.",
    "already_revoked": "The key was closed before.",
    "bad_card": "The file is no character card, or a damaged one; `field` says where.",
    "bad_characters": "The text holds a NUL or half a character.",
    "bad_kind": "A kind of memory is a short lower-case word.",
    "bad_name": "A name of a memory has letters, digits, spaces and . : - _ only.",
    "bad_tags": "Too many tags, or one that is too long.",
    "blank": "The text may not be blank.",
    "check_in_closed": "The check-in was answered before, or the turn is over.",
    "dialogue_gone": "The dialogue was deleted meanwhile.",
    "dialogue_not_found": "There is no such dialogue, or it is somebody else's.",
    "duplicate_key": "A key stands twice in a JSON object.",
    "idempotency_key_reused": "The Idempotency-Key came with another request before.",
    "invalid_ticket": "The ticket of a stream ran out, or is for another stream.",
    "invalid_key": "The API key is not known, or it was revoked.",
    "last_operator": "The last operator stays one.",
    "lease_lost": "Another worker took the row over; never seen over REST.",
    "lone_surrogate": "The text holds half of a surrogate pair.",
    "message_not_found": "There is no such message, or it is somebody else's.",
    "name_taken": "The agent has a memory of that name.",
    "no_stream_here": "Django serves alone, without the web process in front that streams.",
    "not_operator": "The person is not an operator.",
    "not_parked": "The event is not parked any more.",
    "nul_character": "The text holds a NUL character.",
    "own_account": "Nobody archives their own account.",
    "person_archived": "The person's account is closed.",
    "person_not_found": "There is no person of that name.",
    "role_exceeds_person": "A key may not do more than its person.",
    "scope_missing": "The app key was not issued for this.",
    "slug_reserved": "The API uses that slug itself.",
    "slug_taken": "Another agent has that slug.",
    "too_deep": "The JSON is nested too deeply.",
    "too_long": "The text or the list is too long.",
    "turn_running": "An answer is being written in this dialogue.",
    "unknown_country": "No ISO 3166-1 code of two letters.",
    "unknown_field": "There is no such field, or it cannot be set.",
    "unknown_language": "No BCP 47 language tag.",
    "unknown_toolkit": "There is no toolkit of that name.",
    "unknown_timezone": "No IANA time zone.",
}
