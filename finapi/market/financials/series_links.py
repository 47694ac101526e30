"""The links from the cells of a series to the printed numbers on the inline pages of their filings."""

from __future__ import annotations

from collections.abc import Mapping

from finapi.market.financials import cell_proof
from finapi.market.financials.provenance import FactRecord, FullProvenance, list_operand_records
from finapi.market.financials.series_rows import RowView
from finapi.store.db import Transaction


class SeriesLinks:
    """The source of the links of a company's series."""

    def __init__(self, tx: Transaction, cik: int) -> None:
        self._tx = tx
        self._cik = cik

    def add_to_row(self, row: RowView, cells: Mapping[str, FullProvenance]) -> None:
        """Add to each cell of a row the element of its fact, if it has only one, and to each operand its element.

        A cell without a value, of several facts or of a filing without inline pages has null instead.
        """
        facts: list[FactRecord] = []
        single_facts: dict[str, FactRecord] = {}
        for key, cell in cells.items():
            # The only operand of a cell that is served as reported is not in its record.
            operands = cell["operands"] or list_operand_records(row, key, row.get_cell(key))
            facts += operands
            if len(operands) == 1:
                single_facts[key] = operands[0]
        cell_proof.add_fact_links(self._tx, self._cik, facts)
        for key, cell in cells.items():
            fact = single_facts.get(key)
            cell["fact_id"] = None if fact is None else fact["fact_id"]
            cell["ink_url"] = None if fact is None else fact["ink_url"]
