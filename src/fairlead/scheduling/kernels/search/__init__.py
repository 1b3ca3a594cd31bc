"""The search for the next job: levels, tries over the waiting jobs, and walks through them.

Theory of operation
===================

Two questions are asked: who of all waiting jobs comes next on one machine (`search.next_job`), and
who comes next on any of several machines whose room grew (`best_first`). The answer is the active
job of least (level, turn) that may be placed there: its level is its share, weighted down the tree
of tenants (`levels`, `tenants`); its turn is a number that grows with each job and each launch, so
no two are alike.

Asking all jobs would be right, and slow with a hundred thousand of them. They stand in tries, two
for each tenant: one of its jobs, one of the tenants below it.

                    the tenants' trie              a node: the least of all below it
                   /                 \\              key, turn  the least place in line
               tenant A            tenant B         need       the least of each resource
              /        \\               |            terms      those that all below need
       A's jobs       A's tenants    B's jobs       fresh      is a fresh job below?
       /      \\         /     \\        /    \\
    (gpu)  (no gpu)    C      D      j4     j5      a leaf: one job, or one tenant
    /   \\      |        |      |
   j1    j2    j3      ...    ...

*Tries.* A job's signature (`signature`) begins with the rarest term that it needs, then the
logarithms of its demands: jobs that fit the same machines stand together. A trie parts its leaves
by the first bit in which signatures differ (`trie`), so its shape follows from what is in it, and
it needs no balancing. What is found never depends on a signature, only how fast it is.

*Bounds.* A walk goes from the top down, the lesser child first, and leaves out a node where
  - its key is behind the best job found so far: no job below has a lesser one;
  - its need does not fit the room: all below it need at least as much;
  - a term that all below need is lacking;
  - the limits of a tenant hold back even the least of its jobs (the tenant is marked as cut).
A tenant's key is at most what it is among its siblings, by doubles; on the way up from a key to a
level (`levels.at_least`) each tenant has its say (`filling`, over its `stakes`), so that what
changes at one of them moves one leaf, and none below. A walk on one machine goes the other way:
from the best level found so far down to the height at a tenant above which all is behind it
(`levels.limit`), once for each tenant that it comes to; after that keys tell. Each tenant keeps the
line that was asked of last, either way. A job's level is exact, and ties go by turn.

*Briefs.* A walk would wait for memory at each node's rows of needs and terms. So its record has
them in brief (`memory.briefs`): a word says nearly how much of four resources, and one subtraction
tells "certainly too little" from "perhaps enough". Where briefs do not say all, `holds` does.

*Permission.* A walk answers what many jobs share of the chain (`room.permission`): terms, room,
limits. The rest of it (reservations, jobs that spread, gangs) is asked at a leaf.

*Best first, over several machines.* A heap holds the nodes of tries of tenants still to be looked
at, the least first (`best_first`); those of a tenant's jobs stand in a line, one for each tenant
(`lines`): whatever is launched moves the levels of all of a tenant's jobs, and never their order.
The machines are a list (`near`), with briefs beside each other, so that 64 of them are compared
with a node at once. A node remembers its witness, a machine of the list that may hold what is
below: mostly that one holds the child's, too. A node without a witness goes. A
fresh job, which may fit anywhere, is asked about on all machines, by the sets of `room.places`; the
others only where room grew, since elsewhere they were refused.

Invariants (`state.search_invariants` checks them all, from the held tasks alone)
---------------------------------------------------------------------------------
1. Each active job is one leaf, below its tenant's leaf; no other job is.
2. A node's key, turn, need, terms and fresh are the least, or the common part, of its leaves'.
3. A node's brief is at most what the node needs, and its word is the first of its terms.
4. While a decision lasts, room shrinks and levels rise. So what was left out stays out, and a bound
   stays one. Where a level falls, a trie changes its shape, or other room grows, the search begins
   anew (the heap is lost).
5. A machine whose room did not grow was refused by all that wait but those that are fresh; so was
   one that has no more of it than it had then (`known_useless`).

Turned down: decisions 0071 (tries), 0152 (best first), 0169 (sets), 0178 (the list), 0192 (more).
"""
