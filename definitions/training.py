"""Small mixed blocks, backward passes, optimizers, gradient modes and the dispatcher."""

from core.api import (
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Language,
    TimerArgs,
)
from core.types import Definition
from core.utils import parse_stmts
from definitions.setup import Setup

MESOSCALE: Definition = {
    "Standardised columns": GroupedStmts(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        centred = x - x.mean(0)                  | auto centred = x - x.mean(0);
        spread = centred.square().mean(0)        | auto spread = centred.square().mean(0);
        z = centred / (spread + 1e-5).sqrt()     | auto z = centred / (spread + 1e-5).sqrt();
        """),
        setup=Setup.MESOSCALE.value,
        signature="f(x) -> z",
        torchscript=True,
    ),
    "Gated sum": GroupedStmts(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        gate = torch.sigmoid(x @ y - bias)       | auto gate = torch::sigmoid(x.mm(y) - bias);
        z = gate * x + (1 - gate) * y            | auto z = gate * x + (1 - gate) * y;
        """),
        setup=Setup.MESOSCALE.value,
        signature="f(x, y, bias) -> z",
        torchscript=True,
    ),
    "Shifted rows": GroupedStmts(
        """
        shifted = torch.cat([x[1:], x[:1]])
        z = torch.where(eye_4 > 0, bias, shifted)
        """,
        setup=Setup.MESOSCALE.value,
        signature="f(x, bias, eye_4) -> z",
        torchscript=True,
    ),
    "Softmax by hand": GroupedStmts(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        e = (x - x.amax(1, True)).exp()          | auto e = (x - x.amax(1, true)).exp();
        z = e / e.sum(1, True)                   | auto z = e / e.sum(1, true);
        """),
        setup=Setup.MESOSCALE.value,
    ),
}

_CUSTOM_FUNCTION = GroupedSetup(
    """
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    w = torch.ones((1,), requires_grad=True)
    """,
    "auto w = torch::ones({1}, torch::requires_grad());",
    """
    struct Cube : torch::autograd::Function<Cube> {
        static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x) {
            ctx->save_for_backward({x});
            return x * x * x;
        }

        static torch::autograd::variable_list backward(
            torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
            auto x = ctx->get_saved_variables()[0];
            return {3 * x * x * grads[0]};
        }
    };
    """,
)

TRAINING: Definition = {
    "Regression": GroupedStmts(
        "loss = (x * w0 + w1 - y).square().sum()",
        "auto loss = (x * w0 + w1 - y).square().sum();",
        setup=Setup.TRAINING.value,
        signature="f(x, y, w0, w1) -> loss",
        torchscript=True,
        autograd=True,
    ),
    "Shared weight": GroupedStmts(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        h = torch.tanh(x * w0)                   | auto h = torch::tanh(x * w0);
        h = torch.tanh(h * w0)                   | h = torch::tanh(h * w0);
        h = torch.tanh(h * w0)                   | h = torch::tanh(h * w0);
        loss = (h * w2).sum()                    | auto loss = (h * w2).sum();
        """),
        setup=Setup.TRAINING.value,
        signature="f(x, w0, w2) -> loss",
        autograd=True,
    ),
    "Custom function": GroupedStmts(
        "loss = Cube.apply(w)",
        "auto loss = Cube::apply(w);",
        setup=_CUSTOM_FUNCTION,
        signature="f(w) -> loss",
        autograd=True,
    ),
    "Multilayer perceptron": GroupedModules(
        """
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 4),
            torch.nn.ReLU(),
            torch.nn.Linear(4, 1),
        )
        """,
        """
        torch::nn::Sequential model(
            torch::nn::Linear(4, 4),
            torch::nn::ReLU(),
            torch::nn::Linear(4, 1)
        );
        """,
        setup=GroupedSetup("x = torch.ones((1, 4))", "auto x = torch::ones({1, 4});"),
        signature="f(x) -> y",
        autograd=True,
        num_threads=(1, 2),
    ),
    "Convolution": GroupedModules(
        "model = torch.nn.Conv2d(4, 1, 4)",
        "auto model = torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 1, 4));",
        setup=GroupedSetup("x = torch.ones((1, 4, 4, 4))", "auto x = torch::ones({1, 4, 4, 4});"),
        signature="f(x) -> y",
        autograd=True,
    ),
}

_PARAMETER = GroupedSetup(
    *parse_stmts(r"""
    Python                                   | C++
    ---------------------------------------- | ----------------------------------------
    x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
    w = torch.ones((4, 4))                   | auto w = torch::ones({4, 4});
    w.requires_grad_()                       | w.requires_grad_();
    w.grad = torch.ones((4, 4))              | w.mutable_grad() = torch::ones({4, 4});
                                             | std::vector<torch::Tensor> parameters{w};
    """)
)
_SGD = GroupedSetup(
    f"{_PARAMETER.py_setup}\noptimizer = torch.optim.SGD([w], lr=1e-3)",
    f"{_PARAMETER.cpp_setup}\ntorch::optim::SGD optimizer(parameters, 1e-3);",
)
_ADAM = GroupedSetup(
    f"{_PARAMETER.py_setup}\noptimizer = torch.optim.Adam([w], lr=1e-3)",
    f"{_PARAMETER.cpp_setup}\ntorch::optim::Adam optimizer(parameters, 1e-3);",
)

OPTIMIZERS: Definition = {
    "SGD step": GroupedStmts("optimizer.step()", "optimizer.step();", setup=_SGD),
    "Adam step": GroupedStmts("optimizer.step()", "optimizer.step();", setup=_ADAM),
    "zero_grad, keeping the memory": GroupedStmts(
        "optimizer.zero_grad(set_to_none=False)",
        "optimizer.zero_grad(/*set_to_none=*/false);",
        setup=_SGD,
    ),
    "Training iteration": GroupedStmts(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        optimizer.zero_grad()                    | optimizer.zero_grad();
        loss = (x @ w - 1.0).square().mean()     | auto loss = (x.mm(w) - 1.0).square().mean();
        loss.backward()                          | loss.backward();
        optimizer.step()                         | optimizer.step();
        """),
        setup=_SGD,
    ),
}

INFERENCE_MODE: Definition = {
    None: GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
        w = torch.ones((4, 4))                   | auto w = torch::ones({4, 4});
        w.requires_grad_()                       | w.requires_grad_();

        # @Switch, no_grad                       | // @Switch, no_grad
        with torch.no_grad(): pass               | torch::NoGradGuard guard;

        # @Switch, inference_mode                | // @Switch, inference_mode
        with torch.inference_mode(): pass        | c10::InferenceMode guard;

        # @add, recorded                         | // @add, recorded
        w + 1.0                                  | w + 1.0;

        # @add, no_grad                          | // @add, no_grad
        with torch.no_grad(): w + 1.0            | torch::NoGradGuard guard; w + 1.0;

        # @add, inference_mode                   | // @add, inference_mode
        with torch.inference_mode(): w + 1.0     | c10::InferenceMode guard; w + 1.0;
        """)
    ),
    "View of an inference tensor": TimerArgs(
        "auto z = x.view({2, 8});",
        "c10::InferenceMode guard;\nauto x = torch::ones({4, 4});",
        language=Language.CPP,
    ),
}

_ADD = """
auto x = torch::ones({4, 4});
auto y = torch::ones({4, 4});
auto& dispatcher = c10::Dispatcher::singleton();
auto add = dispatcher.findSchemaOrThrow("aten::add", "Tensor")
    .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
"""
_DISPATCHER_H = "#include <ATen/core/dispatch/Dispatcher.h>"

DISPATCHER: Definition = {
    "C++": {
        "Typed call": TimerArgs(
            "auto z = add.call(x, y, 1);", _ADD, _DISPATCHER_H, language=Language.CPP
        ),
        "Boxed call": TimerArgs(
            "torch::jit::Stack stack{x, y, 1};\nadd.callBoxed(stack);",
            _ADD,
            _DISPATCHER_H,
            language=Language.CPP,
        ),
        "Redispatch to CPU": TimerArgs(
            "auto z = add.redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), x, y, 1);",
            _ADD,
            _DISPATCHER_H,
            language=Language.CPP,
        ),
        "No dispatcher": TimerArgs(
            "auto z = at::cpu::add(x, y);",
            _ADD,
            f"{_DISPATCHER_H}\n#include <ATen/CPUFunctions.h>",
            language=Language.CPP,
        ),
        "Operator by name": TimerArgs(
            'auto found = dispatcher.findSchemaOrThrow("aten::add", "Tensor");',
            _ADD,
            _DISPATCHER_H,
            language=Language.CPP,
        ),
    },
    "Python": {
        "Operator": TimerArgs("torch.ops.aten.add(x, x)", "x = torch.ones((4, 4))"),
        "Operator overload": TimerArgs("torch.ops.aten.add.Tensor(x, x)", "x = torch.ones((4, 4))"),
        "Subclass": TimerArgs(
            "x + x",
            """
            class Subclass(torch.Tensor):
                pass

            x = torch.ones((4, 4)).as_subclass(Subclass)
            """,
        ),
    },
}
