"""The report of a study: its numbers, its plots, its page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.names import natural
from fairlead.simulation.report import figures
from fairlead.simulation.report.charts import Chart
from fairlead.simulation.report.figures import Curve, Jobs, Size
from fairlead.simulation.report.making import Report, report_of, tables_of
from fairlead.simulation.report.plots import around_one, cdfs, lines
from fairlead.simulation.report.reading import Run, read_folder
from fairlead.simulation.report.words import digits, duration, percent, times
from tests.simulation.report.folders import KINDS, kept_study
from tests.surroundings import said_under_another_hash_seed


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is in `study`, and in `csv` the same with its tables as CSV."""
    return kept_study(tmp_path_factory)


@pytest.fixture(scope="module")
def folder(place: Path) -> Path:
    return place / "study"


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return report_of(read_folder(folder))


@pytest.fixture(scope="module")
def files(report: Report) -> dict[str, bytes]:
    return report.files()


def charts_of(report: Report) -> list[Chart]:
    return [chart for _, group in report.charts for chart in group]


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy with one run, to be spoilt."""
    own = tmp_path / "own"
    shutil.copytree(folder, own, ignore=shutil.ignore_patterns("*,1", "drfh*"))
    return own


def test_runs_are_read_with_tsf_first(folder: Path) -> None:
    found = read_folder(folder)
    assert [(run.policy, run.seed) for run in found.runs] == [("tsf", 0), ("tsf", 1), ("drfh", 0)]
    assert list(found.series()) == ["tsf", "drfh"]
    assert found.workload == "table-ii"


def test_a_time_of_few_samples_says_so(folder: Path) -> None:
    runs = read_folder(folder).runs
    hourly = [replace(run, result=run.result | {"sampled": 3600 * 10**6}) for run in runs]
    assert figures.few_samples(hourly, 2.5 * 3600) == (
        " Samples are 60.0 min apart, so that is from 3 of them: `fairlead simulate --sample TIME`"
        " takes more."
    )
    assert figures.few_samples(hourly, 30 * 3600) == ""
    assert figures.few_samples(hourly, inf) == ""


def test_another_policy_comes_first_if_asked(folder: Path) -> None:
    assert list(read_folder(folder, "drfh").series()) == ["drfh", "tsf"]
    with pytest.raises(InputError, match="no run of the policy fifo; it has drfh, tsf"):
        read_folder(folder, "fifo")


def test_runs_of_several_placements_are_told_apart(own: Path) -> None:
    (file,) = own.glob("*/run.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    content["result"]["placement"] = "best-fit"
    other = own / "tsf,best-fit,0"
    other.mkdir()
    (other / "run.json").write_text(json.dumps(content), encoding="utf-8")
    assert list(read_folder(own).series()) == ["tsf, best-fit", "tsf, ideal-restricted"]


def test_the_table_has_a_line_for_each_policy_with_its_numbers(folder: Path) -> None:
    main, speed = tables_of(read_folder(folder))
    rows = {row[0]: dict(zip(main.header, row, strict=True)) for row in main.rows}
    assert rows["tsf"]["runs"] == "2"
    assert rows["tsf"]["jobs"] == rows["tsf"]["finished"] == "8"
    # Jobs 1 and 2 of Table II find free nodes or nodes that are soon free.
    assert rows["tsf"]["RMSE"].endswith("%")
    assert 90 < float(rows["tsf"]["cpu used"].rstrip("%")) <= 100
    assert speed.header == ("tasks", "jobs", "drfh")
    assert [row[0] for row in speed.rows] == ["11–100", "101–500", "> 500"]


def test_columns_have_names_of_their_own(folder: Path) -> None:
    for table in tables_of(read_folder(folder)):
        assert len(set(table.header)) == len(table.header)


def test_csv_tables_give_the_same_report_as_parquet(place: Path, report: Report) -> None:
    assert list((place / "csv").glob("*/jobs.csv"))
    assert not list((place / "csv").rglob("*.parquet"))
    found = report_of(read_folder(place / "csv"))
    assert found.tree() == report.tree()
    for one, other in zip(charts_of(found), charts_of(report), strict=True):
        for curve, same in zip(one.curves, other.curves, strict=True):
            assert np.array_equal(curve.x, same.x)
            assert np.array_equal(curve.y, same.y)


def test_the_same_folder_gives_the_same_bytes_under_any_hash_seed(
    folder: Path,
    report: Report,
    files: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All numbers; of the plots one of each kind that is drawn in its own way.
    script = (
        "import json, sys; from dataclasses import replace; from pathlib import Path;"
        "from fairlead.simulation.report.making import report_of, write;"
        "from fairlead.simulation.report.reading import Run, read_folder;"
        "report = report_of(read_folder(Path(sys.argv[1])));"
        "some = [(title, [each for each in group if each.name in sys.argv[3:]])"
        " for title, group in report.charts];"
        "write(replace(report, charts=some), json.dumps(report.tree()), Path(sys.argv[2]))"
    )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    said_under_another_hash_seed("-c", script, str(folder), str(tmp_path), *KINDS)
    found = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert found.pop("index.html").decode() == json.dumps(report.tree())
    assert found == {name: files[name] for name in found}
    assert set(found) == {f"{plot}.{ending}" for plot in KINDS for ending in ("png", "svg")}


def test_what_a_tenant_lacked_is_told_where_the_distance_was_measured(
    report: Report, own: Path
) -> None:
    pasts = report.pasts
    assert pasts is not None
    tenants = pasts["tenants"]
    assert isinstance(tenants, list)
    # Job 2 is over between two samples.
    assert {each["name"] for each in tenants} == {"job-1", "job-3", "job-4"}
    lacked = [
        sum(max(point["fair"] - point["share"], 0) for point in each["points"]) for each in tenants
    ]
    assert lacked == sorted(lacked, reverse=True)
    assert max(lacked) > 0
    next(own.glob("*/fair.parquet")).unlink()
    assert report_of(read_folder(own)).pasts is None


PLOTS = (
    *("delays", "waits", "completions", "speed-ups", "shares-1", "shares-2"),
    *("used-cpu", "used-memory", "distance"),
)


def test_every_plot_is_there_as_png_and_svg(files: dict[str, bytes]) -> None:
    assert set(files) == {f"{p}.{e}" for p in PLOTS for e in ("png", "svg")}
    for plot in PLOTS:
        assert files[f"{plot}.png"].startswith(b"\x89PNG")
        assert "<svg" in files[f"{plot}.svg"].decode()


def test_a_run_without_some_tables_has_the_rest(own: Path) -> None:
    for name in ("tasks", "shares", "distance"):
        next(own.glob(f"*/{name}.parquet")).unlink()
    plots = ["delays", "completions", "used-cpu", "used-memory"]
    assert [chart.name for chart in charts_of(report_of(read_folder(own)))] == plots


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: (path / "study.json").unlink(), "holds no study"),
        (lambda path: [file.unlink() for file in path.glob("*/run.json")], "no run of the study"),
        (
            lambda path: next(path.glob("*/run.json")).write_text('{"schema": "other/9"}'),
            "is other/9, not fairlead.simulation.run/1",
        ),
        (lambda path: next(path.glob("*/run.json")).write_text("{"), "this is not JSON"),
        (lambda path: next(path.glob("*/run.json")).write_bytes(b"\xff"), "cannot be read"),
        (
            lambda path: next(path.glob("*/run.json")).write_text(
                '{"schema": "fairlead.simulation.run/1"}'
            ),
            "lacks 'result'",
        ),
        (
            lambda path: next(path.glob("*/jobs.parquet")).write_bytes(b"PAR1 not"),
            "jobs.parquet cannot be read",
        ),
    ],
)
def test_what_is_not_a_study_is_refused_with_a_sentence(
    own: Path, spoil: Callable[[Path], object], sentence: str
) -> None:
    spoil(own)
    with pytest.raises(InputError, match=sentence):
        report_of(read_folder(own))


# --- numbers --------------------------------------------------------------------------------


def jobs(tasks: list[int], took: list[float], start: int = 0) -> Jobs:
    number = np.arange(start, start + len(tasks))
    return Jobs(
        (np.zeros(len(tasks), np.int64), number),
        np.array(tasks, np.float64),
        np.zeros(len(tasks)),
        np.array(took, np.float64),  # all are submitted at 0
        np.array(took, np.float64),
        np.ones(len(tasks)),
    )


def ends_at(folder: Path, seconds: float) -> Run:
    return Run(folder, "tsf", "best-fit", 0, "table-ii", (), {"end": int(seconds * 1e6)})


@pytest.mark.parametrize(
    ("took", "end", "until"),
    [
        ([1.0] * 97 + [5.0, 90.0, 100.0], 100.0, 5.0),
        ([1.0] * 97 + [80.0, 90.0, 100.0], 100.0, inf),  # not much is left after 80 s
        ([1.0] * 97 + [nan, nan, nan], 100.0, inf),  # too many never end
        ([1.0] * 98 + [nan, nan], 100.0, 1.0),
        ([], 100.0, inf),
    ],
)
def test_what_is_seen_over_time_ends_when_nearly_all_jobs_are_over(
    tmp_path: Path, took: list[float], end: float, until: float
) -> None:
    found = figures.nearly_over((ends_at(tmp_path, end),), [jobs([1] * len(took), took)])
    assert found == until


def test_a_long_end_is_left_out_of_plots_and_of_what_is_used(own: Path) -> None:
    folder = read_folder(own)
    whole = figures.used_of(folder.runs, inf)
    early = figures.used_of(folder.runs, 60.0)
    assert [name for name, _ in early] == [name for name, _ in whole] == ["cpu", "memory"]
    assert early != whole
    curve = figures.utilisation_of(folder.runs[0], "cpu", 60.0)
    shares = figures.shares_of(folder.runs[0], 60.0)
    assert curve is not None
    assert shares is not None
    assert max(curve.x[-1], *(each.x[-1] for each in shares.curves)) == 60.0
    # Jobs 3 and 4 come at 150 s.
    assert [each.name for each in shares.curves] == ["job-1", "job-2"]


def test_speed_ups_compare_the_same_jobs_by_size() -> None:
    ours = jobs([1, 10, 11, 501], [10.0, 20.0, 5.0, nan])
    theirs = jobs([1, 10, 11, 501], [30.0, 30.0, 4.0, 7.0])
    found = figures.speed_ups({"tsf": ours, "fifo": theirs})
    assert found is not None
    assert found.first == "tsf"
    assert found.sizes == (Size.SMALL, Size.MEDIUM, Size.HUGE)
    assert found.jobs == (2, 1, 1)
    ((name, parts),) = found.others
    assert name == "fifo"
    assert parts[:2] == (2.0, 0.8)
    assert isnan(parts[2])  # not over under tsf


def test_jobs_that_only_one_run_has_are_left_out_of_speed_ups() -> None:
    found = figures.speed_ups({"a": jobs([1, 1], [10.0, 20.0]), "b": jobs([1, 1], [40.0, 9.0], 1)})
    assert found is not None
    assert found.others[0][1] == (2.0,)


def test_a_cdf_counts_jobs_that_never_started() -> None:
    curve = figures.cdf("x", np.array([3.0, 1.0, nan, 2.0]))
    assert curve.x.tolist() == [1.0, 2.0, 3.0]
    assert curve.y.tolist() == [0.25, 0.5, 0.75]


def test_a_long_line_is_drawn_in_few_points_with_the_same_mean() -> None:
    x = np.arange(10_000.0)
    few_x, few_y = figures.thinned(x, x % 7)
    assert len(few_x) == len(few_y) == figures.POINTS + 1
    assert few_y[:-1].mean() == pytest.approx((x % 7).mean(), rel=1e-3)
    # Each mean is drawn from the first of its samples on, and the line ends at the last one.
    assert few_x[:2].tolist() == [0, len(x) / figures.POINTS]
    assert (few_x[-1], few_y[-1]) == (x[-1], x[-1] % 7)


def test_samples_are_drawn_as_steps() -> None:
    curve = Curve("a", np.array([0.0, 60.0, 120.0, 180.0]), np.array([1.0, 3.0, 0.0, 2.0]))
    plot = lines("p", "t", "c", [curve], ["a"], y_label="y", x_most=180.0)
    (path,) = (
        re.findall(r"[ML] ([\d.]+) ([\d.]+)", d)
        for d in re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: #0072b2', plot.svg)
    )
    assert len(path) == 7  # three times along and up or down, and the end
    for (x, y), (next_x, next_y) in pairwise(path):
        assert x == next_x or y == next_y


@pytest.mark.parametrize("factors", [[1.0001, 0.9999], [nan], []])
def test_a_hundredth_of_a_percent_is_no_tall_bar(factors: list[float]) -> None:
    assert around_one(factors) == (0.9, 1.1)


def test_large_bars_are_on_their_axis() -> None:
    least, most = around_one([0.5, 3.0, nan])
    assert least < 0.5
    assert most > 3.0


def test_names_with_numbers_are_in_the_order_of_the_numbers() -> None:
    assert sorted(["job10", "job9", "a", "10", "9"], key=natural) == [
        "9", "10", "a", "job9", "job10",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [1e-6], [1e9, 1.0], [nan], []])
def test_any_delays_can_be_drawn(values: list[float]) -> None:
    curve = figures.cdf("a", np.array(values, np.float64))
    plot = cdfs("d", "Title", "", [curve, Curve("b", np.zeros(0), np.zeros(0))], ["a", "b"],
                x_label="x", y_label="y")  # fmt: skip
    assert "Title" in plot.svg


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"), (0.85, "850 ms"), (1.0, "1.00 s"), (12.34, "12.3 s"), (119.0, "119 s"),
        (150.0, "2.50 min"), (7200.0, "2.00 h"), (259200.0, "3.00 d"), (nan, "–"),
    ],
)  # fmt: skip
def test_times_have_a_unit_that_fits(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_numbers_have_three_digits() -> None:
    assert [digits(value) for value in (0, 0.0012, 0.1234, 1.234, 12.34, 1234.5)] == [
        "0", "0.0012", "0.12", "1.23", "12.3", "1,234",
    ]  # fmt: skip
    assert percent(None) == percent(nan) == times(nan) == "–"
    assert times(1.234) == "1.23×"
