"""Every model of the core. Other apps use services, selectors and schemas instead."""

from synth.models.agents import Agent
from synth.models.audit import AuditEntry, Door
from synth.models.diary import DiaryEntry, DiarySource
from synth.models.install import IdempotentAnswer, Install, Tick
from synth.models.llm import LlmCall, LlmCallPart, PromptPart
from synth.models.memories import Memory, MemoryTerm
from synth.models.outbox import EventHandling, HandlingStatus, OutboxEvent
from synth.models.people import ApiKey, Person, Role

__all__ = [
    "Agent", "ApiKey", "AuditEntry", "DiaryEntry", "DiarySource", "Door", "EventHandling", "HandlingStatus",
    "IdempotentAnswer", "Install", "LlmCall", "LlmCallPart", "Memory", "MemoryTerm", "OutboxEvent", "Person",
    "PromptPart", "Role", "Tick",
]
