"""Which layer a function belongs to, by names as Callgrind writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.layers import Layer, layer_of
from instruction_counts.engines.callgrind.reading import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "callgrind"
STORED = sorted(set(FIXTURES.glob("*.out")) - {FIXTURES / "four_parts.out"})

CPU = "libtorch_cpu.so"
PYTHON = "libtorch_python.so"


@pytest.mark.parametrize(
    ("function", "library", "expected"),
    [
        # Python
        ("_PyEval_EvalFrameDefault", "libpython3.11.so.1.0", Layer.INTERPRETER),
        ("take_gil", "python3.12", Layer.INTERPRETER),
        ("take_gil", "python", Layer.INTERPRETER),
        ("math_sqrt", "math.cpython-311-x86_64-linux-gnu.so", Layer.INTERPRETER),
        ("_PyObject_FreeInstanceAttributes", "libpython3.11.so.1.0", Layer.INTERPRETER),
        # Bindings
        ("torch::autograd::THPVariable_add(_object*, _object*, _object*)", PYTHON, Layer.BINDINGS),
        ("torch::PythonArgs::tensor(int) [clone .constprop.0]", PYTHON, Layer.BINDINGS),
        ("pybind11::gil_scoped_acquire::gil_scoped_acquire()", PYTHON, Layer.BINDINGS),
        ("THPUtils_unpackLong(_object*)", PYTHON, Layer.BINDINGS),
        ("torch::jit::toPyObject(c10::IValue)", PYTHON, Layer.BINDINGS),
        ("c10::WarningUtils::get_warning_handler()", "libc10.so", Layer.BINDINGS),
        # Dispatcher
        ("at::_ops::add_Tensor::call(at::Tensor const&)", CPU, Layer.DISPATCHER),
        ("at::_ops::add_Tensor::redispatch(c10::DispatchKeySet)", CPU, Layer.DISPATCHER),
        ("c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const", CPU, Layer.DISPATCHER),
        ("c10::Dispatcher::callBoxed(int) const [clone .isra.0]", CPU, Layer.DISPATCHER),
        (
            "c10::impl::wrap_kernel_functor_unboxed_<a<at::native::b> >::call()",
            CPU,
            Layer.DISPATCHER,
        ),
        ("at::getStepCallbacksUnlessEmpty(at::RecordScope)", CPU, Layer.DISPATCHER),
        # Autograd
        (
            "torch::autograd::VariableType::(anonymous namespace)::add_Tensor(c10::DispatchKeySet)",
            CPU,
            Layer.AUTOGRAD,
        ),
        ("torch::ADInplaceOrView::(anonymous namespace)::t(int)", CPU, Layer.AUTOGRAD),
        ("torch::autograd::Node::~Node()", CPU, Layer.AUTOGRAD),
        ("torch::autograd::Node::Node(unsigned long)", "case.so", Layer.AUTOGRAD),
        ("c10::GradMode::is_enabled()", "libc10.so", Layer.AUTOGRAD),
        ("std::vector<torch::autograd::Edge>::~vector()", CPU, Layer.AUTOGRAD),
        # TorchScript
        ("bool torch::jit::InterpreterStateImpl::runTemplate<false>(int)", CPU, Layer.TORCHSCRIPT),
        (
            "std::vector<c10::IValue, std::allocator<c10::IValue> >::~vector()",
            PYTHON,
            Layer.TORCHSCRIPT,
        ),
        ("c10::IValue::destroy()", CPU, Layer.TORCHSCRIPT),
        # Tensors
        ("c10::TensorImpl::~TensorImpl()", "libc10.so", Layer.TENSOR),
        ("at::TensorIteratorBase::build(at::TensorIteratorConfig&)", CPU, Layer.TENSOR),
        ("at::detail::empty_generic(c10::ArrayRef<long>)", CPU, Layer.TENSOR),
        ("std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()", CPU, Layer.TENSOR),
        (
            "c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::retain_()",
            CPU,
            Layer.TENSOR,
        ),
        # Kernels
        ("at::native::copy_impl(at::Tensor&) [clone .isra.0]", CPU, Layer.KERNELS),
        (
            "at::(anonymous namespace)::wrapper_CPU_add_Tensor(at::Tensor const&)",
            CPU,
            Layer.KERNELS,
        ),
        ("void c10::function_ref<void (char**)>::callback_fn<at::a>(long)", CPU, Layer.KERNELS),
        ("_ZN3c1012function_refIFvPPcPKlllEE11callback_fn", CPU, Layer.KERNELS),
        ("mkl_blas_avx2_sgemm_kernel", CPU, Layer.KERNELS),
        ("SGEMM", CPU, Layer.KERNELS),
        ("dnnl_memory_create", CPU, Layer.KERNELS),
        (
            "std::unique_ptr<dnnl_attr> dnnl::impl::utils::make_unique<dnnl_attr>()",
            CPU,
            Layer.KERNELS,
        ),
        ("std::_Hashtable<int, std::pair<int const, dnnl::memory> >::clear()", CPU, Layer.KERNELS),
        ("omp_get_max_threads", "libgomp-a34b3233.so.1", Layer.KERNELS),
        ("0x000000002c706000", "???", Layer.KERNELS),
        # Allocators
        ("malloc", "steady.so", Layer.ALLOCATOR),
        ("align", "steady.so", Layer.ALLOCATOR),
        ("malloc", "libc.so.6", Layer.ALLOCATOR),
        ("_int_free", "libc.so.6", Layer.ALLOCATOR),
        ("operator new(unsigned long)", "libstdc++.so.6.0.30", Layer.ALLOCATOR),
        ("PyObject_Malloc", "libpython3.11.so.1.0", Layer.ALLOCATOR),
        ("c10::DefaultCPUAllocator::allocate(unsigned long)", "libc10.so", Layer.ALLOCATOR),
        # The system
        ("__tls_get_addr", "ld-linux-x86-64.so.2", Layer.SYSTEM),
        ("pthread_mutex_lock@@GLIBC_2.2.5", "libc.so.6", Layer.SYSTEM),
        ("__memcpy_avx_unaligned_erms", "libc-2.31.so", Layer.SYSTEM),
        ("0x00000000000ae9d0", "libstdc++.so.6.0.30", Layer.SYSTEM),
        ("std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>::_M_release()", CPU, Layer.SYSTEM),
        ("0x000000000493d7a8", "???", Layer.SYSTEM),
        # The case, and what is in none of these
        ("Cube::forward(at::Tensor)", "case.so", Layer.CASE),
        ("0x0000000000006250", "libffi.so.8.1.2", Layer.CASE),
        ("torch::nn::LinearImpl::forward(at::Tensor const&)", CPU, Layer.CPP),
        ("at::Tensor torch::nn::SequentialImpl::forward<int>(int)", "case.so", Layer.CPP),
        ("check_strategy", CPU, Layer.OTHER),
        ("render", "libfancy.so", Layer.OTHER),
        ("", "", Layer.SYSTEM),
    ],
)
def test_a_function_belongs_to_its_layer(function: str, library: str, expected: Layer) -> None:
    """By its own name, and not by those in its template arguments, return type or parameters."""
    assert expected is layer_of(function, library)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_program_in_c_is_system_allocator_and_what_is_its_own(path: Path) -> None:
    """Nothing of PyTorch is seen in programs that have nothing of it."""
    functions = read(path).exclusive.keys()

    assert {layer_of(function.name, function.object_name) for function in functions} <= {
        Layer.SYSTEM,
        Layer.ALLOCATOR,
        Layer.OTHER,
    }


@given(st.text(), st.text())
def test_every_function_has_a_layer(function: str, library: str) -> None:
    """Whatever it is called."""
    assert layer_of(function, library) in Layer


def test_a_layer_is_known_by_the_name_of_the_library_alone() -> None:
    """Its folder does not matter."""
    assert layer_of("f", "/opt/libpython3.11.so.1.0") is layer_of("f", "libpython3.11.so.1.0")
