"""Values that people write and read: machines, constraints, jobs, tenants, allocations."""
