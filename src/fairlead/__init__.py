"""Fair shares of a cluster whose jobs need several resources and only some of the machines.

>>> import fairlead
>>> cluster, jobs = fairlead.load("cluster.yaml", "jobs.yaml")
>>> fairlead.allocate(cluster, jobs, policy="tsf").job("train").tasks
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` itself takes as long to load as all of Python before it
if TYPE_CHECKING:
    from fairlead.files import load as load
    from fairlead.model.allocation import Allocation as Allocation
    from fairlead.model.constraint import Selector as Selector
    from fairlead.model.errors import CertificateError as CertificateError
    from fairlead.model.errors import FairleadError as FairleadError
    from fairlead.model.errors import InputError as InputError
    from fairlead.model.errors import InternalError as InternalError
    from fairlead.model.errors import SolverError as SolverError
    from fairlead.model.job import Job as Job
    from fairlead.model.machine import Cluster as Cluster
    from fairlead.model.machine import Machine as Machine
    from fairlead.model.tenant import Tenant as Tenant
    from fairlead.model.writing import write as write
    from fairlead.sharing.allocate import allocate as allocate
    from fairlead.sharing.certificate import verify as verify
    from fairlead.sharing.rules.registry import policy as policy
    from fairlead.simulation.engine.run import simulate as simulate
    from fairlead.version import __version__ as __version__

# Importing any module of the package runs this file, so it imports nothing before it is asked:
# the command line starts in a tenth of the time.
_HOME = {
    "__version__": "fairlead.version",
    "Allocation": "fairlead.model.allocation",
    "CertificateError": "fairlead.model.errors",
    "Cluster": "fairlead.model.machine",
    "FairleadError": "fairlead.model.errors",
    "InputError": "fairlead.model.errors",
    "InternalError": "fairlead.model.errors",
    "Job": "fairlead.model.job",
    "Machine": "fairlead.model.machine",
    "Selector": "fairlead.model.constraint",
    "SolverError": "fairlead.model.errors",
    "Tenant": "fairlead.model.tenant",
    "allocate": "fairlead.sharing.allocate",
    "load": "fairlead.files",
    "policy": "fairlead.sharing.rules.registry",
    "simulate": "fairlead.simulation.engine.run",
    "verify": "fairlead.sharing.certificate",
    "write": "fairlead.model.writing",
}

__all__ = sorted(_HOME)  # noqa: PLE0605  one list of names, not two


def __getattr__(name: str) -> object:
    """The public name, imported when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'fairlead' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from fairlead.extras import missing

        raise missing(error) or error from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
