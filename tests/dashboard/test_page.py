"""The page of an allocation: drawn from its own data, whatever people named things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import as_file
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fairlead.cli.common.inputs import read
from fairlead.cli.main import Exit, main
from fairlead.dashboard.page import FOLDER, page
from fairlead.dashboard.picture import picture
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.simulation.report.making import Report
from tests.dashboard.eyes import WIDTHS, barred, widest
from tests.transcripts import EXAMPLES

GENERATIONS = [str(EXAMPLES / "gpu-generations" / name) for name in ("cluster.yaml", "jobs.yaml")]

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

HEBREW = "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER PE}\N{HEBREW LETTER HE}"

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def generations(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("pages") / "shares.html"
    assert main(["allocate", *GENERATIONS, "--quiet", "--html", str(file)]) == Exit.OK
    return file.as_uri()


def test_the_water_rises_level_by_level(generations: str, open_page: Opened) -> None:
    shown = open_page(generations)
    allocation = allocate(*read(GENERATIONS))
    story = shown.locator(".story")
    slider = shown.get_by_label("level")
    for index in reversed(range(len(allocation.levels))):
        expect(story).to_have_text(re.compile(rf"^Level {index + 1} of 4, share "))
        stops = [stop for level in allocation.levels[: index + 1] for stop in level.stopped_by]
        full = {stop.machine_class for stop in stops if stop.resource == "gpu" and not stop.tenant}
        expect(shown.locator(".stop")).to_have_count(len(full))
        slider.press("ArrowLeft")
    shown.get_by_label("resource").select_option("cpu")
    expect(shown.locator(".vessels svg")).to_have_attribute("aria-label", re.compile("cpu"))
    shown.get_by_label("resource").select_option("gpu")
    shown.get_by_text("gpu-model h100", exact=True).wait_for()  # not cut


def test_an_answer_without_levels_is_drawn(tmp_path: Path, open_page: Opened) -> None:
    file = tmp_path / "market.html"
    words = ["--policy", "market", "--quiet", "--html", str(file)]
    assert main(["allocate", *GENERATIONS, *words]) == Exit.OK
    shown = open_page(file.as_uri())
    expect(shown.locator(".vessels .segment").nth(3)).to_be_attached()
    shown.locator(".detail").filter(has_text="It stops nobody").wait_for()


def test_machines_are_chosen_by_keyboard(generations: str, open_page: Opened) -> None:
    shown = open_page(generations)
    detail = shown.locator(".detail")  # which is filled frames after the page is there
    detail.filter(has_text="language, vision could run here and want more").wait_for()
    shown.get_by_role("button", name="20 machines · v[01-20]").press("Enter")
    expect(detail).to_contain_text("It stops robotics at share 0.3883")
    expect(detail).to_contain_text("640 cpu: robotics 640.")
    expect(detail).to_contain_text("robotics could run here and wants more.")


def test_nothing_is_wider_than_the_screen_and_nothing_serious_bars_anyone(
    generations: str, open_page: Opened
) -> None:
    shown = open_page(generations)
    for width in WIDTHS:
        assert widest(shown, width) <= width
        assert barred(shown) == []


def test_names_are_never_markup_and_who_is_above_has_the_colours_of_those_below(
    tmp_path: Path, open_page: Opened
) -> None:
    cluster = Cluster(
        [Machine("m1", {"cpu": 4}, {"zone": HOSTILE}), Machine("m2", {"cpu": 4})],
        [Tenant("above"), Tenant(HOSTILE, parent="above"), Tenant("b", parent="above")],
    )
    jobs = (Job("a", {"cpu": 1}, tenant=HOSTILE), Job("b", {"cpu": 1}, tenant="b"))
    file = tmp_path / "hostile.html"
    tree = picture(cluster, jobs, allocate(cluster, jobs))
    file.write_text(page(HOSTILE, "allocation_page", tree), encoding="utf-8")
    shown = open_page(file.as_uri())
    assert shown.locator("h1").inner_text() == HOSTILE
    expect(shown.locator("tbody")).to_contain_text(HOSTILE)
    expect(shown.locator("img, script:not([type])")).to_have_count(0)
    drawn = {
        row.locator("th").inner_text(): [
            (rect.get_attribute("fill"), float(rect.get_attribute("width") or 0))
            for rect in row.locator(".bar rect").all()
        ]
        for row in shown.locator(".shares tbody tr").all()
    }
    (first, _), (second, _) = drawn["above"]
    assert first != second
    assert {first, second} == {drawn[name][0][0] for name in (HOSTILE, "b")}
    assert {width for _, width in drawn["above"]} == {drawn["b"][0][1] / 2}  # of the same share


@pytest.mark.parametrize("capacity", [{}, {"cpu": 0}])
def test_machines_that_have_nothing_are_drawn(
    capacity: dict[str, int], tmp_path: Path, open_page: Opened
) -> None:
    cluster, jobs = Cluster([Machine("m1", capacity)]), (Job("a", {"cpu": 1}),)
    file = tmp_path / "nothing.html"
    tree = picture(cluster, jobs, allocate(cluster, jobs))
    file.write_text(page("nothing", "allocation_page", tree), encoding="utf-8")
    shown = open_page(file.as_uri())
    expect(shown.locator(".shares")).to_contain_text("can never run")
    shown.get_by_role("button", name="1 machine · m1").press("Enter")
    expect(shown.locator(".vessels")).to_contain_text("No machine has")
    shown.locator(".detail").filter(has_text="m1").wait_for()


def test_long_names_are_broken_where_the_screen_ends(tmp_path: Path, open_page: Opened) -> None:
    long = "HofLGzk1Or/8Ildj2+" * 3
    machines = [Machine(f"{number}{long}", {"cpu": 4}, {"platform": long}) for number in (1, 7)]
    cluster = Cluster(machines, [Tenant(long)])
    jobs = (Job("a", {"cpu": 1}, tenant=long, machines=[machines[0].name]),)
    file = tmp_path / "long.html"
    tree = picture(cluster, jobs, allocate(cluster, jobs))
    file.write_text(page(long, "allocation_page", tree), encoding="utf-8")
    shown = open_page(file.as_uri(), width=400)
    expect(shown.locator(".detail h3")).to_contain_text(long)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 400
    cell = shown.locator(".why").last.bounding_box()
    assert cell is not None
    assert cell["width"] < 400
    assert cell["height"] < 90


IN_ORDER = """([element, first, second]) => {
    const at = text => {
        const words = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (words.nextNode()) {
            const from = words.currentNode.data.indexOf(text);
            if (from < 0) continue;
            const range = document.createRange();
            range.setStart(words.currentNode, from);
            range.setEnd(words.currentNode, from + text.length);
            return range.getBoundingClientRect();
        }
    };
    return at(first).right <= at(second).left + 1;
}"""
"""Whether one text stands left of another one, as the page draws them."""


def test_a_number_stands_behind_a_name_that_is_written_from_right_to_left(
    tmp_path: Path, open_page: Opened
) -> None:
    cluster = Cluster(
        [Machine("m", {"cpu": 8})], [Tenant("a"), Tenant(HEBREW, weight=2), Tenant("z")]
    )
    jobs = tuple(Job(f"of-{name}", {"cpu": 1}, tenant=name) for name in ("a", HEBREW, "z"))
    file = tmp_path / "hebrew.html"
    tree = picture(cluster, jobs, allocate(cluster, jobs))
    file.write_text(page("hebrew", "allocation_page", tree), encoding="utf-8")
    shown = open_page(file.as_uri())
    held = shown.locator(".detail p", has_text=" 4, ").element_handle()
    assert shown.evaluate(IN_ORDER, [held, HEBREW, "4, "])


def test_no_name_is_cut_in_the_midst_of_a_letter(tmp_path: Path, open_page: Opened) -> None:
    names = ["\N{FOX FACE}" * 30, "a" + "\N{FOX FACE}" * 30]
    cluster = Cluster([Machine("m", {"cpu": 8})], [Tenant(name) for name in names])
    jobs = tuple(Job(name[0], {"cpu": 1}, tenant=name) for name in names)
    file = tmp_path / "foxes.html"
    tree = picture(cluster, jobs, allocate(cluster, jobs))
    file.write_text(page("foxes", "allocation_page", tree), encoding="utf-8")
    shown = open_page(file.as_uri())
    shown.locator(".detail").filter(has_text="\N{FOX FACE}…").wait_for()
    assert shown.evaluate("document.body.textContent.isWellFormed()")


def test_many_classes_and_tenants_are_drawn(tmp_path: Path, open_page: Opened) -> None:
    names = [f"t{number:02}" for number in range(60)]
    machines = [Machine(f"m{number:02}", {"cpu": 2 + number % 5}) for number in range(40)]
    jobs = tuple(
        Job(f"j-{name}", {"cpu": 1}, tenant=name, machines=[f"m{number % 40:02}", "m07"])
        for number, name in enumerate(names)
    )
    cluster = Cluster(machines, [Tenant(name) for name in names])
    file = tmp_path / "many.html"
    file.write_text(
        page("many", "allocation_page", picture(cluster, jobs, allocate(cluster, jobs)))
    )
    shown = open_page(file.as_uri())
    expect(shown.locator(".vessel")).to_have_count(40)
    # Their names, as each has room for a number.
    expect(shown.locator(".kinds li")).to_have_count(40)
    expect(shown.locator(".kinds li").first).to_contain_text("1 machine, 6 cpu, full")
    expect(shown.locator("tbody tr")).to_have_count(40)
    shown.get_by_role("button", name="Show 20 more").click()
    expect(shown.locator("tbody tr")).to_have_count(60)
    expect(shown.locator(".edges text").filter(has_text="others")).to_have_count(1)


@pytest.mark.parametrize("command", ["allocate", "compare", "audit"])
def test_the_page_is_not_written_over_its_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    text = Path(GENERATIONS[0]).read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    assert main([command, str(file), GENERATIONS[1], "--html", str(file)]) == Exit.BAD_INPUT
    assert "--html" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == text


def test_policies_are_drawn_side_by_side(tmp_path: Path, open_page: Opened) -> None:
    file = tmp_path / "comparison.html"
    words = ["--policies", "tsf,drf,market,kdf(k=9)", "--html", str(file)]
    assert main(["compare", *GENERATIONS, *words]) == Exit.OK
    shown = open_page(file.as_uri(), width=360)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    rows = shown.locator(".comparison tbody tr")
    expect(rows.first).to_contain_text("pretrain")  # under drf it changes most
    expect(rows.first).to_contain_text("+42.1%")
    expect(shown.locator(".water .story")).to_have_text(re.compile("^Level 4 of 4"))
    warning = shown.locator(".warning", has_text="kdf(k=9) cannot")
    expect(warning).to_contain_text("3 more reasons")
    chosen = shown.locator(".chosen-policy").bounding_box()
    drawn = shown.locator(".chosen-policy + div").bounding_box()
    assert chosen is not None
    assert drawn is not None
    assert chosen["y"] + chosen["height"] <= drawn["y"]  # warnings that stand there are not covered
    shown.get_by_label("Drawn").select_option(label="market")
    expect(shown.locator(".water .story")).to_have_count(0)  # a mechanism fills no levels
    expect(shown.locator(".shares")).to_contain_text("Policy market")
    assert barred(shown) == []


def test_verdicts_are_drawn_with_what_shows_them(
    tmp_path: Path, open_page: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.html"
    words = ["--policy", "tsf,drf", "--property", "dummy-machines,envy-freeness", "--json"]
    assert main(["audit", *GENERATIONS, *words, "--html", str(file)]) == Exit.OK
    results = json.loads(capsys.readouterr().out)["results"]
    broken = [one for one in results if one["verdict"] == "violated"]
    assert broken
    shown = open_page(file.as_uri(), width=360)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    expect(shown.locator(".verdicts .stops")).to_have_count(len(broken))
    expect(shown.locator(".violations article")).to_have_count(len(broken))
    expect(shown.locator(".violations")).to_contain_text(broken[0]["sentence"])
    # What is said of one policy alone is not read as said of all.
    expect(shown.locator("li", has_text="envy-freeness (drf): ")).to_have_count(1)
    assert barred(shown) == []


def test_only_verdicts_on_an_input_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--replay", "witness.json"]
    assert main(["audit", *words, "--html", "audit.html"]) == Exit.BAD_INPUT
    assert "--html draws the verdicts on an input" in capsys.readouterr().err


def test_modules_load_nothing_from_elsewhere_and_write_no_markup() -> None:
    with as_file(FOLDER) as folder:
        texts = [file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file()]
    assert len(texts) > 10
    for text in texts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text
        )
        found = set(re.findall(r"https?://[^\"'\s]+", text))
        assert found <= {"http://www.w3.org/2000/svg"}


STUDY_CLUSTER = """\
machines:
  - {name: "h[1-2]", capacity: {cpu: 4}, labels: {kind: fast}}
  - {name: "v[1-2]", capacity: {cpu: 4}, labels: {kind: slow}}
tenants: [{name: NAME}, {name: other}]
jobs:
  - {name: a, tenant: NAME, demand: {cpu: 1}, tasks: 20, duration: 40m, where: kind = fast}
  - {name: b, tenant: other, demand: {cpu: 1}, tasks: 30, duration: 30m, arrive: 10m}
"""


def test_the_page_of_a_study_draws_its_runs_and_the_moment_at_which_most_wait(
    tmp_path: Path,
    open_page: Opened,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The charts as files take longer than all else, and are looked at where the command is.
    monkeypatch.setattr(Report, "files", lambda _: {})
    study = tmp_path / "study"
    file = tmp_path / f"{HOSTILE[:20].replace('/', '')}.yaml"
    name = f"{HOSTILE} {HEBREW}"
    file.write_text(STUDY_CLUSTER.replace("NAME", json.dumps(name)), encoding="utf-8")
    words = ["--policies", "tsf,fifo", "--distance", "10m", "--sample", "1m", "--workers", "1"]
    assert main(["simulate", str(file), *words, "--out", str(study)]) == Exit.OK
    assert main(["report", str(study)]) == Exit.OK
    capsys.readouterr()
    shown = open_page((study / "report" / "index.html").as_uri())
    charts = shown.locator(".charts svg[role=img]")
    # Delays, waits, completions, sizes, two of shares, use, distance.
    expect(charts).to_have_count(8)
    pasts = shown.locator(".pasts figure")
    expect(pasts).to_have_count(2)
    past = pasts.filter(has_text=name)
    expect(past).to_have_count(1)
    caption = past.locator("figcaption")
    numbers = re.search(r"\S+ of \S+$", caption.inner_text())
    assert numbers is not None
    assert shown.evaluate(IN_ORDER, [caption.element_handle(), HEBREW, numbers[0]])
    lack = shown.locator(".pasts .lack").first
    expect(lack).to_have_attribute("d", re.compile("."))  # somebody lacked something
    cluster, jobs = read([str(next(study.glob("tsf*/moment.yaml")))])
    exact = {one.name: one.share for one in allocate(cluster, jobs, "tsf").tenants}
    row = shown.locator(".fair tbody tr").filter(has_text="other")
    expect(row.locator("td.number").first).to_have_text(f"{exact['other']:.4g}")
    expect(shown.locator(".vessels svg")).to_have_count(1)
    expect(shown.locator(".edges svg")).to_have_count(1)
    expect(shown.locator("main img")).to_have_count(0)
    assert barred(shown) == []
    for width in WIDTHS:
        assert widest(shown, width) <= width
