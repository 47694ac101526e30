"""Pages for people: the frame of every page, the front page, the status page and what mails link to."""

# The member of App.ready under which a demo keeps the key that its front page shows: strangers may use it.
DEMO_KEY = "key to try"
