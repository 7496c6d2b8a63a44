"""What the drivers, plans and jobs of all agents share."""
