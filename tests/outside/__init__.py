"""Nothing of the folder one stands in is run, followed or believed."""
