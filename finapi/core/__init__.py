"""What every room may use: errors, clock, settings, JSON, and deciders that know neither user nor filing.

It imports nothing else of finapi.
"""
