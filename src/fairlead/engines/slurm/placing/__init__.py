"""Tasks as jobs of Slurm, each on the node that was chosen: `placer` is the engine, `folder` says
what started and how it ended, `batch` writes the jobs, `controller` reaches Slurm."""
