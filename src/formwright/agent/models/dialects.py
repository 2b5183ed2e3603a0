"""Two ways to speak to a model over HTTP: the request's body, and what an answer's body says.

OpenAI's chat completions (``POST /chat/completions``), which most servers offer, and Anthropic's
messages (``POST /v1/messages``, version 2023-06-01). Plain text in and out: no tools, no
structured output, so that servers which differ in these all work.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from formwright.agent.budget import estimated_tokens


@dataclass(frozen=True, slots=True)
class Turn:
    """``speaker``: ``user`` or ``assistant``."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. ``refused`` and ``cut`` (at the limit of tokens) as the server tells."""

    text: str
    tokens_in: int
    tokens_out: int
    refused: bool = False
    cut: bool = False


class UnreadableError(Exception):
    """The body is JSON and no answer of the dialect."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """``key`` and ``base`` are names of environment variables; ``head`` gives the headers."""

    name: str
    address: str
    path: str
    key: str
    base: str
    head: Callable[[str], dict[str, str]]
    body: Callable[[str, str, tuple[Turn, ...], int], dict[str, Any]]
    read: Callable[[Any, str], Answer]


def _openai_body(model: str, system: str, turns: tuple[Turn, ...], tokens: int) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}]
    messages += [{"role": t.speaker, "content": t.text} for t in turns]
    return {"model": model, "messages": messages, "max_tokens": tokens}


def _anthropic_body(
    model: str, system: str, turns: tuple[Turn, ...], tokens: int
) -> dict[str, Any]:
    messages = [{"role": t.speaker, "content": t.text} for t in turns]
    return {"model": model, "system": system, "messages": messages, "max_tokens": tokens}


def _openai_answer(body: Any, prompt: str) -> Answer:
    match body:
        case {"choices": [{"message": {} as message, **choice}, *_]}:
            refusal = message.get("refusal")
            text = message.get("content")
            text = text if isinstance(text, str) else ""
            reason = choice.get("finish_reason")
            refused = isinstance(refusal, str) or reason == "content_filter"
            sizes = _usage(body, "prompt_tokens", "completion_tokens", prompt, text)
            told = refusal if isinstance(refusal, str) else text
            return Answer(told, *sizes, refused=refused, cut=reason == "length")
        case _:
            raise UnreadableError("no choices with a message in the answer")


def _anthropic_answer(body: Any, prompt: str) -> Answer:
    match body:
        case {"content": [*blocks], **rest}:
            texts = [b["text"] for b in blocks if _is_text(b)]
            reason = rest.get("stop_reason")
            text = "".join(texts)
            sizes = _usage(body, "input_tokens", "output_tokens", prompt, text)
            cut = reason in ("max_tokens", "model_context_window_exceeded")
            return Answer(text, *sizes, refused=reason == "refusal", cut=cut)
        case _:
            raise UnreadableError("no content in the answer")


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("text"), str)


def _usage(body: Any, into: str, out: str, prompt: str, text: str) -> tuple[int, int]:
    """Tokens in and out as the server counts them; by estimate where it does not say."""
    told = body.get("usage")
    usage: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    more = sum(_count(usage.get(name)) or 0 for name in cached)
    tokens_in, tokens_out = _count(usage.get(into)), _count(usage.get(out))
    return (
        estimated_tokens(prompt) if tokens_in is None else tokens_in + more,
        estimated_tokens(text) if tokens_out is None else tokens_out,
    )


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None


OPENAI: Final = Dialect(
    "openai",
    "https://api.openai.com/v1",
    "/chat/completions",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    lambda key: {"authorization": f"Bearer {key}"} if key else {},
    _openai_body,
    _openai_answer,
)
ANTHROPIC: Final = Dialect(
    "anthropic",
    "https://api.anthropic.com",
    "/v1/messages",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    lambda key: {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {}),
    _anthropic_body,
    _anthropic_answer,
)
DIALECTS: Final = {d.name: d for d in (OPENAI, ANTHROPIC)}
