"""Reading and checking a policy file."""
