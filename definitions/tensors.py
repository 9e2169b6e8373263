"""Making tensors, computing with them element by element, copying them and reducing them."""

from core.api import GroupedStmts, GroupedVariants
from core.types import Definition
from core.utils import parse_stmts
from definitions.setup import Setup

EMPTY: Definition = GroupedVariants(
    *parse_stmts(r"""
    Python                                   | C++
    ---------------------------------------- | ----------------------------------------
    # @SETUP                                 | // @SETUP
    x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});

    # @Rank 0                                | // @Rank 0
    torch.empty(())                          | torch::empty(torch::IntArrayRef{});

    # @No elements                           | // @No elements
    torch.empty((0,))                        | torch::empty({0});

    # @4x4                                   | // @4x4
    torch.empty((4, 4))                      | torch::empty({4, 4});

                                             | // @C++, separate options
                                             | at::empty({4, 4}, {}, {}, {}, {}, {});

                                             | // @C++, out
                                             | torch::empty_out(x, {4, 4});

                                             | // @C++, no dispatcher
                                             | at::detail::empty_cpu({4, 4}, torch::kFloat);

    # @empty_like                            | // @empty_like
    torch.empty_like(x)                      | torch::empty_like(x);

    # @zeros                                 | // @zeros
    torch.zeros((4, 4))                      | torch::zeros({4, 4});

    # @arange                                | // @arange
    torch.arange(4)                          | torch::arange(4);

    # @From a list                           | // @From a list
    torch.tensor([1.0, 2.0])                 | torch::tensor({1.0, 2.0});
    """)
)

POINTWISE: Definition = {
    "Math": {
        "add": {
            "Tensor-Scalar": GroupedStmts(
                "z = x + 1.0",
                "auto z = x + 1.0;",
                setup=Setup.GENERIC.value,
                signature="f(x) -> z",
                torchscript=True,
            ),
            "Tensor-Tensor": GroupedStmts(
                "z = x + y_float",
                "auto z = x + y_float;",
                setup=Setup.GENERIC.value,
                signature="f(x, y_float) -> z",
                torchscript=True,
            ),
            "Tensor-Tensor, type promotion": GroupedStmts(
                "z = x + y_int",
                "auto z = x + y_int;",
                setup=Setup.GENERIC.value,
                signature="f(x, y_int) -> z",
                torchscript=True,
            ),
            None: GroupedVariants(
                *parse_stmts(r"""
                Python                                   | C++
                ---------------------------------------- | ---------------------------------
                # @SETUP                                 | // @SETUP
                x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
                row = torch.ones((1, 4))                 | auto row = torch::ones({1, 4});
                z = torch.ones((4, 4))                   | auto z = torch::ones({4, 4});

                # @Tensor-Tensor, broadcast              | // @Tensor-Tensor, broadcast
                x + row                                  | x + row;

                # @Tensor-Scalar, in-place               | // @Tensor-Scalar, in-place
                z += 1.0                                 | z += 1.0;

                # @Tensor-Tensor, out                    | // @Tensor-Tensor, out
                torch.add(x, x, out=z)                   | torch::add_out(z, x, x);
                """)
            ),
        },
        "mul": {
            "Tensor-Scalar, in-place": GroupedStmts(
                "x *= 1.0", "x *= 1.0;", setup=Setup.GENERIC.value
            ),
        },
        "div": {
            "Tensor-Tensor, integers": GroupedStmts(
                "z = y_int / y_int", "auto z = y_int / y_int;", setup=Setup.GENERIC.value
            ),
            "Tensor-Scalar, rounded": GroupedStmts(
                'z = torch.div(x, 0.3, rounding_mode="floor")',
                'auto z = torch::div(x, 0.3, "floor");',
                setup=Setup.GENERIC.value,
            ),
        },
    },
    "Unary": {
        "exp": GroupedStmts("z = x.exp()", "auto z = x.exp();", setup=Setup.GENERIC.value),
    },
    "Ternary": {
        "clamp": GroupedStmts(
            "z = x.clamp(0.25, 0.75)",
            setup=Setup.GENERIC.value,
            signature="f(x) -> z",
            torchscript=True,
        ),
        "where": GroupedStmts(
            "z = torch.where(y_int > 0, x, y_float)",
            setup=Setup.GENERIC.value,
            signature="f(x, y_float, y_int) -> z",
            torchscript=True,
        ),
    },
}

COMPARISON: Definition = {
    "Tensor-Scalar": GroupedStmts("z = x > 0.5", "auto z = x > 0.5;", setup=Setup.GENERIC.value),
    "Tensor-Tensor": GroupedStmts(
        "z = x == y_float",
        setup=Setup.GENERIC.value,
        signature="f(x, y_float) -> z",
        torchscript=True,
    ),
    "Tensor-Tensor, type promotion": GroupedStmts(
        "z = x < y_int", "auto z = x < y_int;", setup=Setup.GENERIC.value
    ),
    "equal": GroupedStmts(
        "z = torch.equal(x, x.clone())",
        "auto z = torch::equal(x, x.clone());",
        setup=Setup.GENERIC.value,
    ),
}

DATA_MOVEMENT: Definition = {
    "clone": GroupedStmts(
        "z = x.clone()",
        "auto z = x.clone();",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> z",
        torchscript=True,
    ),
    None: GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | -----------------------------------------
        # @SETUP                                 | // @SETUP
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
        z = torch.empty((4, 4))                  | auto z = torch::empty({4, 4});
        columns = x.t()                          | auto columns = x.t();
        counts = torch.ones(                     | auto counts = torch::ones(
            (4, 4), dtype=torch.int64)           |     {4, 4}, torch::kInt64);
        one = torch.ones(())                     | auto one = torch::ones(torch::IntArrayRef{});

        # @contiguous, nothing to do             | // @contiguous, nothing to do
        x.contiguous()                           | x.contiguous();

        # @contiguous, transposed                | // @contiguous, transposed
        columns.contiguous()                     | columns.contiguous();

        # @copy_                                 | // @copy_
        z.copy_(x)                               | z.copy_(x);

        # @copy_, converting                     | // @copy_, converting
        z.copy_(counts)                          | z.copy_(counts);

        # @zero_                                 | // @zero_
        z.zero_()                                | z.zero_();

        # @to dtype                              | // @to dtype
        x.to(torch.float64)                      | x.to(torch::kFloat64);

        # @item                                  | // @item
        one.item()                               | one.item<float>();
        """)
    ),
}

RANDOM: Definition = GroupedVariants(
    *parse_stmts(r"""
    Python                                   | C++
    ---------------------------------------- | ----------------------------------------
    # @SETUP                                 | // @SETUP
    torch.manual_seed(5)                     | torch::manual_seed(5);
    x = torch.empty((4, 4))                  | auto x = torch::empty({4, 4});

    # @rand                                  | // @rand
    torch.rand((4, 4))                       | torch::rand({4, 4});

    # @randint                               | // @randint
    torch.randint(0, 10, (4, 4))             | torch::randint(0, 10, {4, 4});

    # @normal_                               | // @normal_
    x.normal_()                              | x.normal_();

    # @bernoulli_                            | // @bernoulli_
    x.bernoulli_(0.5)                        | x.bernoulli_(0.5);
    """)
)

REDUCTION: Definition = {
    "sum": GroupedStmts(
        "z = x.sum()",
        "auto z = x.sum();",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> z",
        torchscript=True,
    ),
    None: GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});

        # @sum, one dimension                    | // @sum, one dimension
        x.sum(1)                                 | x.sum(1);

        # @max with indices                      | // @max with indices
        x.max(1)                                 | x.max(1);

        # @cumsum                                | // @cumsum
        x.cumsum(1)                              | x.cumsum(1);
        """)
    ),
}
