"""The pages of a company: at a glance, statements, series, charts, lists of what concerns it, proofs of figures."""
