"""A POST sent twice with the same Idempotency-Key has one effect and one answer."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import IntegrityError, transaction
from django.utils.timezone import now
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth.errors import Conflict, Refused
from synth.models import IdempotentAnswer

HEADER = "Idempotency-Key"
MAX_KEY_CHARS = 200
AT_WORK = timedelta(seconds=60)  # a process that has not answered by then is taken for dead
TRIES = 10
P = ParamSpec("P")
V = TypeVar("V", bound=APIView)


class _Undo(Exception):
    """Rolls back the effect of an answer that is not kept."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


def idempotent(
    post: Callable[Concatenate[V, Request, P], Response],
) -> Callable[Concatenate[V, Request, P], Response]:
    """Decorates a `post`: with an Idempotency-Key the effect and its answer are saved in one transaction."""

    @functools.wraps(post)
    def wrapper(view: V, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        return once(request, lambda: post(view, request, *args, **kwargs))

    return wrapper


def once(request: Request, effect: Callable[[], Response]) -> Response:
    """Run `effect` and keep its answer under the request's key, or replay the kept one.

    A twin at the same time waits on the unique index. Refused `idempotency_key_reused` when the key came with
    another request. Answers of 400 and above, and their effects, are not kept. With a key `effect` runs in a
    transaction, so it must not call a language model.
    """
    key = read_key(request)
    if key is None:
        return effect()
    try:
        with transaction.atomic():
            return _first_or_kept(request, key, effect)
    except _Undo as undo:
        return undo.answer


def once_unheld(request: Request, effect: Callable[[], Response]) -> Response:
    """As `once`, for an effect that asks a model: no transaction is held while it runs.

    Conflict `request_running` for a twin meanwhile. After a death between effect and answer the request may
    come again, a minute later, and has its effect again.
    """
    key = read_key(request)
    if key is None:
        return effect()
    with transaction.atomic():
        kept, is_first = _kept(request, key)
        if not is_first and kept.status:
            return _replayed(kept)
        if not is_first and kept.at > now() - AT_WORK:
            raise Conflict("This request is being answered.", code="request_running")
        IdempotentAnswer.objects.filter(pk=kept.pk).update(at=now())
    try:
        answer = effect()
    except BaseException:
        IdempotentAnswer.objects.filter(pk=kept.pk).delete()
        raise
    _keep(kept, request, answer)
    return answer


def forget(request: Request, body: Any) -> None:
    """Let the request's key begin anew, if this is the answer that is kept under it."""
    kept = IdempotentAnswer.objects.filter(actor_id=request.user.pk, key=read_key(request) or "")
    kept.filter(body=body).delete()


def _first_or_kept(request: Request, key: str, effect: Callable[[], Response]) -> Response:
    kept, is_first = _kept(request, key)
    if not is_first:
        return _replayed(kept)
    answer = effect()
    if answer.status_code >= 400:
        raise _Undo(answer)
    _keep(kept, request, answer)
    return answer


def _kept(request: Request, key: str) -> tuple[IdempotentAnswer, bool]:
    """The row of the key, locked, and whether it is new."""
    digest = _digest(request)
    kept, is_first = _found_or_made(request.user.pk, key, digest)
    if kept.request_sha256 != digest:
        raise Refused(
            "This key came with another request before.", code="idempotency_key_reused", field=HEADER
        )
    return kept, is_first


def _found_or_made(actor_id: int | None, key: str, digest: str) -> tuple[IdempotentAnswer, bool]:
    for _ in range(TRIES):
        try:
            return IdempotentAnswer.objects.select_for_update().get_or_create(
                actor_id=actor_id, key=key, defaults={"request_sha256": digest}
            )
        except IntegrityError:
            continue  # a twin's row stood in the way, and is gone: its effect failed
    raise Conflict("This request is being answered.", code="request_running")


def _replayed(kept: IdempotentAnswer) -> Response:
    return Response(kept.body, status=kept.status, headers={"Idempotency-Replayed": "true"})


def _keep(kept: IdempotentAnswer, request: Request, answer: Response) -> None:
    body = _as_json(request, answer)
    IdempotentAnswer.objects.filter(pk=kept.pk).update(status=answer.status_code, body=body)


def read_key(request: Request) -> str | None:
    """The request's Idempotency-Key, or None; ValidationError when it cannot be one."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not (1 <= len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
        raise ValidationError({HEADER: [f"1 to {MAX_KEY_CHARS} printable ASCII characters are needed."]})
    return key


def _digest(request: Request) -> str:
    """The same for the same method, path, query and body, whatever the order of keys."""
    data = json.dumps(request.data, sort_keys=True, ensure_ascii=True)
    path = request.get_full_path().split("?")[0].rstrip("/")
    return hashlib.sha256(
        f"{request.method} {path} {request.META.get('QUERY_STRING', '')} {data}".encode()
    ).hexdigest()


def _as_json(request: Request, answer: Response) -> Any:
    renderer = request.accepted_renderer
    return json.loads(renderer.render(answer.data) or b"null")
