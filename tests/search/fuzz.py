"""Requests that nobody means well, over all routes: heads, addresses, bodies and tokens, drawn by a
seed and sent to the API of a service in this process.

Wrong is an answer of 500 or above, an error that is not in the shape of errors, a change by who
was refused or only asked, an answer to who has no token, and a state that contradicts itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from pydantic import ValidationError

from fairlead.service.api.settings import ApiSettings
from fairlead.wire.errors import STATUS, ErrorAnswer
from fairlead.wire.route import Access, Route
from fairlead.wire.routes import ROUTES
from tests.service.api.stage import TENANTS, Answer, Stage, job
from tests.service.api.test_access import BODIES, IN_PATHS, NO_TOKENS, prepare

SETTINGS = ApiSettings(
    threads=False,
    poll_seconds=0.001,
    heartbeat_seconds=0.01,
    body_bytes=2**20,
    refusal_seconds=0.0,
    token_rate=1e6,
    token_burst=1e6,
    address_rate=1e6,
    address_burst=1e6,
    guess_burst=1e6,
    heavy_burst=1e6,
    reading_burst=1e6,
    changing_burst=1e6,
)
"""Nobody is told to come later: what is to be seen is what is looked at."""

WORDS = (
    *("", ".", "..", "/", "//", "%2e%2e", "%00", "%ff", "%E2%80%AE", "a" * 300, "-1", "0", "1e9"),
    *(
        "9" * 40,
        "1.5",
        "NaN",
        "null",
        "true",
        "mine",
        "m0",
        "vision/mine",
        "m[0-9999999]",
        "*",
        "'",
    ),
    *("<script>", "${jndi:x}", "\u202egnp", "\u0000", "ä\u0301", "\U0001f4a9", "{}", "{job}", "%s"),
    *("'; DROP TABLE jobs; --", "zone = a", "!!python/object:os.system", "&a [*a]", "1" * 5000),
)
"""Text that stands where a name, a number or a constraint is expected."""

LEAVES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**40, 0.1, 1e308, 5e-324, -0.0),
    *("", [], {}, [[]], [None], {"": None}, ["mine", "mine"], {"cpu": 1}),
)

HEADERS = (
    *("If-None-Match", "Last-Event-ID", "Idempotency-Key", "Content-Type", "Content-Length"),
    *("Content-Encoding", "X-Forwarded-For", "Origin", "Host", "Cookie", "Accept", "Range"),
    *("traceparent", "Transfer-Encoding", "X-Fairlead-Request", "Authorization", "Sec-Fetch-Site"),
)

Change = Callable[[Random, Any], Any]


def fuzzed(seed: int, number: int) -> list[str]:
    """What is wrong with the answers to so many requests."""
    random = Random(seed)
    wrong: list[str] = []
    with Stage(settings=SETTINGS) as stage:
        prepare(stage, next(route for route in ROUTES if route.name == "forget_job"))
        stage.submit("other", "sales", 3)
        for _ in range(number):
            route = random.choice(ROUTES)
            asked = _draw(random, route, stage)
            said = _asked(stage, route, asked)
            if said:
                wrong.append(f"{said}: {json.dumps(asked, default=repr)[:2000]}")
            if random.random() < 0.1:
                stage.step(random.choice([0.0, 1.0, 3600.0]))
            if random.random() < 0.05:  # something is there to be asked about
                name = f"j{random.randrange(10**6)}"
                stage.submit(name, random.choice(TENANTS).name, random.randint(1, 5))
        assert stage.service.core is not None
        stage.service.core.check()
    return wrong


def _asked(stage: Stage, route: Route, asked: dict[str, Any]) -> str:
    """What is wrong with the answer to one; empty where nothing is."""
    before = -1
    while before < stage.service.records.seq:  # until all that goes on by itself is written down
        before = stage.service.records.seq
        stage.step(0.0)
    try:
        answer = stage.ask(**asked)
    except Exception as error:  # noqa: BLE001  whatever it is, it is what was looked for
        return f"{route.name} raises {error!r}"
    changed = stage.service.records.seq > before
    if answer.status >= 500:
        return f"{route.name} answers {answer.status} {answer.body[:300]!r}"
    if answer.status >= 400 and not _is_error(answer, asked["method"]):
        return f"{route.name} refuses in another shape: {answer.body[:300]!r}"
    if changed and (answer.status >= 400 or route.method == "GET" or asked["method"] == "GET"):
        return f"{route.name} changes something and answers {answer.status}"
    whose = asked["token"]
    if whose not in stage.tokens and route.access is not Access.PUBLIC and answer.status < 400:
        return f"{route.name} answers {answer.status} to who has no token"
    return ""


def _is_error(answer: Answer, method: str) -> bool:
    if method == "HEAD":
        return True
    try:
        error = ErrorAnswer.model_validate_json(answer.body).error
    except ValidationError:
        return False
    return STATUS[error.kind] == answer.status and bool(error.mistakes)


def _draw(random: Random, route: Route, stage: Stage) -> dict[str, Any]:
    """A request to the route: as it should be, with some of it otherwise."""
    names = {name: _maybe(random, value, 0.3) for name, value in IN_PATHS.items()}
    path = route.path.format(**{name: _in_path(value) for name, value in names.items()})
    query = [
        f"{name}={_in_path(random.choice(WORDS))}" for name in _some(random, route.query, 0.15)
    ]
    query += [_in_path(random.choice(WORDS)) for _ in range(random.random() < 0.1)]
    headers = {
        name: random.choice(WORDS).encode("ascii", "ignore").decode().replace("\0", "") or "x"
        for name in _some(random, HEADERS, 0.02)
    }
    known = (
        BODIES.get(route.name) if random.random() < 0.8 else random.choice(list(BODIES.values()))
    )
    body: object = None
    if route.body is not None or random.random() < 0.1:
        body = _body(random, known)
    method = route.method
    if random.random() < 0.05:
        method = random.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "X"])
    token = random.choice(list(stage.tokens) if random.random() < 0.85 else [*NO_TOKENS.values()])
    return {
        "method": method,
        "path": path + ("?" + "&".join(query) if query else ""),
        "token": token,
        "body": body,
        "headers": headers,
        "impatient": True,
    }


def _body(random: Random, known: object) -> object:
    if random.random() < 0.15:
        return random.choice(
            [
                random.randbytes(random.randint(0, 200)),
                b"[" * random.randint(1, 20_000),
                json.dumps(known).encode()[: random.randint(0, 60)],
                b'{"jobs":' * random.randint(1, 3000),
                b" " * (2**20 + 1),
            ]
        )
    tree = json.loads(json.dumps(known if known is not None else {"jobs": [job("x")]}))
    for _ in range(random.choice([0, 1, 1, 2, 5])):
        tree = _mutated(random, tree)
    return tree if tree is not None else b"null"


def _mutated(random: Random, tree: Any) -> Any:
    """The tree with one place changed."""
    if isinstance(tree, dict) and tree and random.random() < 0.9:
        key = random.choice(list(tree))
        kind = random.random()
        if kind < 0.1:
            return {name: value for name, value in tree.items() if name != key}
        if kind < 0.2:
            return tree | {random.choice(WORDS): random.choice(LEAVES)}
        return tree | {key: _mutated(random, tree[key])}
    if isinstance(tree, list) and tree and random.random() < 0.9:
        place = random.randrange(len(tree))
        if random.random() < 0.1:
            return tree + [tree[place]] * random.choice([1, 100])
        return [*tree[:place], _mutated(random, tree[place]), *tree[place + 1 :]]
    return random.choice([random.choice(LEAVES), random.choice(WORDS)])


def _maybe(random: Random, value: str, chance: float) -> str:
    return random.choice(WORDS) if random.random() < chance else value


def _some(random: Random, names: tuple[str, ...], chance: float) -> list[str]:
    return [name for name in names if random.random() < chance]


def _in_path(text: str) -> str:
    """The text as it comes in an address; what is written with percents stays as it is."""
    return "".join(
        each if each.isascii() and each.isprintable() and each not in " ?#" else _percents(each)
        for each in text
    )


def _percents(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
