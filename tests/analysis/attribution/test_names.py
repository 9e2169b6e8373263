"""Names of functions and libraries as they are compared and shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.names import (
    GENERATED,
    UNKNOWN,
    normalised,
    normalised_library,
    short,
    stem,
)
from instruction_counts.engines.callgrind import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "callgrind"
STORED = sorted(set(FIXTURES.glob("*.out")) - {FIXTURES / "four_parts.out"})

WRAPPER = (
    "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_"
    "<c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&, c10::Scalar const&), "
    "&at::(anonymous namespace)::wrapper_CPU_{}>, at::Tensor, "
    "c10::guts::typelist::typelist<at::Tensor const&, c10::Scalar const&> >, "
    "at::Tensor (at::Tensor const&, c10::Scalar const&)>::call(c10::OperatorKernel*)"
)
LOOP = (
    "void c10::function_ref<void (char**, long const*, long, long)>::callback_fn"
    "<at::native::AVX2::VectorizedLoop2d<at::native::(anonymous namespace)::add_kernel"
    "(at::TensorIteratorBase&, c10::Scalar const&)::{lambda()#1}::operator()() const::"
    "{lambda(float, float)#2}> >(long, char**, long const*, long, long)"
)
MANGLED = "_ZN3c1012function_refIFvPPcPKlllEE11callback_fnIZN2at18TensorIteratorBase15loopEEvl"

PIECES = st.sampled_from(
    [
        *("std::", "__cxx11::", "at::", "add", "call", "operator", "operator<", "operator()"),
        *("<", ">", "(", ")", "{lambda(", ")#1}", "{", "}", "[", "]", "::", ", ", " const", "&"),
        *("12ul", "0x3a", "basic_string<char>", "std::allocator<at>", "decltype (", "~", "…"),
        *("'2", ".isra.0", ".cold", " [clone .part.3]", "[abi:cxx11]", "@@GLIBC_2.2.5", "\0"),
        *("(anonymous namespace)::", "non-virtual thunk to ", "\ud800", "int ", "->", "_ZN3foo"),
    ]
)
NAMES = st.lists(PIECES, max_size=14).map("".join) | st.text()


# What is compared


SIMPLER = """
_PyEval_EvalFrameDefault
0x00000000000ae9d0 → ???
pthread_mutex_lock@@GLIBC_2.2.5 → pthread_mutex_lock
exp@GLIBC_2.2.5 → exp
vectorcall_maybe.constprop.0 → vectorcall_maybe
free.cold → free
visit.isra.0.part.3.lto_priv.0 → visit
fib'2 → fib
c10::SymInt::release_() [clone .isra.0] → c10::SymInt::release_()
f(int) [clone .constprop.0] [clone .isra.0] → f(int)
c10::demangle[abi:cxx11](char const*) → c10::demangle(char const*)
at::(anonymous namespace)::wrapper(int) → at::wrapper(int)
void at::(anonymous namespace)::f<float>(float) → at::f<float>(float)
torch::PythonArgs torch::PythonArgParser::parse<6>(int) → torch::PythonArgParser::parse<…>(int)
decltype(auto) std::visit<at::Tensor>(at::Tensor) → std::visit<at::Tensor>(at::Tensor)
unsigned long* foo<int>(int) → foo<int>(int)
operator new(unsigned long)
c10::SymInt::operator c10::SymFloat() const
bool c10::operator< <long>(long, long) → c10::operator< <long>(long, long)
c10::operator<<(std::ostream&, c10::Device)
c10::operator>=(c10::SymInt const&, int)
f(int)::{lambda()#1}::operator()() const
non-virtual thunk to A::f(int)
std::vector<_object*, std::allocator<_object*> >::~vector() → std::vector<_object*>::~vector()
f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >) → f(std::string)
c10::Ptr<c10::A, c10::detail::intrusive_target_default_null_type<c10::A> >::f()
  → c10::Ptr<c10::A>::f()
c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::retain_()
  → c10::intrusive_ptr<c10::TensorImpl>::retain_()
A<torch::autograd::generated::ConvolutionBackward0>::f()
a<b(c
"""
"""Names as Callgrind writes them, and as they are compared; those alone stay as they are."""
WRAPPED = "c10::impl::wrap_kernel_functor_unboxed_<…at::wrapper_CPU_add…>"
CALLBACK = "c10::function_ref<void (char**, long const*, long, long)>::callback_fn"


def test_a_name_loses_what_means_nothing() -> None:
    """Decoration and the length of templates go, what tells functions apart stays."""
    entries = [entry.split(" → ") for entry in SIMPLER.replace("\n  →", " →").strip().splitlines()]
    expected = {entry[0]: entry[-1] for entry in entries} | {
        "": UNKNOWN,
        WRAPPER.format("add"): f"{WRAPPED}::call(c10::OperatorKernel*)",
        LOOP: f"{CALLBACK}<…native::add_kernel…>(long, char**, long const*, long, long)",
        MANGLED: MANGLED,
        (deep := "f" + "<a" * 5000 + ">" * 5000): deep,
    }

    assert expected == {name: normalised(name, "libtorch_cpu.so") for name in expected}


def test_code_of_no_object_that_starts_a_page_was_generated() -> None:
    """Other code of no object are the jumps of linkage tables; objects have addresses, too."""
    assert GENERATED == normalised("0x000000002c706000", UNKNOWN)
    assert UNKNOWN == normalised("0x000000000493d7a8", UNKNOWN)
    assert UNKNOWN == normalised("0x000000002c706000", "libm.so.6")


@given(NAMES, st.integers(2, 80))
def test_any_name_can_be_printed_and_fits_into_a_table(name: str, width: int) -> None:
    """Whatever it is; neither form is ever empty."""
    whole = normalised(name, "libc.so.6")
    shown = short(whole, width)

    assert whole.isprintable()
    assert 0 < len(shown) <= width
    assert bool(whole)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_names_of_real_profiles_stay_apart(path: Path) -> None:
    """But those that are known by their address alone."""
    functions = read(path).exclusive.keys()
    named = {
        (function.library, function.name)
        for function in functions
        if not function.name.startswith("0x")
    }

    assert len(named) == len({(library, normalised(name, library)) for library, name in named})


# Stems


@pytest.mark.parametrize(
    ("base", "new", "is_same"),
    [
        # It outlives a change of parameters, of template arguments and of the numbers of lambdas.
        ("at::add(at::Tensor const&)", "at::add(at::Tensor const&, bool)", True),
        ("at::f(int) const", "at::f(int)", True),
        ("f()::{lambda()#1}::operator()() const", "f()::{lambda()#2}::operator()() const", True),
        (WRAPPER.format("add"), WRAPPER.format("add").replace("c10::Scalar const&", "long"), True),
        # Wrappers of two operators are two functions, and so are methods of two classes.
        ("at::add(int)", "at::sub(int)", False),
        (WRAPPER.format("add"), WRAPPER.format("mul"), False),
        ("std::vector<long>::~vector()", "std::vector<c10::Device>::~vector()", False),
    ],
)
def test_a_stem_is_what_a_function_is_about(base: str, new: str, *, is_same: bool) -> None:
    """A function with other parameters is known by it."""
    first, other = (stem(normalised(name, "a.so")) for name in (base, new))

    assert is_same is (first == other)


# Short names


@pytest.mark.parametrize(
    ("function", "width", "expected"),
    [
        ("malloc", 30, "malloc"),
        ("torch::autograd::THPVariable_add(_object*)", 40, "torch::autograd::THPVariable_add"),
        ("torch::autograd::THPVariable_add(_object*)", 30, "autograd::THPVariable_add"),
        ("torch::autograd::THPVariable_add(_object*)", 8, "THPVari…"),
        ("c10::TensorImpl::data() const", 40, "c10::TensorImpl::data"),
        ("std::vector<at::Tensor>::~vector()", 40, "std::vector::~vector"),
        ("at::f(int)::{lambda()#1}::operator()() const", 40, "at::f::{lambda#1}"),
        (
            "at::f(int)::{lambda()#1}::operator()() const::{lambda()#16}::operator()() const",
            40,
            "at::f::{lambda#1#16}",
        ),
        (LOOP, 60, "c10::function_ref::callback_fn<…native::add_kernel…>"),
        (LOOP, 40, "callback_fn<…native::add_kernel…>"),
        (WRAPPER.format("add"), 41, "…or_unboxed_<…at::wrapper_CPU_add…>::call"),
        ("operator new(unsigned long)", 20, "operator new"),
        (MANGLED, 20, "_ZN3c1012function_r…"),
    ],
)
def test_a_name_is_shortened_from_its_front(function: str, width: int, expected: str) -> None:
    """The last components say the most, but not where they are as short as ``call``."""
    assert expected == short(normalised(function, "a.so"), width)


# Libraries


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("libpython3.11.so.1.0", "python"),
        ("libpython3.13t.so.1.0", "python"),
        ("python3.12", "python"),
        ("/usr/bin/python3", "python"),
        ("libgomp-a34b3233.so.1", "libgomp.so"),
        ("libc.so.6", "libc.so"),
        ("libc-2.31.so", "libc.so"),
        ("ld-linux-x86-64.so.2", "ld-linux-x86-64.so"),
        ("math.cpython-311-x86_64-linux-gnu.so", "math.so"),
        ("/nowhere/lib/libtorch.so", "libtorch.so"),
        ("timer_cpp_3141592653589793", "timer_cpp"),
        (
            "/caches-000002/53/c53k2ajefrsckadpckzmfdsbp3hh32kzu35ocwcg5gszyfdzcd5h.main.so",
            "(compiled kernel)",
        ),
        (
            "/tmp/XqA2Zk/c53k2ajefrsckadpckzmfdsbp3hh32kzu35ocwcg5gszyfdzcd5h.wrapper.so",  # noqa: S108
            "(compiled kernel)",
        ),
        ("/caches/c53k2.so", "c53k2.so"),
        (UNKNOWN, UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_library_loses_version_hash_and_platform(library: str, expected: str) -> None:
    """The interpreter is one, whether a library or a program."""
    assert expected == normalised_library(library)
