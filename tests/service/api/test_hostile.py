"""What somebody sends who wishes the service no good: it is refused, in the one shape of errors,
changes nothing, and takes no time or memory to speak of."""

from __future__ import annotations

import json
import re
import string
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.model.fields import JOB
from fairlead.model.names import expand
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.strict import count_in_text
from fairlead.service.settings import Limits
from fairlead.wire.errors import STATUS, ErrorAnswer
from fairlead.wire.route import Access
from fairlead.wire.routes import ROUTES
from tests.engines.world import Fate
from tests.service.api.stage import Answer, Stage, job

YAML = {"Content-Type": "application/yaml"}
JSON = {"Content-Type": "application/json"}


def refused(answer: Answer) -> None:
    """It is a user's mistake, in the shape of errors."""
    assert 400 <= answer.status < 500, answer
    error = ErrorAnswer.model_validate_json(answer.body).error
    assert STATUS[error.kind] == answer.status
    assert error.mistakes
    assert len(answer.body) < 300_000


def digest(stage: Stage) -> tuple[int, str]:
    """Where the journal and the core stand."""
    assert stage.service.core is not None
    return stage.service.records.seq, stage.service.core.digest()


def bomb(levels: int = 25, width: int = 9) -> bytes:
    """A text of some hundred bytes that means billions of nodes."""
    rows = [", ".join([f"*a{level - 1}"] * width) for level in range(1, levels)]
    lines = [f"a{level}: &a{level} [{row}]" for level, row in enumerate(["x", *rows])]
    return "\n".join([*lines, f"jobs: [*a{levels - 1}]"]).encode()


def of_jobs(text: str) -> bytes:
    return (
        b'{"jobs":[{"name":"a","tasks":1,"command":"true","demand":{"cpu":'
        + text.encode()
        + b"}}]}"
    )


BODIES: dict[str, tuple[bytes, dict[str, str]]] = {
    "nothing": (b"", JSON),
    "no UTF-8": (b"\xff\xfe{}", JSON),
    "no JSON": (b"{", JSON),
    "another thing": (b"[]", JSON),
    "a number": (b"1", JSON),
    "null": (b"null", JSON),
    "no jobs": (b'{"jobs":[]}', JSON),
    "jobs that are none": (b'{"jobs":{"a":1}}', JSON),
    "twice the same key": (b'{"jobs":[],"jobs":[]}', JSON),
    "deep lists": (b"[" * 100_000, JSON),
    "deep objects": (b'{"jobs":' * 50_000, JSON),
    "deep and whole": (b'{"jobs":' + b"[" * 5000 + b"]" * 5000 + b"}", JSON),
    "NaN": (of_jobs("NaN"), JSON),
    "infinity": (of_jobs("Infinity"), JSON),
    "a huge exponent": (of_jobs("1e999999999"), JSON),
    "a huge exponent in a text": (of_jobs('"1e999999999"'), JSON),
    "a number of many digits": (of_jobs("1" * 100_000), JSON),
    "a text of many digits": (of_jobs('"' + "1" * 100_000 + '"'), JSON),
    "a tiny number": (of_jobs('"1e-400000000"'), JSON),
    "a ratio by zero": (of_jobs('"1/0"'), JSON),
    "a negative number": (of_jobs("-1"), JSON),
    "tasks without end": (json.dumps({"jobs": [job("a", tasks=10**15)]}).encode(), JSON),
    "a task of millions of years": (
        json.dumps({"jobs": [job("a", duration="99999999999h")]}).encode(),
        JSON,
    ),
    "a wait of millions of years": (
        json.dumps({"jobs": [job("a", prefer="a = b", prefer_for="100001d")]}).encode(),
        JSON,
    ),
    "half a character": (b'{"jobs":[{"name":"\\ud800","demand":{"cpu":1}}]}', JSON),
    "a zero byte in a name": (b'{"jobs":[{"name":"a\\u0000","demand":{"cpu":1}}]}', JSON),
    "a line feed in a name": (b'{"jobs":[{"name":"a\\nb","demand":{"cpu":1}}]}', JSON),
    "a zero byte in a command": (
        json.dumps({"jobs": [job("a", command="a\0b")]}).encode(),
        JSON,
    ),
    "a zero byte in the environment": (
        json.dumps({"jobs": [job("a", env={"A": "a\0b"})]}).encode(),
        JSON,
    ),
    "an environment that is too long": (
        json.dumps({"jobs": [job("a", env={f"A{i}": "x" * 1000 for i in range(200)})]}).encode(),
        JSON,
    ),
    "a relative folder": (json.dumps({"jobs": [job("a", cwd="../..")]}).encode(), JSON),
    "a long name": (json.dumps({"jobs": [job("x" * 100_000)]}).encode(), JSON),
    "a million machines": (
        json.dumps({"jobs": [job("a", machines=["a[1-1000000]"])]}).encode(),
        JSON,
    ),
    "machines times machines": (
        json.dumps({"jobs": [job("a", exclude=["a[1-999]b[1-999]"])]}).encode(),
        JSON,
    ),
    "too many jobs": (json.dumps({"jobs": [job(f"j{i}") for i in range(101)]}).encode(), JSON),
    "a deep constraint": (
        json.dumps({"jobs": [job("a", where="(" * 10_000 + "a = b" + ")" * 10_000)]}).encode(),
        JSON,
    ),
    "a long constraint": (
        json.dumps({"jobs": [job("a", where=" and ".join(["a != b"] * 20_000))]}).encode(),
        JSON,
    ),
    "deep YAML": (b"[" * 100_000, YAML),
    "deep YAML in blocks": (b"- " * 50_000 + b"x", YAML),
    "a bomb of aliases": (bomb(), YAML),
    "an alias of itself": (b"jobs: &a [*a]", YAML),
    "an alias in itself": (b"jobs: [&a {name: x, demand: {cpu: 1}, env: *a}]", YAML),
    "merges of merges": (b"a: &a {<<: *a}\njobs: [*a]", YAML),
    "an unknown alias": (b"jobs: [*nobody]", YAML),
    "a tag that makes an object": (b"jobs: !!python/object/apply:os.system [true]", YAML),
    "a binary tag": (b"jobs: [!!binary aGVsbG8=]", YAML),
    "two documents that are none": (b"--- 1\n--- 2\n", YAML),
    "hidden machines": (
        b'jobs: [{name: a, demand: {cpu: 1}, tasks: 1, command: x, machines: "a\\x5b1-1000000]"}]',
        YAML,
    ),
    "machines by an alias": (
        b'jobs: [{name: a, env: {A: &x "a[1-1000000]"}, demand: {cpu: 1}, machines: *x}]',
        YAML,
    ),
    "a cluster": (b"machines: [{name: evil, capacity: {cpu: 1000}}]", YAML),
    "tenants": (b"tenants: [{name: vision, weight: 1000}]\njobs: []", YAML),
    "no text": (bytes(range(256)), YAML),
    "a type that is none": (b"{}", {"Content-Type": "x"}),
    "a form": (b"jobs=1", {"Content-Type": "application/x-www-form-urlencoded"}),
    "text": (b'{"jobs":[]}', {"Content-Type": "text/plain"}),
    "another character set": (b"{}", {"Content-Type": "application/json; charset=utf-16"}),
    "compressed": (b"\x1f\x8b", JSON | {"Content-Encoding": "gzip"}),
    "too long": (b" " * 3_000_000, JSON),
    "too long by its word": (b"{}", JSON | {"Content-Length": "99999999999999999999"}),
    "a length that is none": (b"{}", JSON | {"Content-Length": "x"}),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_means_harm_is_refused(name: str) -> None:
    body, headers = BODIES[name]
    with Stage(settings=ApiSettings(threads=False, body_bytes=2_000_000, batch_jobs=100)) as stage:
        before = digest(stage)
        refused(stage.ask("POST", "/v1/jobs", "vision", body, headers))
        assert digest(stage) == before


def test_a_body_is_refused_where_it_becomes_too_long_and_not_read_on() -> None:
    with Stage(settings=ApiSettings(threads=False, body_bytes=1000)) as stage:
        given = iter(lambda: b"x" * 100, None)
        parts = [next(given) for _ in range(1000)]
        answer = stage.ask("POST", "/v1/jobs", headers=JSON, chunks=parts)
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert not stage.app.api.held


def test_too_much_at_once_is_put_off() -> None:
    with Stage(settings=ApiSettings(threads=False, bodies_bytes=1000)) as stage:
        stage.app.api.held["tenant sales"] = 600
        answer = stage.ask("POST", "/v1/jobs", body=b"x" * 500)
        assert (answer.status, answer.kind) == (503, "unavailable")
        assert "retry-after" in answer.headers
        assert stage.app.api.held == {"tenant sales": 600}


def test_one_tenant_does_not_take_the_room_of_all_bodies() -> None:
    limits = ApiSettings(threads=False, tenant_bodies_bytes=1000, bodies_bytes=10_000)
    with Stage(settings=limits) as stage:
        stage.app.api.held["tenant vision"] = 600
        answer = stage.ask("POST", "/v1/jobs", "vision", body=b"x" * 500)
        assert (answer.status, answer.kind) == (429, "too_many")
        assert stage.app.api.held == {"tenant vision": 600}
        assert stage.ask("POST", "/v1/jobs", "sales", body=b"x" * 500).status == 400


def test_a_body_counts_until_its_request_is_answered() -> None:
    with Stage(settings=ApiSettings(threads=False)) as stage:
        held = list[dict[str, int]]()
        step = stage.service.step

        def seen(*words: Any, **more: Any) -> Any:
            held.append(dict(stage.app.api.held))
            return step(*words, **more)

        stage.service.step = seen  # type: ignore[method-assign]  # what the loop does of it
        body = json.dumps({"jobs": [job("j", "vision")]}).encode()
        assert stage.ask("POST", "/v1/jobs", "vision", body=body).status == 201
        assert held == [{"tenant vision": len(body)}]
        assert not stage.app.api.held


@pytest.mark.parametrize(
    "few",
    [
        ApiSettings(threads=False, tenant_bodies_bytes=1000),
        ApiSettings(threads=False, bodies_bytes=1000),
    ],
)
def test_a_body_that_never_has_room_is_not_told_to_wait(few: ApiSettings) -> None:
    with Stage(settings=few) as stage:
        answer = stage.ask("POST", "/v1/jobs", body=b"x" * 2000)
        assert (answer.status, answer.kind) == (413, "too_large")
        assert b"longer than 1000 bytes" in answer.body
        assert "retry-after" not in answer.headers


def test_who_showed_no_token_sends_no_more_than_a_head() -> None:
    with Stage() as stage:
        body = b'{"token": "%s"}' % (b"x" * stage.app.api.settings.head_bytes)
        answer = stage.ask("POST", "/v1/session", body=body, headers=JSON, token=None)
        assert (answer.status, answer.kind) == (413, "too_large")


def test_mistakes_are_counted_where_there_are_too_many_to_tell() -> None:
    with Stage() as stage:
        answer = stage.ask("POST", "/v1/cancel", body={"jobs": [1] * 2000})
        assert (answer.status, answer.kind) == (422, "invalid")
        assert b"2000 values are not what they are to be" in answer.body


@pytest.mark.parametrize(("path", "values"), [("/v1/cancel", 100_002), ("/v1/jobs", 500_002)])
def test_a_body_of_more_values_than_anybody_needs_is_not_read(path: str, values: int) -> None:
    with Stage() as stage:
        body = b'{"jobs": [%s]}' % b",".join([b"1"] * values)
        answer = stage.ask("POST", path, body=body, headers=JSON)
        assert (answer.status, answer.kind) == (413, "too_large")


PATHS = [
    "/v1/jobs/../tokens",
    "/v1/jobs/..%2ftokens",
    "/v1/jobs/%2e%2e/tokens",
    "/v1/jobs/%00",
    "/v1/jobs/%0a",
    "/v1/jobs/%ff",
    "/v1/jobs/%ed%a0%80",
    "/v1/jobs/%",
    "/v1/jobs/" + "x" * 5000,
    "/v1/jobs/a/tasks/99999999999999999999",
    "/v1/jobs/a/tasks/-1",
    "/v1/jobs/a/tasks/0x0",
    "/v1/jobs/a/tasks/0/output?offset=1e9",
    "/v1/jobs/a/tasks/0/output?offset=99999999999999999999999",
    "/v1/jobs/a/tasks/0/output?attempt=0",
    "/v1/jobs/a/tasks/0/output?stream=../../etc/passwd",
    "/v1/jobs/a/tasks/0/output?limit=-1",
    "/v1/jobs//tasks",
    "//v1/jobs",
    "/v1/jobs/",
    "/v1/../v1/jobs",
    "/openapi.json/",
    "/static/../../etc/passwd",
]


@pytest.mark.parametrize("path", PATHS)
def test_an_address_that_means_harm_leads_nowhere(stage: Stage, path: str) -> None:
    stage.submit("a", "vision")
    before = digest(stage)
    refused(stage.get(path))
    assert digest(stage) == before


@pytest.mark.parametrize("size", [100, 5000, 100_000])
def test_a_token_of_any_length_is_looked_at_quickly(stage: Stage, size: int) -> None:
    for text in ("x" * size, "fl_root_" + "x" * size, "fl_" + "_" * size, "fl_\xff"):
        answer = stage.get("/v1/me", text)
        assert answer.status in ((400,) if len(text) >= 100_000 else (401, 429))


def test_two_tokens_in_one_request_are_none(stage: Stage) -> None:
    for header in ("", "Basic cm9vdDo=", "Bearer", "Bearer  ", "bearer x"):
        assert stage.get("/v1/me", None, headers={"Authorization": header}).status == 401


def test_who_guesses_tokens_is_slowed_down_and_others_are_not() -> None:
    with Stage(settings=ApiSettings(threads=False, guess_burst=5)) as stage:
        answers = [stage.get("/v1/me", "fl_root_x").status for _ in range(10)]
        assert answers == [401] * 5 + [429] * 5
        assert stage.get("/v1/me", "root").status == 200
        stage.time += 1.5
        assert stage.get("/v1/me", "fl_root_x").status == 401


def test_a_token_and_an_address_have_so_many_requests() -> None:
    few = ApiSettings(threads=False, token_burst=5, token_rate=2, address_burst=50, address_rate=1)
    with Stage(settings=few) as stage:
        answers = [stage.get("/v1/me", "vision") for _ in range(7)]
        assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
        assert answers[-1].headers["retry-after"] == "1"
        assert stage.get("/v1/me", "sales").status == 200
        stage.time += 1
        assert [stage.get("/v1/me", "vision").status for _ in range(3)] == [200, 200, 429]
        statuses = {stage.get("/v1/health", None).status for _ in range(60)}
        assert statuses == {200, 429}


def test_a_tenant_has_so_many_jobs_and_tasks_and_others_are_not_kept_out() -> None:
    few = Limits(jobs_per_tenant=3, tasks_per_tenant=100, tasks_per_job=60)
    with Stage(limits=few) as stage:
        assert stage.submit("big", "vision", 61).status == 422
        assert stage.submit("a", "vision", 60).status == 201
        refusals = [
            stage.submit("b", "vision", 41),
            stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job(f"c{i}") for i in range(3)]}),
        ]
        for answer in refusals:
            assert (answer.status, answer.kind) == (429, "too_many")
            assert "retry-after" in answer.headers
        never = [job(f"c{i}") for i in range(4)]
        answer = stage.ask("POST", "/v1/jobs", "sales", {"jobs": never})
        assert (answer.status, answer.kind) == (422, "invalid")
        assert b"may have 3 unfinished jobs at most: 4 at once are never taken" in answer.body
        assert stage.submit("d", "sales", 60).status == 201
        assert [one["name"] for one in stage.get("/v1/jobs").tree["jobs"]] == ["a", "d"]


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw() -> None:
    few = ApiSettings(threads=False, address_burst=3, address_rate=0.001)
    with Stage(settings=few, behind_proxy=True) as stage:
        for claimed in range(3):
            seen = {"X-Forwarded-For": f"10.0.0.{claimed}, 192.0.2.1"}
            assert stage.get("/v1/health", None, headers=seen).status == 200
        same = {"X-Forwarded-For": "192.0.2.1"}
        assert stage.get("/v1/health", None, headers=same).status == 429
        other = {"X-Forwarded-For": "192.0.2.1, 192.0.2.2"}
        assert stage.get("/v1/health", None, headers=other).status == 200
    with Stage(settings=few) as stage:  # nobody is in front: what is claimed counts for nothing
        statuses = [
            stage.get("/v1/health", None, headers={"X-Forwarded-For": f"10.0.0.{claimed}"}).status
            for claimed in range(4)
        ]
        assert statuses == [200, 200, 200, 429]


def test_who_takes_much_of_the_loops_time_waits_and_others_do_not() -> None:
    ticks = count()
    with Stage(settings=ApiSettings(threads=False, reading_burst=2, reading_rate=0.5)) as stage:
        stage.app.api.stopwatch = lambda: float(next(ticks))  # each look takes a second
        assert [stage.get("/v1/jobs", "vision").status for _ in range(4)] == [200, 200, 200, 429]
        given = {"jobs": [job("a")]}
        answer = stage.ask("POST", "/v1/jobs", "vision", given)
        assert (answer.status, answer.headers["retry-after"]) == (429, "2")
        assert stage.get("/v1/jobs?all=true", "sales").tree["jobs"] == []
        stage.time += 3  # half a second's worth: enough to be let in
        # What was done is told, though the loop's time is used up meanwhile.
        assert stage.ask("POST", "/v1/jobs", "vision", given).status == 201
        assert stage.ask("POST", "/v1/jobs/a/cancel", "vision").status == 429
        stage.time += 4
        assert stage.ask("POST", "/v1/jobs/a/cancel", "vision").tree["state"] == "cancelled"
        assert stage.get("/v1/ready", None).status == 200


def test_reasons_and_what_ifs_are_few_for_each_token() -> None:
    few = ApiSettings(threads=False, heavy_burst=2, heavy_rate=0.1)
    with Stage(settings=few) as stage:
        stage.submit("a", "vision")
        assert [stage.get("/v1/jobs/a/why", "vision").status for _ in range(3)] == [200, 200, 429]
        assert stage.get("/v1/jobs/a/why", "research").status == 200


@pytest.mark.parametrize(
    "asked",
    [
        {"add": ["99999999999 x m0"]},
        {"add": ["20000 x m0"]},
        {"remove": ["m[0-99999999]"]},
        {"weight": ["vision=1e99999999"]},
        {"weight": ["vision=0"]},
        {"set_demand": ["a:cpu=-1"]},
        {"set_demand": ["\0"]},
        {"add": ["1 x m0"] * 101},
        {"add": "1 x m0"},
        {"colour": ["red"]},
        {},
    ],
)
def test_a_what_if_that_means_harm_is_refused(stage: Stage, asked: dict[str, Any]) -> None:
    stage.submit("a", "vision")
    refused(stage.ask("POST", "/v1/whatif", body=asked))


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "../../etc", "role": "admin"},
        {"name": "", "role": "admin"},
        {"name": "a_b", "role": "admin"},
        {"name": "A", "role": "admin"},
        {"name": "a", "role": "god"},
        {"name": "a", "role": "admin", "tenant": "vision"},
        {"name": "a", "role": "tenant"},
        {"name": "a", "role": "tenant", "tenant": "nobody"},
        {"name": "a", "role": "viewer", "hash": "x"},
        {"name": "root", "role": "viewer"},
        {"name": "a" * 65, "role": "viewer"},
        {"name": "a\n", "role": "viewer"},
    ],
)
def test_a_token_that_cannot_be_is_not_made(stage: Stage, asked: dict[str, Any]) -> None:
    before = digest(stage)
    refused(stage.ask("POST", "/v1/tokens", body=asked))
    assert digest(stage) == before


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)

FIELDS = list(JOB.fields)

JOBS = st.fixed_dictionaries(
    {}, optional={name: TREES | st.sampled_from([1, "1", "a", {"cpu": 1}]) for name in FIELDS}
)


@pytest.fixture(scope="module")
def lasting_stage() -> Any:
    with Stage(
        settings=ApiSettings(threads=False, token_burst=1e9, address_burst=1e9, heavy_burst=1e9)
    ) as made:
        yield made


@given(jobs=st.lists(JOBS, max_size=3))
def test_fuzzed_jobs_are_taken_or_refused_with_sentences(
    lasting_stage: Stage, jobs: list[Any]
) -> None:
    before = len(lasting_stage.service.records.jobs)
    answer = lasting_stage.ask("POST", "/v1/jobs", body={"jobs": jobs})
    if answer.status == 201:
        assert len(lasting_stage.service.records.jobs) == before + len(jobs)
    else:
        refused(answer)
        assert len(lasting_stage.service.records.jobs) == before


@given(body=st.binary(max_size=200) | st.text(string.printable, max_size=200).map(str.encode))
def test_fuzzed_bytes_are_refused(lasting_stage: Stage, body: bytes) -> None:
    for route in ROUTES:
        if route.body is not None:
            path = route.path.format(job="a", tenant="sales")
            for headers in (JSON, YAML):
                refused(lasting_stage.ask(route.method, path, body=body, headers=headers))


@given(tree=TREES)
def test_fuzzed_trees_are_refused_everywhere(lasting_stage: Stage, tree: Any) -> None:
    for route in ROUTES:
        if route.body is not None and route.name != "put_tenant":
            path = route.path.format(job="a", tenant="sales")
            refused(lasting_stage.ask(route.method, path, body=tree))


@given(text=st.text(min_size=1, max_size=40))
def test_fuzzed_addresses_are_answered(lasting_stage: Stage, text: str) -> None:
    name = quote(text.encode("utf-8", "replace"), safe="")
    for route in ROUTES:
        if "{" in route.path and route.method == "GET" and route.access is not Access.ADMIN:
            named = re.findall(r"{(\w+)}", route.path)
            path = route.path.format(**dict.fromkeys(named, name))
            answer = lasting_stage.get(path)
            assert answer.status in (200, 404, 422), (path, answer)


@pytest.mark.parametrize("key", ["machines", "exclude"])
def test_names_of_a_job_that_is_asked_about_are_counted_before_they_are_written_out(
    stage: Stage, key: str
) -> None:
    asked = {"demand": {"cpu": 1}, key: [f"{letter}[0-9999]" for letter in "abcdef"]}
    answer = stage.ask("POST", "/v1/can-run", "vision", asked)
    assert answer.status == 422
    assert "more than 50000 names" in answer.messages[0]


@given(text=st.text("a[]-,0123456789", max_size=30))
@settings(max_examples=500)
def test_no_range_means_more_names_than_it_is_taken_for(text: str) -> None:
    if count_in_text(text) > 10_000:
        return
    try:
        names = expand(text)
    except InputError:
        return
    assert len(names) <= count_in_text(text)


@pytest.mark.parametrize("path", ["/v1/me", f"/v1/jobs?prefix={'x' * 20_000}"])
def test_a_head_that_is_too_long_is_refused_however_it_comes(path: str) -> None:
    most = ApiSettings(threads=False, head_bytes=21_000)
    with Stage(settings=most) as stage:
        assert stage.get("/v1/me", headers={"X-Long": "y" * 20_000}).status == 200
        answer = stage.get(path, headers={"X-Long": "y" * 21_000})
        assert (answer.status, answer.kind) == (400, "bad_request")
        assert answer.headers["connection"] == "close"


def test_commas_in_texts_part_no_values() -> None:
    with Stage() as stage:
        jobs = [job(name, command='x "' + "," * 100_002) for name in "abcde"]
        body = json.dumps({"jobs": jobs}).encode()
        answer = stage.ask("POST", "/v1/jobs", body=body, headers=JSON)
        assert answer.status == 201
        body = b'{"jobs": ["%s"' % (
            b"\\" * 500_002
        )  # and none that ends nowhere is looked at twice
        assert stage.ask("POST", "/v1/jobs", body=body, headers=JSON).status == 400


def test_half_a_character_in_an_error_of_a_task_is_in_every_answer_a_question_mark() -> None:
    """A function raises what it likes: nobody's pages of that job were answered."""
    why = "ValueError: half \ud800 of one"
    with Stage(fates=lambda _: Fate(1, code=1, message=why)) as stage:
        stage.submit("a", "vision")
        for _ in range(3):
            stage.step()
        for path in ("/v1/jobs/a", "/v1/jobs/a/tasks", "/v1/jobs/a/why"):
            answer = stage.get(path)
            assert answer.status == 200
            assert b"half ? of one" in answer.body
        stage.world.trouble("m0", why)
        stage.step(60)
        assert b"half ? of one" in stage.get("/v1/machines").body
