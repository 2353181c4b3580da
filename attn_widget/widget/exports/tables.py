"""Numbers of a view: CSV, JSON, a DataFrame, the matrix."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from attn_widget.errors import NotAvailableError
from attn_widget.host.files import destination, write
from attn_widget.widget.exports.shown import Shown

if TYPE_CHECKING:
    from attn_widget.export.text import Table
    from attn_widget.figures.arrays import Float32


class TableExports(Shown):
    """Methods of a widget that give the numbers of a view."""

    def to_csv(
        self, path: str | os.PathLike[str] | None = None, view: str | None = None
    ) -> str | None:
        """The table of a view as CSV: what "CSV" in the menu of the page saves.

        Parameters
        ----------
        path : str or path, optional
            A file that ends with ``.csv``; without it the text is returned.
        view : str, optional
            The view that is chosen by default.

        Returns
        -------
        str or None
            The text when `path` is None: RFC 4180, all digits of every number, N/A an empty field.
            A text that a spreadsheet would take for a formula gets a single quote in front.

        Raises
        ------
        InputError
            An unknown view, a missing folder or another suffix.
        NotAvailableError
            The view has no numbers for this run.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", layer=3, head=5, progress=False)
        >>> w.to_csv().splitlines()[0]
        'query,key,query_token,key_token,weight,score'
        >>> w.close()
        """
        from attn_widget.export.text import to_csv

        target = None if path is None else destination(path, ".csv")
        return self._give(to_csv(self._table(self._view(view))), target)

    def to_json(
        self, path: str | os.PathLike[str] | None = None, view: str | None = None
    ) -> str | None:
        """The table of a view with its caption as JSON: what "JSON" in the menu of the page saves.

        ``view, model, revision, text, text_pair, masked, profile, layer, head, definition, options,
        versions, columns, rows``; N/A is null.

        Parameters
        ----------
        path : str or path, optional
            A file that ends with ``.json``; without it the text is returned.
        view : str, optional
            The view that is chosen by default.

        Raises
        ------
        InputError, NotAvailableError
            As in `to_csv`.
        """
        from attn_widget.export.text import to_json

        target = None if path is None else destination(path, ".json")
        name = self._view(view)
        return self._give(to_json(self._caption(name), self._table(name)), target)

    def to_dataframe(self, view: str | None = None) -> Any:
        """The table of a view as a pandas DataFrame; N/A is NaN (needs the extra ``pandas``).

        Parameters
        ----------
        view : str, optional
            The view that is chosen by default.

        Raises
        ------
        InputError
            An unknown view.
        NotAvailableError
            pandas is not installed, or the view has no numbers for this run.
        """
        from attn_widget.host.frames import dataframe

        table = self._table(self._view(view))
        rows = ([math.nan if cell is None else cell for cell in row] for row in table.rows)
        records = (dict(zip(table.columns, row, strict=True)) for row in rows)
        return dataframe(records).reindex(columns=list(table.columns))

    def to_numpy(self) -> Float32:
        """The matrix of the Attention view, float32 [m, m]: rows are queries, columns keys.

        The `quantity` (weights by default) of the selected layer and head, between the tokens or
        words that are shown (`words`, `special`); NaN where the model's mask forbids a cell.

        Raises
        ------
        NotAvailableError
            Scores are selected, and this head or selection has none.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", layer=3, head=5, progress=False)
        >>> w.to_numpy().shape
        (5, 5)
        >>> w.special = False
        >>> w.to_numpy().shape
        (3, 3)
        >>> w.close()
        """
        from attn_widget.export.matrix import shown_values

        analysis = self.source.analysis
        if analysis is None:
            raise NotAvailableError("A profile has no matrix: its heads are over many texts.")
        return shown_values(analysis, self.selection)

    def _caption(self, view: str) -> dict[str, Any]:
        from attn_widget.export.caption import caption
        from attn_widget.protocol.pack import unpack

        return caption(unpack(self._paint())[0], self.selection, view)

    def _table(self, view: str) -> Table:
        from attn_widget.export.tables import table

        return table(self.source, self.selection, view)

    def _give(self, text: str, target: Any) -> str | None:
        if target is None:
            return text
        write(target, text.encode("utf-8"))
        return None
