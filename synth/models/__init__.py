"""Every model of the core. Other apps use services, selectors and schemas instead."""

from synth.models.agents import Agent
from synth.models.audit import AuditEntry, Door
from synth.models.dialogues import Dialogue, Message, MessageRole, MessageStatus
from synth.models.diary import DiaryEntry, DiarySource
from synth.models.install import IdempotentAnswer, Install, Tick
from synth.models.llm import LlmCall, LlmCallPart, PromptPart
from synth.models.memories import Memory, MemoryTerm
from synth.models.outbox import EventHandling, HandlingStatus, OutboxEvent
from synth.models.people import ApiKey, Person, Role

__all__ = [
    "Agent",
    "ApiKey",
    "AuditEntry",
    "Dialogue",
    "DiaryEntry",
    "DiarySource",
    "Door",
    "EventHandling",
    "HandlingStatus",
    "IdempotentAnswer",
    "Install",
    "LlmCall",
    "LlmCallPart",
    "Memory",
    "MemoryTerm",
    "Message",
    "MessageRole",
    "MessageStatus",
    "OutboxEvent",
    "Person",
    "PromptPart",
    "Role",
    "Tick",
]
