"""Every error code reminders give beside those named after a status, with a sentence for people.

Codes are stable: clients decide by them.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "already_acted": "The person acted on the delivery before.",
    "already_dismissed": "The delivery was dismissed before.",
    "already_expired": "The delivery ran out.",
    "already_seen": "Another client of the person showed the delivery before.",
    "bad_target": "What stands behind the channel is no address of that kind.",
    "delivery_not_found": "The person has no delivery of that number.",
    "not_failed": "Only a failed delivery is tried again.",
    "unknown_channel": "There is no such channel.",
    "unknown_dialogue": "There is no such dialogue.",
    "unknown_person": "There is no person of that name.",
    "webhook_refused": "The address needs https, and may not lie on this machine or a private network.",
}
