"""Which layer a function belongs to, by names as Callgrind writes them."""

import pytest

from instruction_counts.analysis.attribution.layers import Layer, layer_of

FUNCTIONS = {
    Layer.INTERPRETER: """
libpython3.11.so.1.0 _PyEval_EvalFrameDefault
/usr/bin/python3.12 take_gil
math.cpython-311-x86_64-linux-gnu.so math_sqrt
""",
    Layer.GUARDS: """
libtorch_python.so dynamo__custom_eval_frame
libtorch_python.so set_eval_frame_py
libtorch_python.so extra_state_get_region_exec_strategy
libtorch_python.so lookup
libtorch_python.so ExtraState::move_to_front(CacheEntry*, std::list<CacheEntry>&)
libtorch_python.so FrameLocalsMapping::get(int)
libtorch_python.so torch::dynamo::run_root_guard_manager(void*, FrameLocalsMapping*)
libtorch_python.so torch::dynamo::(anonymous namespace)::TENSOR_MATCH::check_nopybind(_object*)
libtorch_python.so bool torch::dynamo::(anonymous namespace)::GuardManager::check<F>(F*)
""",
    Layer.BINDINGS: """
libtorch_python.so torch::autograd::THPVariable_add(_object*, _object*, _object*)
libtorch_python.so torch::PythonArgs::tensor(int) [clone .constprop.0]
libtorch_python.so pybind11::gil_scoped_acquire::gil_scoped_acquire()
libtorch_python.so torch::jit::toPyObject(c10::IValue)
libc10.so c10::WarningUtils::get_warning_handler()
""",
    Layer.DISPATCHER: """
libtorch_cpu.so at::_ops::add_Tensor::call(at::Tensor const&)
libtorch_cpu.so c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const
libtorch_cpu.so c10::Dispatcher::callBoxed(int) const [clone .isra.0]
libtorch_cpu.so c10::impl::wrap_kernel_functor_unboxed_<a<at::native::b> >::call()
libtorch_cpu.so at::getStepCallbacksUnlessEmpty(at::RecordScope)
""",
    Layer.AUTOGRAD: """
libtorch_cpu.so torch::autograd::VariableType::(anonymous namespace)::add_Tensor(int)
libtorch_cpu.so torch::ADInplaceOrView::(anonymous namespace)::t(int)
libtorch_cpu.so torch::autograd::Node::~Node()
case.so torch::autograd::Node::Node(unsigned long)
libc10.so c10::GradMode::is_enabled()
libtorch_cpu.so std::vector<torch::autograd::Edge>::~vector()
""",
    Layer.TORCHSCRIPT: """
libtorch_cpu.so c10::IValue::destroy()
libtorch_cpu.so bool torch::jit::InterpreterStateImpl::runTemplate<false>(int)
libtorch_python.so std::vector<c10::IValue, std::allocator<c10::IValue> >::~vector()
""",
    Layer.TENSOR: """
libc10.so c10::TensorImpl::~TensorImpl()
libtorch_cpu.so std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()
libtorch_cpu.so c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::retain_()
""",
    Layer.KERNELS: """
libtorch_cpu.so at::native::copy_impl(at::Tensor&) [clone .isra.0]
libtorch_cpu.so at::(anonymous namespace)::wrapper_CPU_add_Tensor(at::Tensor const&)
libtorch_cpu.so void c10::function_ref<void (char**)>::callback_fn<at::a>(long)
libtorch_cpu.so _ZN3c1012function_refIFvPPcPKlllEE11callback_fn
libtorch_cpu.so mkl_blas_avx2_sgemm_kernel
libtorch_cpu.so SGEMM
libtorch_cpu.so dnnl_memory_create
libtorch_cpu.so std::unique_ptr<dnnl_attr> dnnl::impl::utils::make_unique<dnnl_attr>()
libtorch_cpu.so std::_Hashtable<int, std::pair<int const, dnnl::memory> >::clear()
libgomp-a34b3233.so.1 omp_get_max_threads
??? 0x000000002c706000
""",
    Layer.CACHING_ALLOCATOR: """
libc10_cuda.so c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(int)
libc10_cuda.so std::_Rb_tree<c10::cuda::CUDACachingAllocator::Native::Block*>::erase(int)
libc10.so c10::CachingAllocator::AcceleratorAllocatorConfig::instance()
libtorch_cuda.so at::CachingHostAllocatorImpl<c10::cuda::CUDAStream>::allocate(unsigned long)
""",
    Layer.CUDA: """
libcudart.so.13 __cudaLaunchKernel
libcublasLt.so.13 cublasLtMatmul
libc10_cuda.so c10::cuda::c10_cuda_check_implementation(int)
libtorch_cuda.so bool at::cuda::blas::gemm_and_bias<float, float>(bool)
libtorch_cuda.so void at::native::launch_legacy_kernel<128, 4>(long, int const&)
""",
    Layer.ALLOCATOR: """
steady.so align
libc.so.6 _int_free
libstdc++.so.6.0.30 operator new(unsigned long)
libpython3.11.so.1.0 PyObject_Malloc
libc10.so c10::DefaultCPUAllocator::allocate(unsigned long)
""",
    Layer.SYSTEM: """
ld-linux-x86-64.so.2 __tls_get_addr
libc.so.6 pthread_mutex_lock@@GLIBC_2.2.5
libc-2.31.so __memcpy_avx_unaligned_erms
libstdc++.so.6.0.30 0x00000000000ae9d0
libtorch_cpu.so std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>::_M_release()
??? 0x000000000493d7a8
""",
    Layer.CASE: """
case.so Cube::forward(at::Tensor)
libffi.so.8.1.2 0x0000000000006250
""",
    Layer.CPP: """
libtorch_cpu.so torch::nn::LinearImpl::forward(at::Tensor const&)
case.so at::Tensor torch::nn::SequentialImpl::forward<int>(int)
""",
    Layer.OTHER: """
_native.cpython-311-x86_64-linux-gnu.so weigh(float const*)
_C.so weigh(float const*)
libtorch_cpu.so check_strategy
libfancy.so render
""",
}
"""By layer: the library, and the function as Callgrind writes it."""


@pytest.mark.parametrize("layer", FUNCTIONS, ids=lambda layer: layer.value)
def test_a_function_belongs_to_its_layer(layer: Layer) -> None:
    """By its own name, and not by those in its template arguments, return type or parameters."""
    for line in FUNCTIONS[layer].strip().splitlines():
        library, _, function = line.partition(" ")
        assert layer is layer_of(function, library), line
