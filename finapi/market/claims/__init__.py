"""Claims about figures, such as "revenue of fiscal 2022 was 394.3 billion", and verdicts on them."""
