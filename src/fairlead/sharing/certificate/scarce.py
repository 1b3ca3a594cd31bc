"""Everything of which there is so much and no more, as rows: what a task takes, what there is."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from fairlead.model.errors import CertificateError
from fairlead.model.proof import Scarce
from fairlead.sharing.certificate.arrays import Classes, Seen
from fairlead.sharing.certificate.tree import Tree

Row = tuple[str, int, int]
"""("on", class, resource), ("spread", class, job), ("tasks", job, 0) or ("limit", cap, 0)."""


@dataclass(frozen=True)
class Rows:
    """All that can stop a job: machines, numbers of tasks, limits. `number` (J,) is of tasks."""

    seen: Seen
    classes: Classes
    tree: Tree
    number: tuple[fmpq | None, ...]
    spreads: bool = True  # False where the machines are looked at as one

    def find(self, scarce: Scarce, where: str) -> Row:
        """The row that is meant. Raises CertificateError where nothing is scarce there."""
        seen, given = self.seen, scarce
        column = None
        if given.machine_class is not None:
            column = self.classes.column.get(given.machine_class)
        resource = None if given.resource is None else seen.resource.get(given.resource)
        job = None if given.job is None else seen.job.get(given.job)
        kind = tuple(
            part is not None
            for part in (given.machine_class, given.resource, given.tenant, given.job)
        )
        if kind == (True, True, False, False) and column is not None and resource is not None:
            return "on", column, resource
        if kind == (False, True, True, False):
            for index, cap in enumerate(self.tree.caps):
                if (cap.tenant, cap.resource) == (given.tenant, given.resource):
                    return "limit", index, 0
        if kind == (False, False, False, True) and job is not None and self.number[job] is not None:
            return "tasks", job, 0
        if (
            kind == (True, False, False, True)
            and column is not None
            and job is not None
            and self.spreads
            and seen.spread[job]
        ):
            return "spread", column, job
        raise CertificateError(f"{where}: {described(scarce)} is nothing that is scarce")

    def there_is(self, row: Row) -> fmpq:
        """The amount that there is: in parts of a resource, of tasks, or of machines."""
        kind, first, second = row
        if kind == "on":
            return fmpq(int(self.classes.one[first, second]) * int(self.classes.count[first]))
        if kind == "limit":
            return self.tree.caps[first].amount
        if kind == "tasks":
            number = self.number[first]
            assert number is not None
            return number
        return fmpq(int(self.classes.count[first]))

    def takes(self, row: Row, job: int, column: int) -> int:
        """The part of it that a task of a job on a class takes."""
        kind, first, second = row
        if kind == "on":
            return int(self.seen.need[job, second]) if first == column else 0
        if kind == "limit":
            return self.tree.caps[first].takes.get(job, 0)
        if kind == "tasks":
            return int(first == job)
        return int((first, second) == (column, job))

    def columns(self, classes: tuple[int, ...], job: int, where: str) -> list[int]:
        """The columns of these classes, all different, which the job can use."""
        found = []
        for number in classes:
            column = self.classes.column.get(number)
            if column is None:
                raise CertificateError(f"{where}: there is no class {number}")
            if not self.classes.usable[job, column]:
                raise CertificateError(
                    f"{where}: job {self.seen.names[job]} cannot use class {number}"
                )
            if column in found:
                raise CertificateError(f"{where}: class {number} is there twice")
            found.append(column)
        return found

    def job(self, name: str, where: str) -> int:
        job = self.seen.job.get(name)
        if job is None:
            raise CertificateError(f"{where}: there is no job {name}")
        return job

    def all_rows(self, scarce: tuple[Scarce, ...], where: str) -> list[Row]:
        """The rows, each of them once."""
        rows = [self.find(each, where) for each in scarce]
        if len(set(rows)) < len(rows):
            raise CertificateError(f"{where}: something scarce is named twice")
        return rows


def described(scarce: Scarce) -> str:
    """The scarce thing in words, for a sentence."""
    if scarce.tenant is not None:
        return f"the limit of {scarce.tenant} on {scarce.resource}"
    if scarce.machine_class is None:
        return f"the number of tasks of {scarce.job}"
    return f"{scarce.resource or scarce.job} on class {scarce.machine_class}"
