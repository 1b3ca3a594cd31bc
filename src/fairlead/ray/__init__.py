"""Fair sharing for users of Ray: `fairlead.ray.remote` in place of `ray.remote`."""
