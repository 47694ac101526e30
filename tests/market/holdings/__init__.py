"""Tests of market/holdings: 13F reports, their positions, and what follows from them."""
