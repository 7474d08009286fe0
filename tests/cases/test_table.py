"""The table of cases agrees with the modules that enter them."""

from importlib import import_module

from timefem.cases import CASES
from timefem.cases.table import MODULES


def test_modules_enter_the_cases_of_the_table():
    assert [name for name, case in CASES.items() if case.name != name] == []
    for module in MODULES:
        import_module(f"timefem.cases.{module}")
    assert list(CASES) == [name for names in MODULES.values() for name in names]  # and no further ones
