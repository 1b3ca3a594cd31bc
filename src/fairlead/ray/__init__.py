"""Ray's remote functions, put in a fair queue: change the import, and the rest stays.

>>> import fairlead.ray as ray
>>> @ray.remote(num_cpus=1)
... def square(x):
...     return x * x
>>> ray.get([square.remote(x) for x in range(3)])
[0, 1, 4]
"""

from __future__ import annotations

from fairlead.extras import missing

try:
    from fairlead.ray.batch import Batch as Batch
    from fairlead.ray.calls import as_completed as as_completed
    from fairlead.ray.calls import cancel as cancel
    from fairlead.ray.calls import get as get
    from fairlead.ray.calls import init as init
    from fairlead.ray.calls import remote as remote
    from fairlead.ray.calls import shutdown as shutdown
    from fairlead.ray.calls import wait as wait
    from fairlead.ray.errors import CallError as CallError
    from fairlead.ray.errors import TaskFailedError as TaskFailedError
    from fairlead.ray.future import Future as Future
except ModuleNotFoundError as error:
    raise missing(error) or error from error
