-- Documents that were given up or put off are counted, listed and asked for again.
CREATE INDEX wanted_documents_in_trouble ON wanted_documents (state, done_at)
WHERE state = 'refused' OR (state = 'due' AND tries > 0);
