"""The compiled part of the online core: its state in tables, and the functions that change it.

To read it, begin with what there is (`memory.tables` and `memory.header`), then the loop (`decide`,
`launching`; `guided` is the one that follows advice), who is next (`search` tells how), where a
task may go (`room.permission` has the chain of questions), and what events and launches change
(`change.counts` of a job; `change.in_line` for whom machines are reserved, and when). `numbers` are
what levels and scores are computed with.

*Letters.* `s` is the state, `w` its header. Slots are `j` and `k` of jobs, `m` of a machine, `n` of
a node or a stake, and `t` of a tenant or a task, as its file says; `r` is a resource.

*An older version.* A core that goes on with a journal of an older version decides by the rules of
that one. In the header `filling` is 0 then: levels are others, and jobs take no turns. And
`reserve_for` is NEVER, as where nothing is reserved at all: there are no leases, no clocks of
tenants and no room below limits that is set aside.

*Words for two things.* What is meant is told by where it stands.

- line: all active jobs by (level, turn), of which one is *first in line* (`change.in_line`); what a
  search has still to look at of one tenant (`search.lines`); what a tenant's children count by
  their height, which is a line from stake to stake (`search.stakes`); bytes that a processor reads
  at once (`memory.lines`).
- limit: of what a tenant may hold, which is a cap, too (`change.limits`, `within_caps`, the array
  `limit`); of the height to which a walk goes (`search.levels.limit`, a tenant's field `limit`).
- unit: of a resource, how much one device is (the array); of a job, what one of its tasks adds to
  its tenant's `held` (the field).
- owner: of a leaf, the job or tenant that it stands for; of a machine, the job that it is reserved
  for, where nobody else is let in (`room.spare.is_owned`).
- witness: in a search, a machine that may hold what is below a node. Elsewhere it is an input that
  shows a broken promise.
- alike: machines (`room.fits.same`); jobs that ask machines for the same (`claims.ask_alike`), of
  one tenant (twins, `claims.are_twins`), or in gangs of one size (`takers.are_alike`).
- functions of one name: `release`, of a task's machine (`change.counts`) and of a pledge
  (`change.pledges`); `holds`, of a tenant what it has (`search.filling`) and of a machine whether
  it may do for what is below a node (`search.search`); `first_of`, the first tasks of a tenant
  (`search.filling`) and who is first in its line (`search.lines`); `rank_of`, in advice (`guided`)
  and in a treap (`search.stakes`); `join` and `leave`, of machines and of nodes in a line.
"""
