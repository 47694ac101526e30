"""Every route's answers, frozen: ``python -m tests.golden [--demo | --edgar]`` writes the files anew.

That may be done when an answer is meant to change, in the commit that changes it, so that the commit shows the
difference; never to make a test pass. A change that is meant to change no answer leaves every file as it is.

What is asked stands in ``asks`` (one request a line, see ``asking.py``) and in ``flows.py``; what was answered in
``demo`` and ``edgar``, by area, and in ``openapi``. Sentences for people stand apart, in ``sentences.json``: to say
something in other words changes that file and no other.
"""
