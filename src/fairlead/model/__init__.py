"""What people write and read: resources, machines, constraints, jobs, tenants, allocations."""
