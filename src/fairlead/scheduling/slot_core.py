"""The online core by slots: machines, jobs and tasks are rows of tables, decisions are records.

`Core` calls them by their names, a run of the simulator by their places in its workload. Both
decide by what is here, so that what is simulated is what is deployed.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.scheduling.kernels.alarms import wake
from fairlead.scheduling.kernels.decide import decide
from fairlead.scheduling.kernels.guided import decide_guided
from fairlead.scheduling.kernels.memory.codes import DecisionCode, Full
from fairlead.scheduling.kernels.memory.state import Records, State
from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import find
from fairlead.scheduling.preemption.adapter import Stopping
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import digest
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.invariants import check
from fairlead.sharing.policy import Policy

_LAUNCH = int(DecisionCode.LAUNCH)  # as `state.rows` has its states


class SlotCore:
    """Decides which task starts where, by the state in its book.

    `policy` is one that has a scale, or `fifo`; `placement` a rule's name. `stopping` follows
    guarantees, where tasks are stopped for them.
    """

    def __init__(
        self, resources: Sequence[Unit], policy: str | Policy, placement: str, options: Options
    ) -> None:
        self.options = options
        self.placement = find(placement)
        self.book = Book(resources, policy, options.whole)
        preempt = options.preempt_after
        self.stopping = None if preempt is None else Stopping(preempt)
        header = self.state.header[0]
        header["picky"] = self.placement.picky
        header["tight"] = self.placement.tight
        after = options.reserve_after
        header["reserve_after"] = NEVER if after is None else after
        least = options.least_lease
        header["reserve_for"] = NEVER if least is None else least
        header["filling"] = options.filling

    @property
    def state(self) -> State:
        return self.book.state

    @property
    def now(self) -> int:
        """The time of the last event, in microseconds."""
        return self.book.now

    def run_round(self) -> None:
        """Decides all that there is to decide now. The decisions lie in the state, in their order,
        until they are taken."""
        self.book.refresh()
        if not self.placement.places:
            return
        first = self._launch()
        if self.stopping is not None:
            while self.stopping.apply_orders(self.book, self._launches(first)):
                first = self._launch()

    def take_decisions(self) -> Records:
        """Takes the decisions that the kernels wrote out of the state."""
        header = self.state.header[0]
        decisions: Records = self.state.out[: int(header["out"])].copy()
        header["out"] = 0
        return decisions

    def _launch(self) -> int:
        """Launches all that can be launched. Returns where these decisions begin."""
        state = self.state
        first = int(state.header[0]["out"])
        guided = self.placement.guided and state.header[0]["groups"] > 0
        kernel = decide_guided if guided else decide
        while (full := kernel(state.handle, self.placement.rule)) != Full.NOT:
            state.grow(full)
        return first

    def _launches(self, first: int) -> list[tuple[int, int]]:
        """The job and the machine of each launch among the decisions from `first` on."""
        out = self.state.out[first : int(self.state.header[0]["out"])]
        launches = out[out["kind"] == _LAUNCH]
        return list(zip(launches["job"].tolist(), launches["machine"].tolist(), strict=True))

    def wake(self) -> int | None:
        """The earliest moment at which time alone changes something."""
        moments = int(wake(self.state.handle)), self.preempt_at()
        return min((each for each in moments if self.now < each < NEVER), default=None)

    def preempt_at(self) -> int:
        """The moment at which somebody will have been below its guarantee for long enough; NEVER
        where tasks are not stopped for that."""
        moment = None if self.stopping is None else self.stopping.wake()
        return NEVER if moment is None else moment

    def check(self) -> None:
        """Raises InternalError where the state contradicts itself."""
        check(self.state)

    def digest(self) -> str:
        """The same if and only if the same happened, on every machine."""
        return digest(self.state, () if self.stopping is None else self.stopping.state())
