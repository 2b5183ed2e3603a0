"""What files and agents say is shown on a terminal, and is no order to it."""

import io

import pytest
from rich.console import Console

from formwright.cli.output import told
from formwright.report.tables import print_lines, print_table, print_text, print_title

ORDERS = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9b31md\re\u202ef\x00g"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_no_text_is_an_order_to_a_terminal(terminal: bool) -> None:
    """A file gets it as it is: it may be read again."""
    for number in range(4):
        out = Terminal() if terminal else io.StringIO()
        console = Console(file=out, force_terminal=terminal, color_system=None, width=200)
        match number:
            case 0:
                print_lines(console, [ORDERS])
            case 1:
                print_table(console, ("head",), [(ORDERS,)])
            case 2:
                print_title(console, ORDERS, ORDERS)
            case 3:
                print_text(console, ORDERS)
        said = out.getvalue()
        if terminal:
            assert not set(said) & set("\x1b\x07\x9b\r\u202e\x00")
            assert "\ufffd]52;c;cm0=" in said
        else:
            assert "\x1b]52" in said
    stream = Terminal() if terminal else io.StringIO()
    assert ("\x1b" in told(ORDERS, stream)) == (not terminal)
