"""A service that starts while slurmctld is away: it waits, says so, and goes on."""

from __future__ import annotations

import json
import signal
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.observer import Observer
from fairlead.engines.slurm.opening import open_slurm
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.engines.slurm.reading.commands import AwayError, load
from fairlead.engines.slurm.reading.values import Picture
from fairlead.model.errors import InputError
from tests.cli.live.place import administrator, serving, until
from tests.engines.slurm.ground import Ground
from tests.engines.slurm.model import SlurmModel

SAVED = Path(__file__).parents[3] / "examples" / "slurm" / "saved"


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("mode", ["place", "observe", "order"])
def test_it_waits_and_says_so_and_goes_on(
    mode: str,
    slurm: Ground,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    # How long a command tries is its own: ten seconds, unless its slurm.conf says otherwise.
    impatient = tmp_path / "slurm.conf"
    impatient.write_text(f"{slurm.conf.read_text('utf-8')}MessageTimeout=2\n", encoding="utf-8")
    monkeypatch.setenv("SLURM_CONF", str(impatient))
    options = ["--engine", "slurm", "--mode", mode, "--config", "config.yaml"]
    options += ["--partition", "fair"] if mode == "place" else []
    with tempfile.TemporaryDirectory(prefix="fairlead-away-") as made:
        folder = Path(made)
        folder.chmod(0o711)
        (folder / "config.yaml").write_text("read_every: 100ms\n", encoding="utf-8")
        job = slurm.run("sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap=true").strip()
        with serving(folder, *options):
            pass  # what it knows from before is shown meanwhile
        # By SIGKILL it loses what it did not write down: jobs of the test before would run again.
        slurm.kill("slurmctld", signal.SIGTERM)
        is_back = False
        try:
            with serving(folder, *options) as served:
                shell = administrator(served, folder, monkeypatch, capsys)
                token = (served.state / "admin-token").read_text(encoding="ascii").strip()
                headers = {"Authorization": f"Bearer {token}"}
                ready = urllib.request.Request(f"{served.url}/v1/ready", headers=headers)
                with pytest.raises(urllib.error.HTTPError) as not_ready:
                    urllib.request.urlopen(ready)
                why = json.loads(not_ready.value.read())["why"]
                assert "Unable to contact slurm controller" in why
                assert "Unable to contact slurm controller" in shell.good("machines")
                assert "Unable to contact slurm controller" in shell.refused("why", job)
                slurm.start("slurmctld")
                is_back = True
                until(lambda: shell("why", job)[0] == 0 or mode == "place")
                until(lambda: "a1" in shell.good("machines"))
        finally:
            if not is_back:
                slurm.start("slurmctld")
            slurm.wait_until_up()
            slurm.wait_until_idle()
            slurm.run("scancel", job)


def said(engine: Observer | Placer) -> str:
    try:
        return f"{len(engine.nodes())} nodes"
    except EngineError as error:
        return str(error)


def test_who_places_waits_and_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away, model = True, SlurmModel()
    read = model.read

    def asked() -> Picture:
        if away:
            raise AwayError("Unable to contact slurm controller")
        return read()

    monkeypatch.setattr(model, "read", asked)
    engine = Placer(tmp_path / "state", "fair", 1000, model, lambda: Allowance(1000))
    try:
        assert said(engine) == "Unable to contact slurm controller"
        with pytest.raises(EngineError, match="Unable to contact"):
            engine.reconcile([])
        away = False
        until(lambda: said(engine) == f"{len(model.nodes)} nodes")
        assert list(engine.reconcile([])) == []
    finally:
        engine.close()


def test_a_cluster_that_was_away_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    away = True

    def cluster() -> str:
        if away:
            raise AwayError("Unable to contact slurm controller")
        return "one"

    outputs = load(SAVED)
    engines = [Observer(1000, lambda _: outputs, cluster, each) for each in ("slurm:one", "other")]
    try:
        for engine in engines:
            with pytest.raises(EngineError, match="Unable to contact"):
                engine.nodes()
        away = False
        until(lambda: said(engines[0]).endswith(" nodes"))
        until(lambda: "the journal is of 'other', and this is 'slurm:one'" in said(engines[1]))
        assert engines[1].knows("other")
    finally:
        for engine in engines:
            engine.close()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="there is no sinfo on this machine"):
        open_slurm("observe", 1000, SAVED, None)
