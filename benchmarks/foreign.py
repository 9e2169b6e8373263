"""The foreign set: Python cases of what users of PyTorch write, none of which the suite has.

It checks that counts hold for cases that the program was not tuned to. What matters is therefore
how many different paths through Python and torch the cases take, not what any one of them costs:

    python main.py list --definitions benchmarks/foreign.py

A case is chosen for being ordinary in somebody's code, and is not changed because it is hard to
count. Every statement can be repeated as often as wanted: values and graphs do not grow, and the
work stays the same. Memory does not grow either where garbage is collected; what torch and Python
make on the way (``torch.func``, pytree, ``checkpoint``, pickling) can hold cycles of references.
None draws random numbers, but for loading data, with a generator that the statement seeds.
"""

from collections.abc import Mapping

from core.api import GroupedSetup, GroupedStmts
from core.types import Definition
from core.utils import flatten


def _sharing(setup: str, statements: Mapping[str, str]) -> Definition:
    """Cases in Python that have the same setup."""
    shared = GroupedSetup(setup)
    return {name: GroupedStmts(statement, setup=shared) for name, statement in statements.items()}


_DISTRIBUTIONS = """
from torch import distributions

values = torch.linspace(-1.0, 1.0, 6)
positive = torch.linspace(0.1, 0.9, 6)
logits = torch.arange(12.0).view(3, 4) / 10
centre, covariance = torch.zeros(3), torch.eye(3) + 0.1
standard = distributions.Normal(torch.zeros(6), torch.ones(6))
wide = distributions.Normal(torch.zeros(6), torch.full((6,), 2.0))
diagonal = distributions.Independent(standard, 1)
mixture = distributions.MixtureSameFamily(
    distributions.Categorical(logits=torch.zeros(3)),
    distributions.Normal(torch.arange(3.0), torch.ones(3)),
)
lognormal = distributions.TransformedDistribution(
    standard,
    [distributions.AffineTransform(1.0, 2.0), distributions.ExpTransform()],
)
"""

DISTRIBUTIONS: Definition = {
    **_sharing(
        _DISTRIBUTIONS,
        {
            "Normal.log_prob": "score = standard.log_prob(values)",
            "Normal.cdf and icdf": "back = standard.icdf(standard.cdf(values))",
            "kl_divergence, independent": """
            prior = distributions.Independent(wide, 1)
            distance = distributions.kl_divergence(diagonal, prior).mean()
            """,
            "Categorical.entropy": (
                "entropy = distributions.Categorical(logits=logits).entropy().mean()"
            ),
            "Bernoulli, not validated": """
            coins = distributions.Bernoulli(logits=logits, validate_args=False)
            score = coins.log_prob((logits > 0.5).float()).sum()
            """,
            "MixtureSameFamily.log_prob": "score = mixture.log_prob(values)",
            "TransformedDistribution.log_prob": "score = lognormal.log_prob(positive)",
            "MultivariateNormal": """
            cloud = distributions.MultivariateNormal(centre, covariance)
            score = cloud.log_prob(centre + 1)
            """,
            "Beta": """
            beta = distributions.Beta(positive + 1, positive + 2)
            score, spread = beta.log_prob(positive), beta.variance
            """,
        },
    ),
    **_sharing(
        """
        from torch import distributions

        torch.manual_seed(0)
        policy = torch.nn.Linear(4, 3)
        states = torch.linspace(-1.0, 1.0, 20).view(5, 4)
        actions = torch.tensor([0, 2, 1, 1, 0])
        rewards = torch.tensor([1.0, -1.0, 0.5, 0.0, 2.0])
        """,
        {
            "Policy gradient": """
            policy.zero_grad()
            choice = distributions.Categorical(logits=policy(states))
            loss = -(choice.log_prob(actions) * rewards).mean() - 0.01 * choice.entropy().mean()
            loss.backward()
            """,
        },
    ),
}

_TRANSFORMS = """
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
y = torch.arange(3.0)
weight = torch.linspace(0.0, 1.0, 4)
model = torch.nn.Linear(4, 2)
parameters = {name: value.detach() for name, value in model.named_parameters()}


def predict(weight, x):
    return torch.tanh(x @ weight)


def error(weight, x, y):
    return (predict(weight, x) - y).square().mean()
"""

TRANSFORMS = _sharing(
    _TRANSFORMS,
    {
        "grad": "slope = grad(error)(weight, x, y)",
        "grad_and_value, with auxiliary": """
        def objective(weight):
            predicted = predict(weight, x)
            return (predicted - y).square().sum(), predicted

        slope, (loss, predicted) = grad_and_value(objective, has_aux=True)(weight)
        """,
        "Gradients per sample": "slopes = vmap(grad(error), in_dims=(None, 0, 0))(weight, x, y)",
        "vmap": "scores = vmap(torch.dot, in_dims=(0, None))(x, weight)",
        "vmap, nested": """
        pairs = vmap(vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, x)
        """,
        "jacrev": "jacobian = jacrev(predict)(weight, x)",
        "vjp": """
        predicted, pull_back = vjp(lambda weight: predict(weight, x), weight)
        (slope,) = pull_back(torch.ones_like(predicted))
        """,
        "jvp": """
        predicted, change = jvp(lambda weight: predict(weight, x), (weight,), (weight,))
        """,
        "functional_call": """
        halved = {name: value / 2 for name, value in parameters.items()}
        predicted = functional_call(model, halved, (x,))
        """,
        "Training without state": """
        def loss_of(parameters):
            return functional_call(model, parameters, (x,)).square().mean()

        slopes = grad(loss_of)(parameters)
        updated = {name: value - 0.1 * slopes[name] for name, value in parameters.items()}
        """,
        "Ensemble": """
        stacked, buffers = stack_module_state([model, model])
        predicted = vmap(
            lambda parameters, buffers: functional_call(model, (parameters, buffers), (x,))
        )(stacked, buffers)
        """,
    },
)

PARAMETRISATION: Definition = {
    **_sharing(
        """
        from torch.nn.utils import parametrize
        from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


        class Symmetric(torch.nn.Module):
            def forward(self, weight):
                return weight.triu() + weight.triu(1).transpose(-1, -2)

            def right_inverse(self, weight):
                return weight.triu()


        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
        new = torch.ones(4, 4)
        symmetric = torch.nn.Linear(4, 4)
        parametrize.register_parametrization(symmetric, "weight", Symmetric())
        normed = weight_norm(torch.nn.Linear(4, 4))
        lipschitz = spectral_norm(torch.nn.Linear(4, 4)).eval()
        rotation = orthogonal(torch.nn.Linear(4, 4, bias=False))
        """,
        {
            "Own, read": "weight = symmetric.weight",
            "Own, assigned": """
            with torch.no_grad():
                symmetric.weight = new
            """,
            "Own, cached": """
            with parametrize.cached():
                out = symmetric(symmetric(x))
            """,
            "weight_norm": "out = normed(x)",
            "weight_norm, backward": """
            normed.zero_grad()
            normed(x).square().sum().backward()
            """,
            "spectral_norm, evaluation": "out = lipschitz(x)",
            "orthogonal": "out = rotation(x)",
        },
    ),
    **_sharing(
        """
        import math

        from torch.nn.utils import prune


        class LowRank(torch.nn.Module):
            def __init__(self, base, rank=2, alpha=4.0):
                super().__init__()
                self.base = base.requires_grad_(False)
                self.down = torch.nn.Parameter(torch.ones(rank, base.in_features) / 10)
                self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank))
                self.scale = alpha / math.sqrt(rank)

            def forward(self, x):
                change = torch.nn.functional.linear(x, self.down)
                return self.base(x) + self.scale * torch.nn.functional.linear(change, self.up)


        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
        pruned = torch.nn.Linear(4, 4)
        prune.l1_unstructured(pruned, "weight", amount=0.5)
        prune.ln_structured(pruned, "weight", amount=1, n=2, dim=0)
        adapted = LowRank(torch.nn.Linear(4, 4))
        """,
        {
            "Pruned": "out = pruned(x)",
            "Share of what was pruned": """
            sparsity = {
                name: float((mask == 0).sum()) / mask.numel()
                for name, mask in pruned.named_buffers()
                if name.endswith("_mask")
            }
            """,
            "Low-rank adapter": """
            adapted.zero_grad()
            loss = adapted(x).square().mean()
            loss.backward()
            """,
            "Low-rank adapter, merged": """
            with torch.no_grad():
                merged = adapted.base.weight + adapted.scale * (adapted.up @ adapted.down)
            """,
        },
    ),
}

_FUNCTIONS = """
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable


class ScaledSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, factor, offset=0.0):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return (x + y) * factor + offset, x * y

    @staticmethod
    def backward(ctx, grad_sum, grad_product):
        x, y = ctx.saved_tensors
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_sum * ctx.factor + grad_product * y
        if ctx.needs_input_grad[1]:
            grad_y = grad_sum * ctx.factor + grad_product * x
        return grad_x, grad_y, None, None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return gradient.clamp(-1.0, 1.0)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg() * ctx.strength, None


class Ranked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ordered, places = x.sort()
        ctx.mark_non_differentiable(places)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(places)
        return ordered, places

    @staticmethod
    def backward(ctx, gradient, _):
        (places,) = ctx.saved_tensors
        if gradient is None:
            return None
        return torch.zeros_like(gradient).scatter(-1, places, gradient)


class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Softsign(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x / (1 + x.abs())

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient / (1 + x.abs()).square()

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent / (1 + x.abs()).square()


x = torch.linspace(-2.0, 2.0, 6)
w = torch.linspace(-1.0, 1.0, 6, requires_grad=True)
"""

FUNCTIONS = _sharing(
    _FUNCTIONS,
    {
        "Several inputs and outputs": "total, product = ScaledSum.apply(x, w, 2.0, 1.0)",
        "Several inputs, backward": """
        w.grad = None
        total, product = ScaledSum.apply(x, w, 2.0)
        (total + product).sum().backward()
        """,
        "Straight through, once differentiable": """
        (slope,) = torch.autograd.grad(Rounded.apply(w * 3).sum(), w)
        """,
        "Reversed gradient": "(slope,) = torch.autograd.grad(Reversed.apply(w, 0.5).sum(), w)",
        "Not differentiable output": """
        ordered, places = Ranked.apply(w)
        (slope,) = torch.autograd.grad(ordered[-1], w)
        """,
        "In place": "(slope,) = torch.autograd.grad(AddOne.apply(w * 2).prod(), w)",
        "Separate context": "out = Softsign.apply(w)",
        "Derivative forwards": """
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            tangent = forward_ad.unpack_dual(Softsign.apply(dual)).tangent
        """,
        "Under vmap": "out = torch.func.vmap(Softsign.apply)(x.view(2, 3))",
        "Twice differentiated": """
        (slope,) = torch.autograd.grad(Softsign.apply(w).sum(), w, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), w)
        """,
    },
)

_MODES = """
import collections

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class CountFunctions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.counts = collections.Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.counts[getattr(function, "__name__", str(function))] += 1
        return function(*args, **(kwargs or {}))


class CountOperators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.counts = collections.Counter()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.counts[operator.overloadpacket.__name__] += 1
        return operator(*args, **(kwargs or {}))


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        out = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(out, cls):
            tags = [argument.tag for argument in args if hasattr(argument, "tag")]
            out.tag = tags[0] if tags else ""
        return out


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function not in (torch.exp, torch.add):
            return NotImplemented
        low = function(*(one.low if isinstance(one, cls) else one for one in args))
        high = function(*(one.high if isinstance(one, cls) else one for one in args))
        return cls(low, high)


x = torch.linspace(0.0, 1.0, 6).view(2, 3)
w = torch.ones(3, requires_grad=True)
tagged = x.as_subclass(Tagged)
tagged.tag = "pixels"
interval = Interval(x, x + 1)
"""

_WRAPPER = """
class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, values, scale):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        plain = [one.values * one.scale if isinstance(one, cls) else one for one in args]
        out = operator(*plain, **(kwargs or {}))
        return cls(out, 1.0) if isinstance(out, torch.Tensor) else out


x = torch.linspace(0.0, 1.0, 6).view(2, 3)
scaled = Scaled(x, 0.5)
"""

MODES: Definition = {
    **_sharing(
        _MODES,
        {
            "Function mode": """
            with CountFunctions() as counted:
                out = torch.relu(x) + x.sum()
            """,
            "Dispatch mode": """
            with CountOperators() as counted:
                out = torch.nn.functional.softmax(x, -1).mean()
            """,
            "Dispatch mode, backward": """
            w.grad = None
            with CountOperators() as counted:
                (x @ w).sum().backward()
            """,
            "Dispatch modes, nested": """
            with CountOperators() as outer, CountOperators() as inner:
                out = x.t() @ x
            """,
            "Subclass that keeps an attribute": "label = (tagged.abs() * 2)[0].tag",
            "Subclass, without overriding": """
            with torch._C.DisableTorchFunctionSubclass():
                out = tagged + tagged
            """,
            "Class like a tensor": "out = torch.add(torch.exp(interval), 1)",
            "Function that is not overridden": """
            try:
                out = torch.mul(interval, 2)
            except TypeError as unsupported:
                message = str(unsupported)
            """,
            "Default device": """
            with torch.device("cpu"):
                out = torch.full((2, 2), 3.0) + torch.zeros(2)
            """,
        },
    ),
    **_sharing(_WRAPPER, {"Wrapper subclass": "out = torch.sin(scaled) + 1"}),
}

HOOKS: Definition = {
    **_sharing(
        """
        seen = {}


        def keep(name):
            def hook(module, args, output):
                seen[name] = output.detach().abs().mean()

            return hook


        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
        watched = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        for name, module in watched.named_children():
            module.register_forward_hook(keep(name))
        halved = torch.nn.Linear(4, 2)
        halved.register_forward_pre_hook(lambda module, args: (args[0] / 2,))
        named = torch.nn.Bilinear(4, 4, 2)
        named.register_forward_hook(
            lambda module, args, kwargs, output: output * len(kwargs), with_kwargs=True
        )
        """,
        {
            "Forward": "out = watched(x)",
            "Before forward": "out = halved(x)",
            "Forward, with keywords": "out = named(input1=x, input2=x)",
        },
    ),
    **_sharing(
        """
        from torch.autograd.graph import saved_tensors_hooks

        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
        w = torch.linspace(-1.0, 1.0, 4, requires_grad=True)
        hooked = torch.linspace(-1.0, 1.0, 4, requires_grad=True)
        hooked.register_hook(lambda gradient: gradient.clamp(-0.5, 0.5))
        norms = {}
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
        for name, module in model.named_children():
            module.register_full_backward_hook(
                lambda module, inner, outer, name=name: norms.update({name: outer[0].norm()})
            )
        model[1].register_full_backward_pre_hook(lambda module, outer: (outer[0] * 2,))
        stepped = torch.ones(4, requires_grad=True)


        def step(parameter):
            with torch.no_grad():
                parameter.sub_(parameter.grad, alpha=1e-6)
            parameter.grad = None


        stepped.register_post_accumulate_grad_hook(step)
        """,
        {
            "Full backward": """
            model.zero_grad()
            inputs = x.clone().requires_grad_()
            model(inputs).sum().backward()
            """,
            "Gradient of a leaf": """
            hooked.grad = None
            (x @ hooked).square().sum().backward()
            """,
            "Gradient of an intermediate": """
            hidden = x * w
            hidden.register_hook(lambda gradient: gradient * 2)
            (slope,) = torch.autograd.grad(hidden.sum(), w)
            """,
            "retain_grad": """
            w.grad = None
            hidden = x @ w
            hidden.retain_grad()
            hidden.square().mean().backward()
            size = hidden.grad.norm()
            """,
            "Step within backward": "(x @ stepped).sum().backward()",
            "Node of the graph": """
            hidden = (x * w).exp()
            hidden.grad_fn.register_prehook(lambda gradients: (gradients[0].clamp(max=0.1),))
            (slope,) = torch.autograd.grad(hidden.sum(), w)
            """,
            "Saved tensors, in half": """
            with saved_tensors_hooks(lambda saved: saved.half(), lambda packed: packed.float()):
                loss = (x * w).exp().sum()
            (slope,) = torch.autograd.grad(loss, w)
            """,
        },
    ),
    **_sharing(
        """
        class Versioned(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 2)
                self.register_state_dict_post_hook(self.add_version)
                self.register_load_state_dict_pre_hook(self.take_version)

            @staticmethod
            def add_version(module, state, prefix, metadata):
                state[prefix + "version"] = torch.tensor(2)

            @staticmethod
            def take_version(module, state, prefix, *others):
                state.pop(prefix + "version")


        torch.manual_seed(0)
        versioned = Versioned()
        """,
        {
            "State": "state = versioned.state_dict()",
            "State, loaded": "versioned.load_state_dict(versioned.state_dict())",
        },
    ),
}

_DATA = """
from torch.utils import data


class Squares(data.Dataset):
    def __init__(self, size, transform=None):
        self.numbers = torch.arange(float(size))
        self.transform = transform

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        number = self.numbers[index]
        if self.transform is not None:
            number = self.transform(number)
        return {"number": number, "square": number * number, "name": f"item {index}"}


class Windows(data.IterableDataset):
    def __init__(self, series, width):
        self.series, self.width = series, width

    def __iter__(self):
        for start in range(len(self.series) - self.width + 1):
            yield self.series[start : start + self.width]


def padded(sentences):
    sizes = torch.tensor([len(sentence) for sentence in sentences])
    return torch.nn.utils.rnn.pad_sequence(sentences, batch_first=True), sizes


squares = Squares(6, transform=lambda number: number / 10)
tables = data.TensorDataset(torch.arange(12.0).view(6, 2), torch.arange(6))
joined = data.ConcatDataset([tables, data.Subset(tables, [1, 3, 5])])
sentences = [torch.arange(1, size) for size in (3, 5, 2, 4)]
generator = torch.Generator()
loader = data.DataLoader(tables, batch_size=2, generator=generator)
shuffled = data.DataLoader(squares, batch_size=4, shuffle=True, generator=generator)
ragged = data.DataLoader(sentences, batch_size=2, collate_fn=padded, generator=generator)
windows = data.DataLoader(Windows(torch.arange(8), 3), batch_size=3, generator=generator)
samples = [
    {"image": torch.ones(2, 2), "label": number, "box": (0.5, 1.0), "tags": ["a", "b"]}
    for number in range(3)
]
"""

DATA = _sharing(
    _DATA,
    {
        "Collating what is nested": "batch = data.default_collate(samples)",
        "Own dataset": "item = squares[2]",
        "TensorDataset": "features, label = tables[3]",
        "ConcatDataset of a subset": "features, label = joined[7]",
        "Samplers": """
        batches = list(data.BatchSampler(data.SequentialSampler(tables), 4, drop_last=False))
        """,
        "DataLoader": """
        generator.manual_seed(0)
        total = 0
        for features, labels in loader:
            total += features.sum().item() + len(labels)
        """,
        "DataLoader, shuffled": """
        generator.manual_seed(0)
        names = [name for batch in shuffled for name in batch["name"]]
        """,
        "DataLoader, padded": """
        generator.manual_seed(0)
        longest = max(int(sizes.max()) for _, sizes in ragged)
        """,
        "DataLoader, iterable": """
        generator.manual_seed(0)
        means = [window.float().mean(1) for window in windows]
        """,
        "Batches without a loader": """
        batches = [
            [torch.stack(column) for column in zip(*(tables[i] for i in range(start, start + 3)))]
            for start in range(0, len(tables), 3)
        ]
        """,
    },
)

_PARAMETERS = """
parameters = [torch.ones(4, 4, requires_grad=True), torch.ones(4, requires_grad=True)]
for parameter in parameters:
    parameter.grad = torch.full_like(parameter, 0.01)
"""

_OPTIMIZERS = {
    "AdamW": ("adamw", "AdamW(parameters, lr=1e-6, amsgrad=True)"),
    "AdamW, foreach": ("foreach", "AdamW(parameters, lr=1e-6, foreach=True)"),
    "Adam, fused": ("fused", "Adam(parameters, lr=1e-6, fused=True)"),
    "RMSprop": ("rmsprop", "RMSprop(parameters, lr=1e-6, momentum=0.9, centered=True)"),
    "Adagrad": ("adagrad", "Adagrad(parameters, lr=1e-6)"),
    "NAdam": ("nadam", "NAdam(parameters, lr=1e-6)"),
    "Adadelta, foreach": ("adadelta", "Adadelta(parameters, lr=1e-6, foreach=True)"),
    "SGD, Nesterov": (
        "nesterov",
        "SGD(parameters, lr=1e-6, momentum=0.9, nesterov=True, weight_decay=1e-4)",
    ),
    "Parameter groups": (
        "grouped",
        'Adam([{"params": parameters[:1], "lr": 1e-6}, {"params": parameters[1:]}], lr=1e-7)',
    ),
    "Muon": ("muon", "Muon(parameters[:1], lr=1e-6)"),
}

OPTIMIZERS: Definition = {
    name: GroupedStmts(
        f"{variable}.step()",
        setup=GroupedSetup(f"{_PARAMETERS}\n{variable} = torch.optim.{made}"),
    )
    for name, (variable, made) in _OPTIMIZERS.items()
}

AROUND_OPTIMIZERS: Definition = {
    **_sharing(
        """
        from torch.optim import lr_scheduler

        parameters = [torch.ones(4, 4, requires_grad=True), torch.ones(4, requires_grad=True)]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 0.01)
        descent = torch.optim.SGD(parameters, lr=1e-6, momentum=0.9)
        descent.step()
        warm_up = lr_scheduler.LambdaLR(descent, lambda epoch: min(1.0, (epoch + 1) / 10))
        other = torch.optim.Adam(parameters, lr=1e-6)
        other.step()
        plateau = lr_scheduler.ReduceLROnPlateau(other, patience=10**9)
        scaled = torch.ones(4, requires_grad=True)
        plain = torch.optim.SGD([scaled], lr=1e-6)
        scaler = torch.amp.GradScaler("cpu", init_scale=128.0, growth_interval=10**9)
        """,
        {
            "LambdaLR": """
            descent.step()
            warm_up.step()
            """,
            "ReduceLROnPlateau": "plateau.step(0.5)",
            "State": "state = descent.state_dict()",
            "State, loaded": "descent.load_state_dict(descent.state_dict())",
            "GradScaler": """
            plain.zero_grad()
            scaler.scale((scaled * 2).sum()).backward()
            scaler.step(plain)
            scaler.update()
            """,
        },
    ),
    **_sharing(
        """
        from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        averaged = AveragedModel(model)
        smoothed = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
        target = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        x = torch.ones(2, 4)
        model(x).sum().backward()
        """,
        {
            "Clipping the norm": """
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
            """,
            "Clipping the norm, no foreach": """
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1, foreach=False)
            """,
            "Clipping values": "torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)",
            "Averaged model": "averaged.update_parameters(model)",
            "Exponential moving average": "smoothed.update_parameters(model)",
            "Moving towards a model": """
            with torch.no_grad():
                for old, new in zip(target.parameters(), model.parameters()):
                    old.mul_(0.99).add_(new, alpha=0.01)
            """,
        },
    ),
}

_CONTAINERS = """
import copy


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layers = torch.nn.ModuleDict(
            {"in": torch.nn.Linear(size, size), "out": torch.nn.Linear(size, size)}
        )
        self.scales = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(size)) for _ in "ab"])
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("scratch", torch.zeros(size), persistent=False)

    def forward(self, x):
        for layer, scale in zip(self.layers.values(), self.scales):
            x = torch.relu(layer(x)) * scale
        self.steps = self.steps + 0
        return x


def initialise(module):
    if isinstance(module, torch.nn.Linear):
        torch.nn.init.constant_(module.weight, 0.1)
        torch.nn.init.zeros_(module.bias)


torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
block = Block(4)
blocks = torch.nn.Sequential(Block(4), Block(4))
saved = {name: value.clone() for name, value in blocks.state_dict().items()}
flat = torch.nn.utils.parameters_to_vector(block.parameters()).detach()
"""

CONTAINERS = _sharing(
    _CONTAINERS,
    {
        "ModuleDict and ParameterList": "out = block(x)",
        "state_dict": "state = blocks.state_dict()",
        "load_state_dict": "missing, unexpected = blocks.load_state_dict(saved, strict=False)",
        "load_state_dict, refused": """
        try:
            block.load_state_dict(saved)
        except RuntimeError as mismatch:
            message = str(mismatch)
        """,
        "named_parameters": """
        sizes = {name: parameter.numel() for name, parameter in blocks.named_parameters()}
        """,
        "apply": "blocks.apply(initialise)",
        "deepcopy": "copied = copy.deepcopy(block)",
        "Freezing and thawing": """
        blocks[0].requires_grad_(False)
        trainable = sum(p.numel() for p in blocks.parameters() if p.requires_grad)
        blocks[0].requires_grad_(True)
        """,
        "train and eval": """
        was_training = blocks.training
        blocks.eval()
        blocks.train(was_training)
        """,
        "Double and back": "block.double().float()",
        "get_submodule": """
        layer = blocks.get_submodule("1.layers.out")
        bias = blocks.get_parameter("0.layers.in.bias")
        """,
        "Parameters as a vector": """
        vector = torch.nn.utils.parameters_to_vector(block.parameters())
        torch.nn.utils.vector_to_parameters(flat, block.parameters())
        """,
    },
)

_NESTED = """
import collections
import dataclasses
import functools
import json

from torch.utils import _pytree as pytree

Point = collections.namedtuple("Point", ["x", "y"])
x = torch.linspace(-1.0, 1.0, 6)
batch = {"inputs": [x, x + 1], "target": (x, {"mask": x > 0}), "point": Point(x, 1), "id": 7}


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 4
    depth: int = 2
    names: tuple = ("linear", "relu")
    extra: dict = dataclasses.field(default_factory=dict)


@functools.lru_cache(maxsize=8)
def causal_mask(size):
    return torch.full((size, size), float("-inf")).triu(1)


@functools.singledispatch
def shapes(value):
    return None


@shapes.register(torch.Tensor)
def _(value):
    return list(value.shape)


@shapes.register(dict)
def _(value):
    return {key: shapes(one) for key, one in value.items()}


@shapes.register(list)
@shapes.register(tuple)
def _(value):
    return [shapes(one) for one in value]


config = Config()
scores = torch.arange(16.0).view(4, 4)
"""

NESTED = _sharing(
    _NESTED,
    {
        "tree_map": """
        moved = pytree.tree_map(
            lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, batch
        )
        """,
        "tree_map_only": "apart = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, batch)",
        "tree_flatten and unflatten": """
        flat, structure = pytree.tree_flatten(batch)
        again = pytree.tree_unflatten(flat, structure)
        """,
        "tree_map with paths": """
        named = pytree.tree_map_with_path(lambda path, leaf: pytree.keystr(path), batch)
        """,
        "tree_all": "plain = pytree.tree_all(lambda leaf: not isinstance(leaf, list), batch)",
        "Moved by hand": """
        def moved(value):
            if isinstance(value, torch.Tensor):
                return value.to("cpu", torch.float64)
            if isinstance(value, dict):
                return {key: moved(one) for key, one in value.items()}
            if isinstance(value, (list, tuple)):
                return [moved(one) for one in value]
            return value

        out = moved(batch)
        """,
        "Shapes as JSON": "text = json.dumps(shapes(batch), sort_keys=True)",
        "Dataclass": """
        wider = dataclasses.replace(config, width=config.width * 2)
        text = ", ".join(f"{key}={value!r}" for key, value in dataclasses.asdict(wider).items())
        """,
        "lru_cache": "attention = torch.softmax(scores + causal_mask(4), dim=-1)",
    },
)

_TEXT = """
import io
import json

torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 6).view(2, 3)
loss = torch.tensor(0.12345, requires_grad=True)
counts = torch.arange(4)
sparse = torch.eye(2).to_sparse()
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 2, kernel_size=3, padding=1), torch.nn.BatchNorm2d(2), torch.nn.ReLU()
)
metrics = {"loss": torch.tensor(0.25), "accuracy": torch.tensor(0.875), "epoch": 3}
"""

TEXT = _sharing(
    _TEXT,
    {
        "repr of a tensor": "text = repr(x)",
        "repr with a gradient": "text = repr(loss * 2)",
        "repr of a sparse tensor": "text = repr(sparse)",
        "repr of a module": "text = repr(model)",
        "Formatted values": """
        line = f"loss {loss.item():.4f}, largest {x.max():8.3f}, shape {tuple(x.shape)}, {x.dtype}"
        """,
        "Line of metrics": """
        line = " | ".join(f"{name}: {float(value):.3f}" for name, value in sorted(metrics.items()))
        """,
        "tolist as JSON": 'text = json.dumps({"values": x.tolist(), "counts": counts.tolist()})',
        "Printed": """
        buffer = io.StringIO()
        print("counts", counts, counts.sum().item(), sep="\\n", file=buffer)
        text = buffer.getvalue()
        """,
        "Print options": """
        torch.set_printoptions(precision=2, sci_mode=False)
        text = str(x)
        torch.set_printoptions(profile="default")
        """,
        "Table of parameters": """
        rows = [(name, tuple(p.shape), p.numel()) for name, p in model.named_parameters()]
        width = max(len(name) for name, _, _ in rows)
        table = "\\n".join(f"{name:<{width}} {shape!s:>16} {n:>6,}" for name, shape, n in rows)
        """,
    },
)

SEQUENCES: Definition = {
    **_sharing(
        """
        from torch.nn.utils import rnn

        torch.manual_seed(0)
        tokens = torch.arange(10) % 5
        offsets = torch.tensor([0, 3, 7])
        sequences = [torch.ones(size, 4) for size in (4, 3, 1)]
        padded = rnn.pad_sequence(sequences, batch_first=True)
        lengths = torch.tensor([4, 3, 1])
        state = torch.zeros(3, 4)
        cell = torch.nn.GRUCell(4, 4)
        recurrent = torch.nn.RNN(4, 4, batch_first=True)
        stacked = torch.nn.LSTM(4, 3, num_layers=2, batch_first=True)
        both = torch.nn.GRU(4, 3, bidirectional=True, batch_first=True)
        bag = torch.nn.EmbeddingBag(5, 4, mode="mean")
        """,
        {
            "GRUCell, unrolled": """
            hidden = state
            for step in padded.unbind(1):
                hidden = cell(step, hidden)
            """,
            "RNN": "outputs, last = recurrent(padded)",
            "LSTM, two layers": "outputs, (hidden, memory) = stacked(padded)",
            "GRU, packed, in both directions": """
            packed = rnn.pack_padded_sequence(padded, lengths, batch_first=True)
            outputs, _ = both(packed)
            unpacked, sizes = rnn.pad_packed_sequence(outputs, batch_first=True)
            """,
            "EmbeddingBag": "means = bag(tokens, offsets)",
        },
    ),
    **_sharing(
        """
        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 24).view(2, 3, 4)
        causal = torch.nn.Transformer.generate_square_subsequent_mask(3)
        hidden = torch.tensor([[False, False, True], [False, False, False]])
        heads = x.view(2, 1, 3, 4)
        attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        training = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        encoder = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
        decoder = torch.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True)


        def rotated(x):
            half = x.shape[-1] // 2
            angles = torch.outer(torch.arange(x.shape[-2]), 10.0 ** -torch.arange(half))
            left, right = x[..., :half], x[..., half:]
            cos, sin = angles.cos(), angles.sin()
            return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)
        """,
        {
            "MultiheadAttention, masked": """
            out, weights = attention(x, x, x, key_padding_mask=hidden, attn_mask=causal.isinf())
            """,
            "TransformerEncoderLayer, backward": """
            training.zero_grad()
            training(x, src_mask=causal, is_causal=True).sum().backward()
            """,
            "TransformerEncoderLayer, evaluation": """
            with torch.inference_mode():
                out = encoder(x)
            """,
            "TransformerDecoderLayer": "out = decoder(x, x, tgt_mask=causal)",
            "Attention by hand": """
            scores = heads @ heads.transpose(-2, -1) / heads.shape[-1] ** 0.5
            scores = scores.masked_fill(hidden[:, None, None, :], float("-inf"))
            out = scores.softmax(-1) @ heads
            """,
            "Rotary positions": "out = rotated(heads)",
            "Cache of keys": """
            keys, outputs = [], []
            for step in x.unbind(1):
                keys.append(step)
                past = torch.stack(keys, dim=1)
                weights = torch.einsum("bd,btd->bt", step, past).softmax(-1)
                outputs.append(torch.einsum("bt,btd->bd", weights, past))
            out = torch.stack(outputs, dim=1)
            """,
        },
    ),
}

_MATHS = """
x = torch.linspace(-1.0, 1.0, 16).view(4, 4)
symmetric = x @ x.t() + torch.eye(4)
right = torch.arange(4.0)
points = torch.linspace(0.0, 1.0, 10).view(5, 2)
signal = torch.sin(torch.arange(16.0))
window = torch.hann_window(8)
roots = torch.polar(torch.ones(4), torch.arange(4.0))
"""

MATHS = _sharing(
    _MATHS,
    {
        "einsum, four operands": 'z = torch.einsum("ij,jk,kl,l->i", x, x, x, right)',
        "fft and back": "back = torch.fft.irfft(torch.fft.rfft(signal), n=16)",
        "stft": """
        frames = torch.stft(signal, n_fft=8, hop_length=4, window=window, return_complex=True)
        """,
        "solve": "solution = torch.linalg.solve(symmetric, right)",
        "qr": "q, r = torch.linalg.qr(x)",
        "svdvals": "largest = torch.linalg.svdvals(x)[0]",
        "eigh": "energies, states = torch.linalg.eigh(symmetric)",
        "Cholesky and back": """
        factor = torch.linalg.cholesky(symmetric)
        solution = torch.cholesky_solve(right.unsqueeze(1), factor)
        """,
        "Backward through inv": """
        matrix = symmetric.clone().requires_grad_()
        (slope,) = torch.autograd.grad(torch.linalg.inv(matrix).trace(), matrix)
        """,
        "Distances": "nearest = torch.cdist(points, points).topk(2, largest=False).indices",
        "Complex": "z = torch.view_as_real(roots.conj() * (1 + 2j) + roots.abs())",
        "Quantiles and covariance": """
        middle, spread = torch.quantile(x, 0.5, dim=1), torch.cov(x)
        """,
    },
)

FORMATS: Definition = {
    **_sharing(
        """
        places = torch.tensor([[0, 1, 3], [1, 2, 0]])
        coo = torch.sparse_coo_tensor(places, torch.ones(3), (4, 4)).coalesce()
        dense = torch.linspace(-1.0, 1.0, 16).view(4, 4)
        edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 1]])
        torch.manual_seed(0)
        table = torch.nn.Embedding(6, 4, sparse=True)
        indices = torch.tensor([1, 4, 1])
        """,
        {
            "COO, product": "z = torch.sparse.mm(coo, dense)",
            "COO, made and coalesced": """
            graph = torch.sparse_coo_tensor(edges, torch.ones(5), (4, 4)).coalesce()
            degrees = graph.sum(1).to_dense()
            """,
            "To sparse and back": "z = dense.relu().to_sparse().to_dense()",
            "Sparse gradient": """
            table.weight.grad = None
            table(indices).sum().backward()
            """,
        },
    ),
    **_sharing(
        """
        csr = torch.eye(4).to_sparse_csr()
        dense = torch.linspace(-1.0, 1.0, 16).view(4, 4)
        """,
        {"CSR, product": "z = csr @ dense"},
    ),
    **_sharing(
        "ragged = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)])",
        {"Nested, padded": "padded = torch.nested.to_padded_tensor(ragged, 0.0)"},
    ),
    **_sharing(
        """
        jagged = torch.nested.nested_tensor(
            [torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged
        )
        projection = torch.full((4, 2), 0.5)
        """,
        {"Jagged": "z = torch.matmul(jagged, projection).relu().values()"},
    ),
    **_sharing(
        """
        x = torch.linspace(-1.0, 1.0, 16).view(4, 4)
        scales, zeros = torch.full((4,), 0.1), torch.zeros(4, dtype=torch.int32)
        brain = x.bfloat16()
        """,
        {
            "Quantised and back": """
            z = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize()
            """,
            "Quantised per channel": """
            z = torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8).int_repr()
            """,
            "Quantised in training": """
            z = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
            """,
            "bfloat16": "z = (brain * 2 + 1).sum(0).float()",
        },
    ),
}

IMAGES: Definition = {
    **_sharing(
        """
        from torch.nn import functional as F

        image = torch.linspace(0.0, 1.0, 32).view(1, 2, 4, 4)
        turn = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
        kernel = torch.ones(2, 1, 3, 3) / 9
        boxes = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 3], [0, 0, 2, 1.9], [5, 5, 6, 6]])
        confidence = torch.tensor([0.9, 0.8, 0.7, 0.6])


        def overlaps(first, second):
            low = torch.maximum(first[:, None, :2], second[None, :, :2])
            high = torch.minimum(first[:, None, 2:], second[None, :, 2:])
            common = (high - low).clamp(min=0).prod(-1)
            areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
            return common / (areas[0][:, None] + areas[1][None] - common)
        """,
        {
            "interpolate": """
            larger = F.interpolate(image, scale_factor=2, mode="bilinear", align_corners=False)
            """,
            "grid_sample": """
            grid = F.affine_grid(turn, image.shape, align_corners=False)
            turned = F.grid_sample(image, grid, align_corners=False)
            """,
            "pad": """
            framed = F.pad(F.pad(image, (1, 1, 1, 1), mode="reflect"), (0, 1), value=1.0)
            """,
            "unfold and fold": """
            patches = F.unfold(image, kernel_size=2, stride=2)
            back = F.fold(patches, (4, 4), kernel_size=2, stride=2)
            """,
            "Blurred": "smooth = F.conv2d(image, kernel, padding=1, groups=2)",
            "Shuffled pixels": """
            pixels = F.pixel_shuffle(F.pixel_unshuffle(image, 2), 2)
            """,
            "Pooled": "pooled = F.adaptive_avg_pool2d(F.max_pool2d(image, 2), 1).flatten(1)",
            "Non-maximum suppression": """
            kept, rest = [], confidence.argsort(descending=True)
            while rest.numel():
                kept.append(int(rest[0]))
                shared = overlaps(boxes[rest[:1]], boxes[rest[1:]])[0]
                rest = rest[1:][shared <= 0.5]
            """,
        },
    ),
    **_sharing(
        """
        class Residual(torch.nn.Module):
            def __init__(self, channels):
                super().__init__()
                self.first = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
                self.second = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
                self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(channels) for _ in range(2))

            def forward(self, x):
                out = torch.relu_(self.norms[0](self.first(x)))
                return torch.relu(self.norms[1](self.second(out)) + x)


        torch.manual_seed(0)
        image = torch.linspace(0.0, 1.0, 32).view(1, 2, 4, 4)
        residual, inferring = Residual(2), Residual(2).eval()
        separable = torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3, groups=2), torch.nn.Conv2d(4, 3, 1), torch.nn.GroupNorm(1, 3)
        )
        upwards = torch.nn.ConvTranspose2d(2, 1, 2, stride=2)
        """,
        {
            "Residual block, evaluation": """
            with torch.no_grad():
                out = inferring(image)
            """,
            "Residual block, training": """
            residual.zero_grad()
            residual(image).mean().backward()
            """,
            "Separable convolution": "out = separable(image)",
            "ConvTranspose2d": "out = upwards(image)",
        },
    ),
}

_SELECTION = """
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
mask = x > 0
groups = torch.tensor([0, 2, 0])
edges = torch.tensor([-0.5, 0.0, 0.5])
words = torch.tensor([2, 0, 2, 1, 2])
"""

SELECTION = _sharing(
    _SELECTION,
    {
        "Boolean mask": "chosen = x[mask & (x < 0.9)]",
        "Boolean mask, written": """
        clipped = x.clone()
        clipped[~mask] = 0.0
        """,
        "masked_fill and masked_scatter": "z = x.masked_fill(mask, -1.0).masked_scatter(mask, x)",
        "take_along_dim": "z = torch.take_along_dim(x, x.argsort(dim=1), dim=1)",
        "scatter_reduce": """
        largest = torch.full((3, 4), -9.0).scatter_reduce(
            0, groups[:, None].expand(3, 4), x, reduce="amax"
        )
        """,
        "index_put, accumulated": """
        counts = torch.zeros(3)
        counts.index_put_((words,), torch.ones(5), accumulate=True)
        """,
        "bucketize and searchsorted": """
        bins, place = torch.bucketize(x, edges), torch.searchsorted(edges, 0.25)
        """,
        "unique": "kinds, back, counts = words.unique(return_inverse=True, return_counts=True)",
        "bincount and one_hot": """
        shares = words.bincount(minlength=4) / len(words)
        encoded = torch.nn.functional.one_hot(words, 4).float()
        """,
        "Sliding windows": "smooth = x.flatten().unfold(0, 3, 1).mean(-1)",
        "Meshgrid and triangle": """
        rows, cols = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
        upper = torch.triu_indices(3, 4)
        z = (rows + cols)[upper[0], upper[1]]
        """,
        "Nothing chosen": "z = x[x > 5].sum() + torch.empty(0, 4).mean(0).nan_to_num().sum()",
    },
)

_SCORES = """
from torch.nn import functional as F

torch.manual_seed(0)
scores = torch.linspace(-1.0, 1.0, 12).view(4, 3).requires_grad_()
labels = torch.tensor([2, 0, 1, 2])
first = torch.linspace(0.0, 1.0, 12).view(4, 3)
second = first.flip(0)
log_chances = torch.linspace(-1.0, 0.0, 24).view(4, 2, 3).log_softmax(-1)
targets = torch.tensor([[1, 2], [2, 1]])


class Running:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, count=1):
        self.total += value * count
        self.count += count
        return self

    @property
    def mean(self):
        return self.total / max(self.count, 1)
"""

SCORES = _sharing(
    _SCORES,
    {
        "Smoothed and weighted": """
        loss = F.cross_entropy(
            scores, labels, weight=torch.tensor([1.0, 2.0, 0.5]), label_smoothing=0.1
        )
        """,
        "Some ignored": """
        loss = F.nll_loss(scores.log_softmax(1), labels, ignore_index=0, reduction="sum")
        """,
        "Huber": "loss = F.huber_loss(first, second, delta=0.5) + F.l1_loss(first, second)",
        "Triplet": "loss = F.triplet_margin_loss(first, first + 0.1, second)",
        "Distillation": """
        loss = F.kl_div(scores.log_softmax(1), second.softmax(1), reduction="batchmean")
        (slope,) = torch.autograd.grad(loss, scores)
        """,
        "CTC": """
        loss = F.ctc_loss(log_chances, targets, (4, 4), (2, 2))
        """,
        "Contrastive": """
        left, right = F.normalize(first, dim=1), F.normalize(second, dim=1)
        loss = F.cross_entropy(left @ right.t() / 0.1, torch.arange(4))
        """,
        "Accuracy, top 2": """
        hits = (scores.topk(2, dim=1).indices == labels[:, None]).any(dim=1)
        accuracy = hits.float().mean().item()
        """,
        "Confusion matrix": """
        confusion = torch.bincount(labels * 3 + scores.argmax(1), minlength=9).view(3, 3)
        recall = confusion.diag() / confusion.sum(1).clamp(min=1)
        """,
        "Running mean": """
        running = Running()
        for row, label in zip(scores.detach(), labels):
            running.update(float(row[label]), count=2)
        mean = running.mean
        """,
    },
)

_LOOPS = """
import contextlib
import itertools

from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Linear(4, 3), torch.nn.GELU())
descent = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)
inputs = torch.linspace(-1.0, 1.0, 16).view(4, 4)
labels = torch.tensor([0, 2, 1, 0])
batches = [(inputs[:2], labels[:2]), (inputs[2:], labels[2:])]
history = [("a", 0.5), ("b", 0.25), ("c", 0.75)]


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad > self.patience


@contextlib.contextmanager
def evaluating(model):
    was_training = model.training
    model.eval()
    try:
        yield model
    finally:
        model.train(was_training)


@torch.no_grad()
def accuracy(model, batches):
    hits = [(model(x).argmax(1) == y).sum().item() for x, y in batches]
    return sum(hits) / sum(len(y) for _, y in batches)


def chunks(tensor, size):
    for start in range(0, len(tensor), size):
        yield tensor[start : start + size]


def with_momentum(beta):
    average = None

    def update(value):
        nonlocal average
        average = value if average is None else beta * average + (1 - beta) * value
        return average

    return update
"""

LOOPS = _sharing(
    _LOOPS,
    {
        "Epoch with metrics": """
        metrics = {"loss": [], "hits": []}
        for x, y in batches:
            descent.zero_grad()
            predicted = model(x)
            loss = F.cross_entropy(predicted, y)
            loss.backward()
            descent.step()
            metrics["loss"].append(loss.item())
            metrics["hits"].append((predicted.argmax(1) == y).float().mean().item())
        summary = {name: sum(values) / len(values) for name, values in metrics.items()}
        """,
        "Accumulated gradients": """
        descent.zero_grad()
        for number, (x, y) in enumerate(batches, start=1):
            (F.cross_entropy(model(x), y) / len(batches)).backward()
            if number % len(batches) == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                descent.step()
        """,
        "Closure": """
        def closure():
            descent.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            return loss

        loss = descent.step(closure)
        """,
        "Evaluation": """
        with evaluating(model):
            score = accuracy(model, batches)
        """,
        "Generator of chunks": "means = [chunk.mean().item() for chunk in chunks(inputs, 3)]",
        "Early stopping": """
        stopping = EarlyStopping(patience=1)
        for epoch, (_, value) in enumerate(history):
            if stopping(value):
                break
        """,
        "Moving average in a closure": """
        smooth = with_momentum(0.9)
        averages = [smooth(row.mean()) for row in inputs]
        """,
        "Sorted by score": """
        ranked = sorted(
            zip(labels.tolist(), inputs.sum(1)), key=lambda pair: pair[1].item(), reverse=True
        )
        """,
        "Grid of settings": """
        best = min(
            itertools.product([0.1, 0.5], [1, 2]),
            key=lambda setting: float((inputs * setting[0] - setting[1]).square().mean()),
        )
        """,
        "Wrong shapes, caught": """
        try:
            out = model(inputs[:, :3])
        except RuntimeError as mismatch:
            message = str(mismatch).splitlines()[0]
        """,
        "Finite or not": """
        bad = [n for n, p in model.named_parameters() if not torch.isfinite(p).all()]
        assert not bad, bad
        """,
    },
)

_ALGORITHMS = """
points = torch.tensor([[0.0, 0.1], [0.2, 0.0], [3.0, 3.1], [2.9, 3.0], [3.2, 2.8]])
chances = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
matrix = chances @ chances.t()
rewards = torch.tensor([1.0, 0.0, 2.0, 1.0])
values = torch.tensor([0.5, 0.4, 0.8, 0.3, 0.0])
board = (torch.arange(36).view(6, 6) % 5 < 2).float()
ring = torch.ones(1, 1, 3, 3)
ring[0, 0, 1, 1] = 0
"""

ALGORITHMS = _sharing(
    _ALGORITHMS,
    {
        "k-means": """
        centres = points[:2]
        for _ in range(2):
            nearest = torch.cdist(points, centres).argmin(1)
            centres = torch.stack([points[nearest == k].mean(0) for k in range(2)])
        """,
        "Beam search": """
        beams = [((0,), 0.0)]
        for _ in range(3):
            grown = [
                (path + (token,), score + step.item())
                for path, score in beams
                for token, step in enumerate(chances[path[-1]].log())
            ]
            beams = sorted(grown, key=lambda beam: beam[1], reverse=True)[:2]
        """,
        "Viterbi": """
        score, back = chances[0].log(), []
        for step in chances[1:]:
            score, source = (score[:, None] + chances.log() + step.log()).max(0)
            back.append(source)
        path = [int(score.argmax())]
        for source in reversed(back):
            path.append(int(source[path[-1]]))
        """,
        "Power iteration": """
        vector = torch.ones(3)
        for _ in range(4):
            vector = torch.nn.functional.normalize(matrix @ vector, dim=0)
        largest = vector @ matrix @ vector
        """,
        "Advantages": """
        advantages, last = [], 0.0
        for t in reversed(range(len(rewards))):
            surprise = rewards[t] + 0.9 * values[t + 1] - values[t]
            last = surprise + 0.9 * 0.95 * last
            advantages.insert(0, last)
        advantages = torch.stack(advantages)
        """,
        "Newton's method": """
        guess = torch.tensor(1.0)
        for _ in range(3):
            guess = guess - (guess**2 - 2) / (2 * guess)
        """,
        "Game of life": """
        around = torch.nn.functional.conv2d(board[None, None], ring, padding=1)[0, 0]
        alive = ((around == 3) | ((board == 1) & (around == 2))).float()
        """,
        "Doubly stochastic": """
        balanced = chances.clone()
        for _ in range(3):
            balanced /= balanced.sum(1, keepdim=True)
            balanced /= balanced.sum(0, keepdim=True)
        """,
        "Heat equation": """
        plate = board
        for _ in range(2):
            plate = plate + 0.1 * (
                sum(plate.roll(by, axis) for by in (-1, 1) for axis in (0, 1)) - 4 * plate
            )
        """,
    },
)

CONTEXTS: Definition = {
    **_sharing(
        """
        from torch.profiler import record_function
        from torch.utils.checkpoint import checkpoint, checkpoint_sequential

        torch.manual_seed(0)
        x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


        @torch.inference_mode()
        def inferred(x):
            return model(x).argmax(1)
        """,
        {
            "autocast": """
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(x)
            """,
            "autocast, backward": """
            model.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(x).float().square().mean()
            loss.backward()
            """,
            "autocast, off inside": """
            with torch.autocast("cpu", dtype=torch.bfloat16):
                with torch.autocast("cpu", enabled=False):
                    out = x @ x.t()
            """,
            "checkpoint": """
            model.zero_grad()
            checkpoint(model, x, use_reentrant=False).sum().backward()
            """,
            "checkpoint_sequential": """
            model.zero_grad()
            checkpoint_sequential(model, 2, x, use_reentrant=False).sum().backward()
            """,
            "record_function": """
            with record_function("forward"):
                out = model(x)
            """,
            "inference_mode, decorated": "classes = inferred(x)",
            "set_grad_enabled": """
            for training in (True, False):
                with torch.set_grad_enabled(training):
                    out = model(x)
            """,
        },
    ),
}

_HIGHER = """
torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
w = torch.linspace(-1.0, 1.0, 4, requires_grad=True)
critic = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
"""

HIGHER = _sharing(
    _HIGHER,
    {
        "Gradient penalty": """
        critic.zero_grad()
        mixed = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        ((slope.norm(dim=1) - 1) ** 2).mean().backward()
        """,
        "autograd.functional.jacobian": """
        jacobian = torch.autograd.functional.jacobian(lambda w: torch.tanh(x @ w), w)
        """,
        "autograd.functional.hvp": """
        value, product = torch.autograd.functional.hvp(lambda w: (x @ w).exp().sum(), w, w)
        """,
        "Gradients in a batch": """
        (rows,) = torch.autograd.grad(x @ w, w, torch.eye(3), is_grads_batched=True)
        """,
        "Kept graph": """
        out = (x * w).sin()
        (first,) = torch.autograd.grad(out.sum(), w, retain_graph=True)
        (second,) = torch.autograd.grad(out.prod(), w)
        """,
        "Unused input": """
        unused = torch.ones(1, requires_grad=True)
        slopes = torch.autograd.grad((x @ w).sum(), [w, unused], allow_unused=True)
        """,
        "Walk through the graph": """
        names, open_nodes = [], [(x @ w).exp().mean().grad_fn]
        while open_nodes:
            node = open_nodes.pop()
            names.append(node.name())
            open_nodes.extend(below for below, _ in node.next_functions if below is not None)
        """,
        "Inner loop": """
        fast = w
        for _ in range(2):
            (slope,) = torch.autograd.grad((x @ fast).square().mean(), fast, create_graph=True)
            fast = fast - 0.1 * slope
        (outer,) = torch.autograd.grad((x @ fast).mean(), w)
        """,
    },
)

_EXCHANGE = """
import array
import copy
import io
import pickle

torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
numbers = array.array("f", [1.0, 2.0, 3.0, 4.0])
rows = [[1.0, 2.0], [3.0, 4.0]]
state = torch.nn.Linear(4, 2).state_dict()
stream = io.BytesIO()
torch.save(state, stream)
"""

EXCHANGE = _sharing(
    _EXCHANGE,
    {
        "Saved in memory": """
        buffer = io.BytesIO()
        torch.save(state, buffer)
        size = buffer.tell()
        """,
        "Loaded from memory": """
        stream.seek(0)
        loaded = torch.load(stream, weights_only=True)
        """,
        "Pickled": "back = pickle.loads(pickle.dumps(x))",
        "deepcopy": "copied = copy.deepcopy([x, x, {1: x[0]}])",
        "DLPack": "shared = torch.from_dlpack(x)",
        "frombuffer": "shared = torch.frombuffer(numbers, dtype=torch.float32)",
        "Nested lists": "z = torch.tensor(rows + [[float(number) for number in range(2)]])",
        "Unpacked": "(first, *_, last), total = x[0].tolist(), sum(x[:, 0])",
        "assert_close": "torch.testing.assert_close(x, x + 1e-7)",
        "assert_close, failing": """
        try:
            torch.testing.assert_close(x, x + 1)
        except AssertionError as difference:
            message = str(difference)
        """,
    },
)

_GRAPHS = """
from torch import fx


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, open=True):
        return torch.sigmoid(self.linear(x)) * x if open else x


torch.manual_seed(0)
x = torch.linspace(-1.0, 1.0, 12).view(3, 4)
traced = fx.symbolic_trace(Gate(), concrete_args={"open": True})
"""

GRAPHS = _sharing(
    _GRAPHS,
    {
        "Traced module": "out = traced(x)",
        "Evaluated by hand": """
        values = {}
        for node in traced.graph.nodes:
            args = fx.node.map_arg(node.args, values.get)
            if node.op == "placeholder":
                values[node] = x if node.name == "x" else True
            elif node.op == "call_module":
                values[node] = traced.get_submodule(node.target)(*args)
            elif node.op == "call_function":
                values[node] = node.target(*args, **node.kwargs)
            elif node.op == "output":
                out = args[0]
        """,
        "Users of each node": """
        users = {node.name: [user.name for user in node.users] for node in traced.graph.nodes}
        """,
        "Nodes of a kind": """
        layers = traced.graph.find_nodes(op="call_module", target="linear")
        products = [node for node in traced.graph.nodes if node.target is torch.sigmoid]
        """,
        "Checked": "traced.graph.lint()",
        "As text": "text = str(traced.graph)",
    },
)

BENCHMARKS = flatten(
    {
        "Distributions": DISTRIBUTIONS,
        "Transforms": TRANSFORMS,
        "Parametrisation": PARAMETRISATION,
        "Own functions": FUNCTIONS,
        "Modes and subclasses": MODES,
        "Hooks": HOOKS,
        "Data": DATA,
        "Other optimizers": OPTIMIZERS,
        "Around optimizers": AROUND_OPTIMIZERS,
        "Containers": CONTAINERS,
        "Nested values": NESTED,
        "Text": TEXT,
        "Sequences": SEQUENCES,
        "Maths": MATHS,
        "Formats": FORMATS,
        "Images": IMAGES,
        "Selection": SELECTION,
        "Losses and scores": SCORES,
        "Loops": LOOPS,
        "Algorithms": ALGORITHMS,
        "Contexts": CONTEXTS,
        "Gradients of gradients": HIGHER,
        "Exchange": EXCHANGE,
        "Graphs": GRAPHS,
    }
)
