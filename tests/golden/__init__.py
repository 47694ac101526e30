"""The recorded answers of every route; ``python -m tests.golden [--demo | --edgar]`` rewrites the files.

Rewrite them only when an answer is meant to change, in the commit that changes it, so that the commit shows the
difference; never to make a test pass. A change that is not meant to change an answer leaves every file unchanged.

The requests are in ``asks`` (one per line, see ``asking.py``) and in ``flows.py``; the answers are in ``demo`` and
``edgar``, by area, and in ``openapi``. Sentences for people are in ``sentences.json``, so that rewording changes
that file only.
"""
