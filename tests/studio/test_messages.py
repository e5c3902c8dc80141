"""Messages call a file by its own name, not by its path in the folder of the studio."""

import pytest

from discriminant.errors import InputError
from discriminant.studio.learn_points import Columns
from discriminant.studio.table_work import Table, TableFile


@pytest.mark.parametrize("open_file", [TableFile.opened, Columns.opened])
def test_an_empty_file_is_called_by_its_name(tmp_path, open_file):
    path = tmp_path / "vide.csv"
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"^vide\.csv is empty"):
        open_file(path, path.name)


def test_a_table_without_rows_is_called_by_its_name(tmp_path):
    path = tmp_path / "header.csv"
    path.write_text("a,b,kind\n")
    with pytest.raises(InputError, match=r"^header\.csv has a header but no rows"):
        Table.read(TableFile.opened(path, path.name), "kind", (), ["lda"])
