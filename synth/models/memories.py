"""Long-term memories and the words they are found by."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils.timezone import now

from synth.recall.meaning import DIMS, MAX_MODEL_CHARS


class Memory(models.Model):
    """Something an agent keeps. `about` ties it to one person: recall never crosses persons.

    `search` holds the recall tokens (`synth.text.words.tokens`) as lexemes, built in Python so that every
    script is treated fairly (`synth.recall.lexemes`). `n_tokens` estimates the size for a language model.
    Written only through `synth.services.memories`, which keeps the word counts right.
    """

    note = ""  # what a write has to tell its caller, not stored

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="memories")
    about = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="memories_about",
    )
    name = models.CharField(max_length=100, blank=True)
    text = models.TextField()
    tags = models.JSONField(default=list, blank=True)
    kind = models.CharField(max_length=32, default="fact")
    n_tokens = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(auto_now=True)
    search = SearchVectorField(null=True, editable=False)

    class Meta:
        verbose_name_plural = "memories"
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["agent", "at", "id"], name="synth_memory_by_agent_at"),
            models.Index(fields=["agent", "about", "at", "id"], name="synth_memory_by_scope_at"),
            # No pending list: a search stays fast right after many writes.
            GinIndex(fields=["search"], name="synth_memory_search", fastupdate=False),
        ]
        constraints = [
            # Of those about one person, and of those about nobody: nobody may notice what others' are called.
            models.UniqueConstraint(
                fields=["agent", "about", "name"],
                condition=~models.Q(name=""),
                nulls_distinct=False,
                name="synth_memory_name_once",
            )  # fmt: skip
        ]

    def __str__(self) -> str:
        return self.name or self.text[:60]


class MemoryTerm(models.Model):
    """How many memories of an agent hold a recall token: rare words rank higher, typos find their neighbours.

    `^word` counts the word in names and tags; `#0` the memories about nobody, `#7` those about person 7.
    """

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="+")
    term = models.CharField(max_length=64)
    n_memories = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "term"], name="synth_memoryterm_once")]
        indexes = [
            GinIndex(
                fields=["term"], opclasses=["gin_trgm_ops"], name="synth_memoryterm_trgm", fastupdate=False
            )
        ]

    def __str__(self) -> str:
        return self.term


class SignsField(models.Field):  # type: ignore[type-arg]
    """The signs of a vector's numbers as a string of bits."""

    def db_type(self, connection: Any) -> str:
        """A column of one bit a number."""
        return f"bit({DIMS})"


class MemoryVector(models.Model):
    """What a memory means, as a vector of one model. Derived: whoever changes the memory deletes it, and the
    sweep makes it anew.

    `agent_id`, `about_id` (0: nobody) and `at` repeat the memory's, so that a search reads nobody else's and
    the newest from the index alone. The database deletes the row with its memory: Django would look for it
    before the memory is locked.
    """

    memory = models.OneToOneField(
        Memory, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    agent_id = models.BigIntegerField()
    about_id = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    model = models.CharField(max_length=MAX_MODEL_CHARS)
    vector = models.BinaryField()
    signs = SignsField()

    class Meta:
        indexes = [
            models.Index(
                fields=["agent_id", "about_id", "-at"],
                include=["memory", "model", "signs"],
                name="synth_memoryvector_scope",
            ),
            models.Index(fields=["model"], name="synth_memoryvector_model"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} {self.model}"
