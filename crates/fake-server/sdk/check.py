"""The official Python SDK against the fake server, and its types against our requests and replies.

    check.py PROGRAM TOUR FIXTURES

PROGRAM is the fake server, TOUR a program that makes our requests against a server of a URL, FIXTURES the folder with the cases
of each rule. `cargo xtask sdk-check` calls it, in an environment of its own. What the SDK's types say is a second opinion on the
shape of things; of the order of messages they know nothing, and the table at the end shows that.
"""

import importlib
import json
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import urllib.request
import warnings
from collections import Counter

import anthropic
import anthropic.types
import pydantic
from pydantic_core import ValidationError
from typing_extensions import is_typeddict

PROGRAM, TOUR, FIXTURES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
FAULTS = []
# The cases name models as they are, also old ones.
warnings.simplefilter("ignore", DeprecationWarning)


def fault(text):
    FAULTS.append(text)
    print(f"  NOT SO: {text}")


# --- the SDK's types, closed: what they do not know is refused ---------------------------------------------------------------


def closed_types():
    """Closes every dictionary type of the SDK that is open by default, and gives how many there are."""
    closed = set()
    for module in pkgutil.walk_packages(anthropic.types.__path__, "anthropic.types."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and is_typeddict(value):
                config = getattr(value, "__pydantic_config__", {})
                if config.get("extra") != "allow":
                    value.__pydantic_config__ = {**config, "extra": "forbid"}
                    closed.add(value)
    return len(closed)


def exhausted(value):
    """Walks through what was validated: an iterable is validated as it is read, and not before."""
    if isinstance(value, dict):
        return {name: exhausted(member) for name, member in value.items()}
    if isinstance(value, (str, bytes, int, float, bool, type(None), pydantic.BaseModel)):
        return value
    return [exhausted(item) for item in value]


CLOSED = closed_types()
REQUEST = pydantic.TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsNonStreaming)
STREAMED = pydantic.TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming)
REPLY = pydantic.TypeAdapter(anthropic.types.Message)
ERROR = pydantic.TypeAdapter(anthropic.types.ErrorResponse)


def refused(request):
    """What the SDK's types say against a request; none when nothing."""
    is_streamed = isinstance(request, dict) and request.get("stream") is True
    adapter = STREAMED if is_streamed else REQUEST
    try:
        exhausted(adapter.validate_python(request, strict=False))
        return None
    except (ValidationError, TypeError) as error:
        return str(error).splitlines()[0]


# --- the server ---------------------------------------------------------------------------------------------------------------


class Server:
    """The fake server with a script and a plan of faults, as Python values."""

    def __init__(self, script=None, faults=None, arguments=()):
        self.folder = tempfile.TemporaryDirectory()
        command = [PROGRAM, "--port", "0", *arguments]
        for flag, value in (("--script", script), ("--faults", faults)):
            if value is not None:
                path = pathlib.Path(self.folder.name) / f"{flag[2:]}.json"
                path.write_text(json.dumps(value))
                command += [flag, str(path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def client(self, **settings):
        return anthropic.Anthropic(base_url=self.url, api_key="test-key", max_retries=0, timeout=20, **settings)

    def log(self):
        with urllib.request.urlopen(f"{self.url}/_log") as reply:
            return json.load(reply)


def cases(kind):
    """The cases of all rules that have a request and want nothing of the server or of the headers."""
    for path in sorted(FIXTURES.glob("*.json")):
        fixture = json.loads(path.read_text())
        for case in fixture[kind]:
            # The SDK fills in what the cases leave out or write by themselves.
            if "request" in case and not {"server", "headers", "method", "target", "pad", "text", "raw"} & case.keys():
                yield fixture["rule"], case


MESSAGE = {"role": "user", "content": "Quote Focus"}
PLAIN = {"model": "claude-sonnet-5", "max_tokens": 256, "messages": [MESSAGE]}
CALLED = {
    **PLAIN,
    "tools": [{"name": "get_quote", "input_schema": {"type": "object", "properties": {"room": {"type": "string"}}}}],
}
REPLIES = [
    {"text": "Focus is 60 euros."},
    {"thinking": "A quote.", "text": "One moment.", "tool_use": [{"name": "get_quote", "input": {"room": "Focus"}}]},
    {"tool_use": [{"name": "get_quote", "input": {}}, {"name": "get_quote", "input": {"room": "Forum"}}]},
    {"text": "Cut", "stop_reason": "max_tokens"},
    {"text": "Up to here", "stop_reason": "stop_sequence", "stop_sequence": "END"},
    {"refusal": "That is not for me."},
    {"text": "To be gone on with", "stop_reason": "pause_turn"},
]


def replies():
    """Each kind of reply, plain and streamed: the SDK reads both, they are equal, and its closed types take them."""
    doubled = [reply for reply in REPLIES for _ in range(2)] + [{"text": "Counted."}]
    count = 0
    with Server(script={"replies": doubled}) as server:
        client = server.client()
        for number, reply in enumerate(REPLIES):
            request = CALLED if "tool_use" in reply else PLAIN
            raw = client.messages.with_raw_response.create(**request)
            if not raw.headers.get("request-id"):
                fault(f"reply {number} has no request-id")
            try:
                REPLY.validate_json(raw.text(), strict=False)
            except ValidationError as error:
                fault(f"reply {number} is none by the SDK's types: {error}")
            plain = raw.parse()
            with client.messages.stream(**request) as stream:
                streamed = stream.get_final_message()
            shape = lambda message: [
                {name: value for name, value in block.to_dict().items() if name not in ("id", "signature", "parsed_output")}
                for block in message.content
            ]
            if (shape(plain), plain.stop_reason) != (shape(streamed), streamed.stop_reason):
                fault(f"reply {number} is another one when it is streamed: {shape(plain)} and {shape(streamed)}")
            count += 2
        asked = {name: PLAIN[name] for name in ("model", "messages")}
        tokens = client.messages.count_tokens(**asked).input_tokens
        if tokens != client.messages.create(**PLAIN).usage.input_tokens:
            fault(f"{tokens} tokens are counted, and a reply counts others")
    return count + 1


def errors():
    """Each error of the plan is the exception that the SDK has for it, with the service's word, before and in a stream."""
    expected = [
        ({"rate_limited": {"retry_after": 7}}, anthropic.RateLimitError, 429, "rate_limit_error"),
        ({"rate_limited": {}}, anthropic.RateLimitError, 429, "rate_limit_error"),
        ("overloaded", anthropic.APIStatusError, 529, "overloaded_error"),
        ("api_error", anthropic.InternalServerError, 500, "api_error"),
        ("timeout", anthropic.APIStatusError, 504, "timeout_error"),
    ]
    plan = [{"at": number, "fault": what} for number, (what, *_) in enumerate(expected, 1)]
    with Server(faults={"faults": plan}) as server:
        client = server.client()
        for what, kind, status, word in expected:
            try:
                client.messages.create(**PLAIN)
                fault(f"{what} is no error")
            except anthropic.APIStatusError as error:
                body = error.body or {}
                try:
                    ERROR.validate_python(body)
                except ValidationError as why:
                    fault(f"{what} is no error by the SDK's types: {why}")
                found = (error.status_code, body.get("error", {}).get("type"))
                if not isinstance(error, kind) or found != (status, word):
                    fault(f"{what} came as {type(error).__name__} {found}")
        # After a 200: in the middle of a stream.
    cut = [{"at": 1, "fault": {"error_after_events": 3}}, {"at": 2, "fault": {"cut_after_events": 3}}]
    with Server(faults={"faults": cut}) as server:
        for number in range(2):
            try:
                with server.client().messages.stream(**PLAIN) as stream:
                    stream.get_final_message()
                fault(f"stream {number} that was cut came to an end")
            except Exception as error:  # of whatever kind the SDK has for it
                print(f"  a stream that ends early: {type(error).__name__}")
    return len(expected) + 2


def rules():
    """Each case of each rule by the SDK's client: what is legal is answered, what is not is the service's error."""
    legal, broken = Counter(), Counter()
    with Server() as server:
        client = server.client()
        for rule, case in cases("valid"):
            request = {**case["request"], "stream": False} if "stream" in case["request"] else case["request"]
            try:
                client.messages.create(**request)
                legal[rule] += 1
            except Exception as error:
                fault(f"{rule}, {case['name']}: {error}")
        for rule, case in cases("invalid"):
            try:
                client.post("/v1/messages", body=case["request"], cast_to=anthropic.types.Message)
                fault(f"{rule}, {case['name']}: answered")
            except anthropic.APIStatusError as error:
                found = error.body["error"]
                if (error.status_code, found["type"]) != (case["status"], case["type"]) or case["message"] not in found["message"]:
                    fault(f"{rule}, {case['name']}: {error.status_code} {found}")
                ERROR.validate_python(error.body)
                broken[rule] += 1
    return legal, broken


def shapes():
    """What the SDK's types alone say to the cases: all that is legal has the shape, of what is not some."""
    seen = Counter()
    for rule, case in cases("valid"):
        if why := refused(case["request"]):
            fault(f"{rule}, {case['name']} is refused by the SDK's types: {why}")
    for rule, case in cases("invalid"):
        seen[rule] += refused(case["request"]) is not None
    return seen


def ours():
    """Our own requests: a run with a tool that fails, parallel calls, a delegate and a handoff, plain and streamed."""
    package = {"specialist": "policy_agent", "task": "What does a no-show cost?", "context": {"quoted_cents": 2000}}
    run = [
        {"tool_use": [{"name": "get_quote", "input": {"room": "Attic"}}, {"name": "get_quote", "input": {"room": "Focus"}}]},
        {"thinking": "A question of prices.", "tool_use": [{"name": "ask_pricing", "input": {"question": "A discount?"}}]},
        {"text": "None."},
        {"tool_use": [{"name": "handoff_to_specialist", "input": package}]},
        {"text": "6500 cents."},
    ]
    with Server(script={"replies": run * 2}, arguments=["--strict"]) as server:
        environment = {**os.environ, "ANTHROPIC_API_KEY": "test-key"}
        done = subprocess.run([TOUR, server.url], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            fault(f"our run has failed: {done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            print(f"  {line}")
        log = server.log()
    for entry in log["entries"]:
        if why := refused(json.loads(entry["body"])):
            fault(f"our request {entry['number']} is refused by the SDK's types: {why}")
        if entry["status"] != 200:
            fault(f"our request {entry['number']} was answered with {entry['status']}: {entry['error']}")
    if len(log["entries"]) != 2 * len(run):
        fault(f"{len(log['entries'])} requests came, {2 * len(run)} were to come")
    return len(log["entries"])


def main():
    print(f"anthropic {anthropic.__version__}, pydantic {pydantic.VERSION}; {CLOSED} types closed")
    print("replies that the SDK reads, plain and streamed:")
    print(f"  {replies()}")
    print("errors and cut streams that it knows:")
    print(f"  {errors()}")
    print("our requests in its types:")
    print(f"  {ours()}")
    legal, broken = rules()
    seen = shapes()
    print("cases by rule:")
    print("  rule             legal  illegal  of these seen by the SDK's types alone")
    for rule in sorted(legal | broken, key=lambda name: (not name.startswith("S"), len(name), name)):
        print(f"  {rule:<16} {legal[rule]:>5}  {broken[rule]:>7}  {seen[rule]:>7}")
    print(f"  {'all':<16} {legal.total():>5}  {broken.total():>7}  {seen.total():>7}")
    if FAULTS:
        print(f"{len(FAULTS)} things are not so")
        return 1
    print("all is so")
    return 0


sys.exit(main())
