"""Documents on their way in: recognised, parsed and stored; EDGAR's feed followed."""
