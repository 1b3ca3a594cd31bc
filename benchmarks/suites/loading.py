"""Reading 1,500 machines from YAML, against PyYAML's loader in plain Python."""

from __future__ import annotations

from benchmarks.cases import Call, Case, Measured, Options, Target

ZONES = ("east", "west", "north")
MODELS = ("a100", "h100", "v100", "none")


def cases(options: Options) -> list[Case]:
    """The rows: every machine written out, and the same machines as ranges."""
    machines = 60 if options.quick else 1500
    return [
        Case(
            name,
            {"machines": machines},
            Call("fairlead.load", "benchmarks.suites.loading:ours", arguments),
            Call("yaml.SafeLoader", "benchmarks.suites.loading:plain_python", arguments),
            Target(seconds=seconds),
        )
        for name, arguments, seconds in (
            ("each", {"machines": machines, "together": 1}, 0.1),
            ("ranges", {"machines": machines, "together": 20}, 0.1),
        )
    ]


def written(machines: int, together: int) -> str:
    """A cluster file. Every entry has capacities and labels and stands for `together` machines."""
    entries = []
    for entry in range(machines // together):
        first, last = entry * together, (entry + 1) * together - 1
        name = f"n{first:05d}" if together == 1 else f"n[{first:05d}-{last:05d}]"
        model = MODELS[entry % len(MODELS)]
        entries.append(
            f'  - name: "{name}"\n'
            f"    capacity: {{cpu: {16 << entry % 3}, memory: {64 << entry % 4}GiB,"
            f" gpu: {0 if model == 'none' else 4}}}\n"
            f"    labels: {{gpu-model: {model}, zone: {ZONES[entry % len(ZONES)]},"
            f' rack: r{entry % 40}, kernel: "5.{entry % 20}"}}\n'
        )
    return "machines:\n" + "".join(entries)


def ours(machines: int, together: int) -> Measured:
    """Fairlead's reading of a file, with places and checks, to machines."""
    import tempfile
    from pathlib import Path

    import fairlead

    folder = tempfile.TemporaryDirectory()
    Path(folder.name, "cluster.yaml").write_text(written(machines, together), encoding="utf-8")

    def measured() -> list[float]:
        cluster, _ = fairlead.load(str(Path(folder.name, "cluster.yaml")))
        return [float(len(cluster.machines))]

    return measured


def plain_python(machines: int, together: int) -> Measured:
    """PyYAML's loader in plain Python, on the text alone."""
    import yaml

    text = written(machines, together)

    def measured() -> None:
        yaml.load(text, Loader=yaml.SafeLoader)

    return measured
