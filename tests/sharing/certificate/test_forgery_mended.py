"""An adversary who mends forged proofs by the check's own words sells nothing but fair shares.

What he may not sell is judged by rational filling, which knows neither prices nor proofs;
test_check goes by what the check makes of the solver's own proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from random import Random

import pytest

from tests.reference.policies import POLICIES
from tests.sharing.certificate.adversary import Fair, attempts, draw, sell


def inputs(policy: str) -> Iterator[tuple[int, Random, Fair]]:
    """Inputs on which something is shared, each with its seed and what goes on drawing from it."""
    for seed in count():
        random = Random(f"{policy} {seed}")
        fair = draw(policy, random)
        if fair is not None:
            yield seed, random, fair


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_mended_until_it_is_believed_gives_the_fair_shares(policy: str, cases: int) -> None:
    tried = believed = 0
    for seed, random, fair in islice(inputs(policy), cases):
        assert fair.is_sold_by(fair.proof), seed
        sales = sell(fair, attempts(fair, random))
        assert sales.frauds == [], seed
        tried += sales.tried
        believed += sales.believed
    assert tried >= 10  # kdf(3) has a share on few of the inputs
    # Some end as another proof of what is true: he does mend, and is not stopped by trifles.
    assert believed
