"""Which layer of PyTorch, or of what lies below it, a function belongs to.

The table is all there is to it: library, beginning of the function's name, layer; the first row
that fits counts. Names alone decide, so a function belongs to one layer whoever calls it, and the
boundaries are judgements: `at::native` is a kernel even where it only calls another operator, and
containers of the C++ library go to the layer of what they contain, where the name tells.
"""

import enum
import functools
import re
import sys

from instruction_counts.analysis.attribution.names import (
    GENERATED,
    KERNEL_LIBRARY,
    UNKNOWN,
    normalised,
    qualified,
)


class Layer(enum.Enum):
    """The layers, from the statement down to the machine."""

    CASE = "the case itself"
    INTERPRETER = "interpreter"
    GUARDS = "guards and cache"
    BINDINGS = "bindings"
    CPP = "C++ API"
    TORCHSCRIPT = "TorchScript"
    DISPATCHER = "dispatcher"
    AUTOGRAD = "autograd"
    TENSOR = "tensor"
    KERNELS = "kernels"
    CACHING_ALLOCATOR = "caching allocator"
    CUDA = "CUDA launch"
    ALLOCATOR = "allocator"
    SYSTEM = "libc, loader"
    OTHER = "other"


def _rule(
    layer: Layer, library: str, *functions: str
) -> tuple[Layer, re.Pattern[str], re.Pattern[str]]:
    return layer, re.compile(library), re.compile("|".join(functions))


_ANY = r".*"
_OF_CUDA = (
    r"lib(?:cuda|cudart|cublas(?:Lt)?|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse(?:Lt)?|nccl"
    r"|nv[\w-]+)\.so.*"
)
"""CUDA's libraries, or their stand-ins."""
_BINDINGS = r"libtorch_python\.so"
_STD = r"(?:std|__gnu_cxx)::.*"
"""The C++ library, with what follows somewhere among its template arguments."""
_STANDARD = "|".join(sys.stdlib_module_names)
"""Modules of Python itself; extension modules of others are theirs."""

_RULES = (
    # Memory, whoever manages it; what reports to its profiler belongs to it.
    _rule(Layer.ALLOCATOR, r"steady\.so|lib(?:jemalloc|tcmalloc|mimalloc).*", _ANY),
    _rule(
        Layer.ALLOCATOR,
        _ANY,
        r"operator (?:new|delete)",
        r"(?:__libc_|_int_|__GI___libc_)?(?:malloc|calloc|realloc|free|memalign)$",
        r"(?:posix_memalign|aligned_alloc|malloc_consolidate|systrim\b.*|sysmalloc|unlink_chunk)$",
        r"(?:tcache_\w+|_mid_memalign|arena_get2|ptmalloc_init)$",
        r"_?Py(?:Mem|Object)_(?:Raw)?(?:Malloc|Calloc|Realloc|Free)$|pymalloc_",
        r"c10::(?:alloc_cpu|free_cpu|c10_compute_alignment|NUMA|GetCurrentNUMANode)",
        r"c10::(?:GetCPUAllocator|GetAllocator|SetAllocator|DefaultCPUAllocator)",
        r"c10::(?:Profiled|profiled)CPUMemoryReporter|c10::(?:memoryProfiling|reportMemory)",
        r"c10::(?:ThreadLocalDebugInfo|tls_debug_info)|c10::SmallVectorBase<.*mallocForGrow",
    ),
    # Torch's memory on a device, and pinned memory; then what leads to CUDA, and CUDA itself.
    _rule(
        Layer.CACHING_ALLOCATOR,
        _ANY,
        r"c10::(?:cuda::CUDACachingAllocator|CachingAllocator|CachingDeviceAllocator)",
        r"at::(?:CachingHostAllocator|HostBlock)",
        r"(?:std|ska)::.*(?:CUDACachingAllocator|c10::CachingAllocator|at::HostBlock)",
    ),
    _rule(
        Layer.CUDA,
        _ANY,
        r"(?:c10|at)::cuda::|c10::CUDA|cudnn_frontend::|(?:\(anonymous namespace\)::)?CuBlas",
        r"at::native::(?:\(anonymous namespace\)::)?launch_\w+kernel|__device_stub",
    ),
    _rule(Layer.CUDA, _OF_CUDA, _ANY),
    # What calls a compiled case.
    _rule(Layer.CASE, r"libffi\..*|_ctypes\..*", _ANY),
    # Python. Its own extension modules are part of it; others look the same.
    _rule(Layer.INTERPRETER, r"(?:lib)?python[0-9.]*[a-z]?(?:\.so.*)?", _ANY),
    # Before a compiled function is called; what generated code calls is in other layers.
    _rule(
        Layer.GUARDS,
        _BINDINGS,
        r"torch::dynamo::(?!_|autograd::|assert_size_stride|unwrap_size|reinterpret_tensor)",
        r"dynamo_|(?:get_|set_|init_and_set_|destroy_)?(?:eval_frame|extra_state|frame_execution)",
        r"set_skip_guard|try_lookup|lookup$|root_guard_manager|run_root_guard|create_cache_entry",
        r"(?:get_|extract_)?cache_entry|CacheEntry|ExtraState|FrameLocals|get_framelocals",
    ),
    _rule(Layer.KERNELS, KERNEL_LIBRARY.pattern, _ANY),
    # The names that are as telling wherever they were instantiated.
    _rule(
        Layer.DISPATCHER,
        _ANY,
        r"c10::(?:Dispatcher|OperatorHandle|OperatorEntry|KernelFunction|BoxedKernel|impl)\b",
        r"c10::(?:DispatchKey|TypedOperatorHandle|getRuntimeDispatchKeySet|FunctionSchema)",
        r"c10::(?:backendToDispatchKey|dispatchKeyTo|computeDispatchKey|isBackendDispatchKey)",
        r"at::(?:_ops|redispatch)::|torch::Library\b|torch::profiler",
        r"at::(?:RecordFunction|getStepCallbacks|StepCallbacks|CacheEntry|record_function)",
        r"at::(?:LocalCallbackManager|GlobalCallbackManager|get_record_function)",
        r"c10::SmallVectorImpl<at::StepCallbacks",
        r"at::impl::(?:PythonTorchFunctionTLS|torch_function_mode|PythonMode|tls_)",
    ),
    _rule(
        Layer.AUTOGRAD,
        _ANY,
        r"torch::autograd::(?:VariableType|VariableHooks|generated|impl|detail|Engine)::",
        r"torch::(?:ADInplaceOrView|TraceType|dynamo)::",
        r"c10::(?:GradMode|InferenceMode|AutogradState|AutoGradMode|AutogradMeta)",
        r"at::(?:ThreadLocalState|SavedTensorDefaultHooks|autocast|AutoDispatch|caching)",
        r"at::(?:functionalization|set_dtensor|get_dtensor)",
        r"at::impl::(?:ThreadLocalPythonObjects|VariableHooks|GetVariableHooks)",
        rf"{_STD}(?:SafePyObject|torch::autograd::)",
    ),
    # Bindings are what is written for Python, not what of other layers is inlined into it.
    _rule(Layer.BINDINGS, _BINDINGS, r"(?!(?:std|__gnu_cxx|at|c10)::)", rf"{_STD}_object"),
    _rule(Layer.BINDINGS, _ANY, r"c10::WarningUtils|pybind11::|THP|torch::Py"),
    _rule(
        Layer.TORCHSCRIPT,
        _ANY,
        r"torch::jit::",
        r"c10::(?:IValue|ivalue|Type\b|\w+Type::|QualifiedName|Symbol|checked|Dict\b|List\b)",
        r"c10::(?:detail::(?:ListImpl|DictImpl)|(?:weak_)?intrusive_ptr<c10::(?:ivalue|detail))",
        r"(?:std|__gnu_cxx|ska|ska_ordered)::.*(?:torch::jit|c10::IValue|c10::\w*Type\b)",
    ),
    _rule(
        Layer.AUTOGRAD,
        _ANY,
        r"torch::autograd::",
        r"c10::(?:intrusive_ptr|weak_intrusive_ptr|SmallVector\w*)<torch::autograd",
    ),
    # What computes: operators, and the libraries that they use.
    _rule(
        Layer.KERNELS,
        _ANY,
        r"at::(?:native|cpu|compositeexplicit\w*|compositeimplicit\w*|vec|cpublas|mkldnn)::",
        r"at::(?:wrapper_|structured_|sdp)|sdp::",
        r"at::(?:CPUGeneratorImpl|mt19937|philox|check_uniform|Reduction)",
        r"at::(?:parallel|internal::|lazy_init_num_threads|get_num_threads|in_parallel_region)",
        r"at::(?:get_thread_num|init_num_threads|intraop|launch|globalContext|Context::)",
        r"c10::(?:ParallelGuard|function_ref)|cpu_alloc|ittnotify|__itt",
        r"(?:.*\b)?(?:dnnl|ideep|mkldnn)(?:_|::)",
        r"(?i:xbyak|fbgemm|asmjit|cpuinfo|pthreadpool|xnn|qnnp|nnpack|sleef|mkl|fpk_|cblas_|lapack)",
        r"(?i:blas_|vml|vdt|vsl|v[msd][sd]?(?:exp|tanh|sqrt|log|sin|cos|erf|pow))",
        r"(?i:[sdcz](?:gemm|gemv|dot|axpy|scal|trsm|syrk|ger)(?![a-z]))",
        r"_ZN(?:K?2at6native|3c1012function_ref|4dnnl|5ideep)",
        rf"{_STD}(?:at::native|at::vec|cpu_alloc)",
    ),
    _rule(Layer.KERNELS, r"lib(?:gomp|omp|iomp5|mkl|openblas|dnnl|sleef|blas|lapack).*", _ANY),
    _rule(Layer.KERNELS, _ANY, rf"{re.escape(GENERATED)}$"),
    _rule(Layer.CPP, _ANY, r"torch::(?!headeronly|detail)", rf"{_STD}torch::(?:nn|optim|enumtype)"),
    # What is left of PyTorch's own.
    _rule(Layer.TENSOR, _ANY, r"(?:at|c10|caffe2|torch)::", rf"{_STD}(?:at|c10)::"),
    _rule(Layer.BINDINGS, _BINDINGS, _ANY),
    _rule(Layer.CASE, r"case\.so|timer.*|callgrind_.*", _ANY),
    # What is left of the rest.
    _rule(Layer.INTERPRETER, rf"(?:{_STANDARD})\.(?:cpython-|abi3).*", _ANY),
    _rule(Layer.SYSTEM, r"lib(?:c|m|pthread|dl|rt|util|stdc\+\+|gcc_s|c\+\+|c\+\+abi)[-.].*", _ANY),
    _rule(Layer.SYSTEM, r"ld[-.].*|linux-vdso.*|\[vdso\]", _ANY),
    _rule(Layer.SYSTEM, _ANY, _STD, r"__cxa_|__gxx_|_Unwind_|__cxxabiv1|__tls_|__dynamic_cast"),
    # Code without an object jumps to another one: the interpreter's and the loader's tables do.
    _rule(Layer.SYSTEM, r"\?\?\?", r"\?\?\?$"),
)


@functools.lru_cache(maxsize=32_768)
def layer_of(function: str, library: str) -> Layer:
    """The layer of a function, by its name as Callgrind wrote it and by the library's."""
    name = normalised(function, library)
    if name != GENERATED:
        name = qualified(function)
    library = library.rpartition("/")[2] or UNKNOWN
    for layer, libraries, functions in _RULES:
        if libraries.fullmatch(library) and functions.match(name):
            return layer
    return Layer.OTHER
