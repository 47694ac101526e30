"""Pages for people: the frame of every page, the front page, the status page and what mails link to."""
