"""What goes out to other hosts: connections under a deadline, HTTP requests, SMTP and the mail queue."""
