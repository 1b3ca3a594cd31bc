"""What a user gives is found to be a trace of one format, or refused with a sentence."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fairlead.model.errors import InputError
from fairlead.simulation.traces.options import microseconds
from fairlead.simulation.traces.registry import PUBLIC, format_names, load, meanings

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1000,512,0,0\n"
MACHINES = "0,1,0,platform=,0.5,0.25\n"


def sentence(*paths: Path | str, form: str | None = None, **options: str) -> str:
    with pytest.raises(InputError) as error:
        load(paths, form, options)
    return str(error.value)


def test_a_directory_stands_for_the_tables_that_the_format_knows(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    with gzip.open(tmp_path / "deeper" / "nodes.csv.gz", "wt") as file:
        file.write(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "README.md").write_text("Data.\n")
    workload = load([tmp_path])
    assert (workload.name, len(workload.machines.names), workload.jobs) == (
        "alibaba-gpu-2023",
        1,
        1,
    )
    assert workload.notes[-1] == "not read, for they are no tables of this format: other.csv"


def test_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "machines.csv").write_text(MACHINES)
    assert "the files are of several formats: google-2011, alibaba-gpu-2023" in sentence(tmp_path)
    assert load([tmp_path], "google-2011").name == "google-2011"


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\n"])
def test_a_file_of_no_format_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    begins = f'{file}:1:1: "{text.partition(chr(10))[0]}" begins no table of'
    assert sentence(file).startswith(f"{begins} any format (google-2011")
    assert sentence(file).endswith(
        "how a trace of one's own is written: a table whose header has submit, duration and cpu,"
        " with commas, semicolons or tabs between, or a folder with trace.json"
    )
    assert sentence(file, form="swim").startswith(f"{begins} swim; ")
    assert "holds no table of any format" in sentence(tmp_path)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no such file: " in sentence(tmp_path / "x.csv")
    assert "there is no format 'x'; the formats are fairlead, google-2011" in sentence(
        "a", form="x"
    )
    assert sentence() == "no file is given; give the files or the directory of a trace"
    file = tmp_path / "pods.csv"
    file.write_text(PODS)
    assert "is given twice" in sentence(file, file)


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress((PODS + "p1,1000,512,0,0\n" * 20_000).encode())
    file = tmp_path / "pods.csv.gz"
    file.write_bytes(whole[: len(whole) // 2])
    assert f"{file} cannot be read" in sentence(file)
    file.write_bytes(b"no archive")
    assert f"{file} cannot be read" in sentence(file)


def test_an_unknown_option_is_refused_with_the_list(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    file.write_text(PODS)
    text = sentence(file, arivals="backlog")
    assert text.startswith("the format alibaba-gpu-2023 has no option 'arivals'; did you mean 'arr")
    assert "its options are arrivals=recorded, speed=1" in text


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("arrivals", "never", "write one of recorded, backlog"),
        ("speed", "0", "write more than 0"),
        ("speed", "fast", "write a number"),
        ("tenants", "0", "write a whole number of at least 1"),
        ("missing-durations", "10", "write a time such as 300s"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(
    name: str, value: str, right: str, tmp_path: Path
) -> None:
    file = tmp_path / "pods.csv"
    file.write_text(PODS)
    text = sentence(file, **{name: value})
    assert text.startswith(f"the option {name} cannot be {value!r}; {right}")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("300s", 300_000_000), ("1.5h", 5_400_000_000), ("20ms", 20_000), ("7us", 7), ("0s", 0),
        ("2m", 120_000_000), ("0.5us", None), ("-1s", None), ("5", None), ("s", None),
        ("5 s", None), ("1d", 86_400_000_000), ("1w", None),
    ],
)  # fmt: skip
def test_times_have_a_unit(text: str, span: int | None) -> None:
    assert microseconds(text) == span


@pytest.mark.parametrize("form", PUBLIC, ids=lambda form: form.name)
def test_every_format_and_option_is_in_the_reference(form: object) -> None:
    page = (
        Path(__file__).parents[3].joinpath("docs/reference/traces.md").read_text(encoding="utf-8")
    )
    found = next(each for each in PUBLIC if each is form)
    assert f"`{found.name}`" in page
    for option in found.options:
        assert f"| `{option.name}` | `{option.default}` |" in page
        assert meanings(found.name)[option.name] == option.meaning


def test_the_own_format_is_named_first() -> None:
    assert format_names()[0] == "fairlead"
