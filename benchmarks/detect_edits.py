"""The known changes of ``benchmarks.detect``: edits of torch's own sources and of its libraries.

Each has the function that it changes and the cases of ``benchmarks.detect_cases`` that execute it.
"""

import attrs

from benchmarks.detect_cases import ARGUMENTS


@attrs.frozen
class PythonEdit:
    """A text of a file of torch, as of torch 2.13, that becomes another."""

    what: str
    file: str
    function: str
    old: str
    new: str
    reaches: tuple[str, ...]


@attrs.frozen
class NativeEdit:
    """Some more instructions at the beginning of a function that a library exports."""

    name: str
    symbol: str
    times: int
    reaches: tuple[str, ...]
    library: str = "libtorch_cpu.so"

    @property
    def instructions(self) -> int:
        """How many more a call executes."""
        return 2 * self.times + 5


_MODULES = ("nn.LayerNorm", "nn.Linear", "nn.Sequential", "training")

PYTHON = (
    PythonEdit(
        "one bytecode",
        "torch/nn/functional.py",
        "relu",
        "result = torch.relu(input)\n",
        "result = torch.relu(input=input)\n",
        ("nn.functional.relu", "nn.Sequential", "training"),
    ),
    PythonEdit(
        "one bytecode",
        "torch/nn/modules/normalization.py",
        "LayerNorm.forward",
        "input, self.normalized_shape, self.weight, self.bias, self.eps",
        "input, self.normalized_shape, self.weight, self.bias, +self.eps",
        ("nn.LayerNorm",),
    ),
    PythonEdit(
        "one bytecode",
        "torch/_tensor.py",
        "Tensor.__rsub__",
        "return _C._VariableFunctions.rsub(self, other)",
        "return _C._VariableFunctions.rsub(self, other=other)",
        ("rsub",),
    ),
    PythonEdit(
        "a variable",
        "torch/nn/modules/linear.py",
        "Linear.forward",
        "        return F.linear(input, self.weight, self.bias)\n",
        "        weight = self.weight\n        return F.linear(input, weight, self.bias)\n",
        ("nn.Linear", "nn.Sequential", "training"),
    ),
    PythonEdit(
        "a variable",
        "torch/nn/modules/module.py",
        "Module._wrapped_call_impl",
        "        if self._compiled_call_impl is not None:\n",
        "        compiled = self._compiled_call_impl\n        if compiled is not None:\n",
        _MODULES,
    ),
    PythonEdit(
        "a variable",
        "torch/autograd/__init__.py",
        "backward",
        "_make_grads(tensors, grad_tensors_, is_grads_batched=False)\n    if retain_graph is None:",
        "_make_grads(tensors, grad_tensors_, is_grads_batched=False)\n"
        "    retain = retain_graph\n    if retain is None:",
        ("Function, backward", "backward", "training"),
    ),
    PythonEdit(
        "a condition",
        "torch/optim/optimizer.py",
        "Optimizer.zero_grad",
        '            "fused", False\n        )\n\n        if not hasattr(self, "_zero_grad',
        '            "fused", False\n        )\n        if foreach is None:\n'
        '            foreach = False\n\n        if not hasattr(self, "_zero_grad',
        ("SGD.zero_grad", "training"),
    ),
    PythonEdit(
        "a call",
        "torch/optim/sgd.py",
        "SGD.step",
        "            params: list[Tensor] = []\n            grads: list[Tensor] = []\n",
        "            params: list[Tensor] = list()\n            grads: list[Tensor] = []\n",
        ("SGD.step", "training"),
    ),
    PythonEdit(
        "a call",
        "torch/nn/functional.py",
        "softmax",
        "        ret = input.softmax(dim)\n",
        "        ret = input.softmax(int(dim))\n",
        ("nn.functional.softmax",),
    ),
    PythonEdit(
        "a call",
        "torch/_tensor.py",
        "Tensor.split",
        "return torch._VF.split(self, split_size, dim)",
        "return torch._VF.split(self, int(split_size), dim)",
        ("split",),
    ),
    PythonEdit(
        "a call",
        "torch/nn/modules/container.py",
        "Sequential.forward",
        "        for module in self:\n            input = module(input)\n        return input\n",
        "        for module in iter(self):\n"
        "            input = module(input)\n        return input\n",
        ("nn.Sequential", "training"),
    ),
    PythonEdit(
        "a call",
        "torch/autograd/function.py",
        "FunctionCtx.save_for_backward",
        "self.to_save = tensors",
        "self.to_save = tuple(tensors)",
        ("Function", "Function, backward"),
    ),
)
"""From one bytecode more to one call more."""

_LINEAR = ("nn.Linear", "nn.Sequential", "training")
_LINEAR_CPP = ("nn::Linear", "nn::Sequential", "training (C++)")
_RELU = ("relu", "nn.functional.relu", "nn::functional::relu")
_LOOPS = (
    *("add", "addmm", "argmax", "cumsum", "div", "exp", "gather", "mul", "sum"),
    *("rsub", "Function"),
)
_MORE_TENSORS = ("nn.functional.softmax", "rsub", "Function", "nn.LayerNorm", "nn::LayerNorm")
_BACKWARD = ("Function, backward", "backward", "training", "backward (C++)", "training (C++)")
_ALLOCATING = (*ARGUMENTS, *_MORE_TENSORS, *_RELU, *_LINEAR, *_LINEAR_CPP, *_BACKWARD)

NATIVE = (
    NativeEdit(
        "at::_ops::add_Tensor::call",
        "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE",
        3,
        ("add", "Function", "Function, backward"),
    ),
    NativeEdit(
        "at::_ops::mul_Tensor::call",
        "_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_",
        4,
        ("mul", "backward", "backward (C++)"),
    ),
    NativeEdit(
        "at::_ops::div_Tensor::call",
        "_ZN2at4_ops10div_Tensor4callERKNS_6TensorES4_",
        1,
        ("div",),
    ),
    NativeEdit(
        "at::_ops::mm::call",
        "_ZN2at4_ops2mm4callERKNS_6TensorES4_",
        6,
        ("mm", "training", "training (C++)"),
    ),
    NativeEdit(
        "at::_ops::t::call",
        "_ZN2at4_ops1t4callERKNS_6TensorE",
        2,
        (*_LINEAR, *_LINEAR_CPP),
    ),
    NativeEdit(
        "at::_ops::relu::call",
        "_ZN2at4_ops4relu4callERKNS_6TensorE",
        8,
        (*_RELU, "nn.Sequential", "training", "nn::Sequential", "training (C++)"),
    ),
    NativeEdit(
        "at::_ops::_softmax::call",
        "_ZN2at4_ops8_softmax4callERKNS_6TensorElb",
        10,
        ("softmax", "nn.functional.softmax"),
    ),
    NativeEdit(
        "at::_ops::native_layer_norm::call",
        "_ZN2at4_ops17native_layer_norm4callERKNS_6TensorEN3c108ArrayRefINS5_6SymIntEEE"
        "RKSt8optionalIS2_ESC_d",
        5,
        ("nn.LayerNorm", "nn::LayerNorm"),
    ),
    NativeEdit(
        "at::_ops::add__Tensor::call",
        "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE",
        7,
        ("SGD.step", "SGD::step", *_BACKWARD),
    ),
    NativeEdit(
        "torch::autograd::Engine::execute",
        "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EE"
        "RKS2_IN2at6TensorESaIS9_EEbbbS7_",
        15,
        _BACKWARD,
    ),
    NativeEdit(
        "at::TensorIteratorBase::build",
        "_ZN2at18TensorIteratorBase5buildERNS_20TensorIteratorConfigE",
        5,
        (*_LOOPS, *_RELU, *_LINEAR, *_LINEAR_CPP, "SGD.step", "SGD::step", *_BACKWARD),
    ),
    NativeEdit(
        "c10::GetCPUAllocator",
        "_ZN3c1015GetCPUAllocatorEv",
        8,
        _ALLOCATING,
        "libc10.so",
    ),
    NativeEdit(
        "c10::alloc_cpu",
        "_ZN3c109alloc_cpuEm",
        4,
        _ALLOCATING,
        "libc10.so",
    ),
    NativeEdit(
        "_M_insert_unique_node",
        "_ZNSt10_HashtableIPN5torch8autograd4NodeES3_SaIS3_ENSt8__detail9_IdentityESt8equal_toIS3_E"
        "St4hashIS3_ENS5_18_Mod_range_hashingENS5_20_Default_ranged_hashENS5_20_Prime_rehash_policyE"
        "NS5_17_Hashtable_traitsILb0ELb1ELb1EEEE21_M_insert_unique_nodeEmmPNS5_10_Hash_nodeIS3_Lb0EEEm",
        9,
        _BACKWARD,
    ),
)
"""From 7 to 35 instructions more at each call, which is less than 1% of any case."""

DATA_CAUSES = {
    "in a tuple": "PyObject_RichCompare",
    "a copied dictionary": "(?i)dict",
    "a formatted text": "(?i)unicode",
}
"""Where the same code spends more instructions on more data."""
