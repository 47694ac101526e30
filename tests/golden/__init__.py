"""The recorded answers of every route. ``python -m tests.golden`` rewrites the files.

Rewrite them only when an answer is meant to change, in the commit that changes it, so that the commit shows the
difference; never to make a test pass. A change that is not meant to change an answer leaves every file unchanged.

The requests are in ``requests`` (one per line, see ``asking.py``) and in ``flows.py``. They are sent to the demo with a
few more documents (``world.py``), so that no file outside of the repository is needed. The answers are in ``answers``,
by area, and in ``openapi``. Sentences for people are in ``sentences.json``, by route and member, so that rewording
changes that file only.
"""
