"""A client under test, with unittest: pip install FINAPI_SERVER.whl; python -m unittest test_with_unittest.py."""

import unittest

from finapi.client import ApiFailure
from finapi.testing import FinapiServer


class Balance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = FinapiServer(seed=1).__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)

    def setUp(self):
        self.server.control.reset()

    def test_a_filing_costs_five_tokens(self):
        client = self.server.client()
        client.get_sec_filings(limit=1)
        self.assertEqual(client.get_account_balance()["current_balance"], 499_995)

    def test_an_account_without_tokens_is_refused(self):
        with self.assertRaises(ApiFailure) as caught:
            self.server.client("exhausted").get_sec_filings()
        self.assertEqual(caught.exception.code, "insufficient_tokens")


if __name__ == "__main__":
    unittest.main()
