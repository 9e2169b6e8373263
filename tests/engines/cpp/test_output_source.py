"""C++ that also tells what it computes."""

import pytest

from instruction_counts.engines.cpp.output_source import declared, with_output
from instruction_counts.engines.cpp.source import CppSource


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("auto x = torch::ones({4, 4}); auto y = torch::ones({4, 4});", ["x", "y"]),
        ("at::Tensor z = x;", ["z"]),
        ("const torch::Tensor& z = x;", ["z"]),
        ("auto&& z = x;", ["z"]),
        ("torch::Tensor z(x);", ["z"]),
        ("auto z{x};", ["z"]),
        ("auto [values, indices] = x.sort();", ["values", "indices"]),
        ("x += 1;\nauto y = x;", ["y"]),
        ("{ auto y = x; }", []),
        ("for (auto i = 0; i < 3; ++i) x += i;", []),
        ("auto f = [](auto a) { auto b = a; return b; };\nauto c = 1;", ["f", "c"]),
        ("// auto no = 1;\nauto yes = 1;", ["yes"]),
        ("/* auto no = 1; */ auto yes = 1;", ["yes"]),
        ('auto s = "; auto no = 1;";', ["s"]),
        ("automatic = 3;", []),
    ],
)
def test_variables_outside_of_any_block_are_found(code: str, names: list[str]) -> None:
    """Those that are declared as auto or as a tensor."""
    assert names == list(declared(code))


def test_what_the_setup_declares_is_saved_before_and_after() -> None:
    """The statement may change it; what global_setup includes stands before what saves."""
    source = with_output(CppSource("#include <vector>", "auto x = torch::ones({4});", "x += 1;"))
    assert source.global_setup.startswith("#include <vector>\n")

    assert 'save("before", "x", x);' in source.setup
    assert 'save("after", "x", x);' in source.stmt


@pytest.mark.parametrize(
    ("stmt", "is_saved"),
    [
        *(
            (call, True)
            for call in ("torch::mm(x, y);", "x.t()", "auto y = x;\nmodel->forward(y);\n")
        ),
        *((other, False) for other in ("auto z = f(x);", "x = f(x);", "x += f(x);", "x;", "")),
        *((other, False) for other in ("if (f(x)) g(x);", "// f(x)")),
    ],
)
def test_the_value_that_a_call_returns_is_saved(stmt: str, is_saved: bool) -> None:
    """Although the case drops it; any other statement has none."""
    assert is_saved is ('save("after", "result"' in with_output(CppSource("", "", stmt)).stmt)
