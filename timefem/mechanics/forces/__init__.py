"""Forces: gravity, springs, dampers, and loads that depend on time."""
