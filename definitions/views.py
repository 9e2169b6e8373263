"""Reading and writing by index, what a tensor says about itself, views, joining and sorting."""

from core.api import GroupedSetup, GroupedStmts, GroupedVariants
from core.types import Definition
from core.utils import parse_stmts
from definitions.setup import Setup

INDEXING: Definition = {
    "Read": GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
                                                 | using namespace torch::indexing;
        x = torch.ones((4, 4, 4))                | auto x = torch::ones({4, 4, 4});
        index = torch.arange(3, -1, -1)          | auto index = torch::arange(3, -1, -1);

        # @Integer                               | // @Integer
        x[0]                                     | x.index({0});

        # @Slice                                 | // @Slice
        x[1:3]                                   | x.index({Slice(1, 3)});

        # @Ellipsis                              | // @Ellipsis
        x[...]                                   | x.index({"..."});

        # @None                                  | // @None
        x[None]                                  | x.index({None});

        # @Bool                                  | // @Bool
        x[True]                                  | x.index({true});

        # @Tensor                                | // @Tensor
        x[index]                                 | x.index({index});

        # @Mixed                                 | // @Mixed
        x[index, None, ..., 1:]                  | x.index({index, None, "...", Slice(1)});
        """)
    ),
    "Write": GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
                                                 | using namespace torch::indexing;
        x = torch.ones((4, 4, 4))                | auto x = torch::ones({4, 4, 4});
        y = torch.ones((1,))                     | auto y = torch::ones({1});
        index = torch.arange(3, -1, -1)          | auto index = torch::arange(3, -1, -1);

        # @Integer                               | // @Integer
        x[0] = y                                 | x.index_put_({0}, y);

        # @Slice                                 | // @Slice
        x[1:3] = y                               | x.index_put_({Slice(1, 3)}, y);

        # @Ellipsis                              | // @Ellipsis
        x[...] = y                               | x.index_put_({"..."}, y);

        # @Bool                                  | // @Bool
        x[True] = y                              | x.index_put_({true}, y);

        # @Tensor                                | // @Tensor
        x[index] = y                             | x.index_put_({index}, y);

        # @Number                                | // @Number
        x[0, 0, 0] = 2.0                         | x.index_put_({0, 0, 0}, 2.0);
        """)
    ),
    "gather": GroupedStmts(
        "z = torch.gather(x, 1, index)",
        setup=GroupedSetup("x = torch.ones((4, 4))\nindex = torch.arange(4).view(4, 1)"),
        signature="f(x, index) -> z",
        torchscript=True,
    ),
}

METADATA_AND_VIEWS: Definition = {
    # The C++ accessors are inline: without the volatile sink, the compiler would drop them.
    "Metadata": GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
                                                 | volatile int64_t sink = 0;

        # @size                                  | // @size
        x.size(1)                                | sink = x.size(1);

        # @numel                                 | // @numel
        x.numel()                                | sink = x.numel();

        # @is_contiguous                         | // @is_contiguous
        x.is_contiguous()                        | sink = x.is_contiguous();
        """)
    ),
    "Views": {
        "view": GroupedStmts(
            "z = x.view(2, 8)",
            "auto z = x.view({2, 8});",
            setup=Setup.TRIVIAL_2D.value,
            signature="f(x) -> z",
            torchscript=True,
        ),
        None: GroupedVariants(
            *parse_stmts(r"""
            Python                                   | C++
            ---------------------------------------- | -------------------------------------
            # @SETUP                                 | // @SETUP
            x = torch.ones((1, 4))                   | auto x = torch::ones({1, 4});

            # @transpose                             | // @transpose
            x.transpose(0, 1)                        | x.transpose(0, 1);

            # @expand                                | // @expand
            x.expand(4, 4)                           | x.expand({4, 4});

            # @unsqueeze                             | // @unsqueeze
            x.unsqueeze(0)                           | x.unsqueeze(0);

            # @as_strided                            | // @as_strided
            x.as_strided((4,), (1,))                 | x.as_strided({4}, {1});
            """)
        ),
    },
}

JOIN_AND_SPLIT: Definition = {
    "cat": GroupedStmts(
        "z = torch.cat([x, y])",
        "auto z = torch::cat({x, y});",
        setup=Setup.MATRICES.value,
        signature="f(x, y) -> z",
        torchscript=True,
    ),
    "stack": GroupedStmts(
        "z = torch.stack([x, y])", "auto z = torch::stack({x, y});", setup=Setup.MATRICES.value
    ),
    "split": GroupedStmts("z = x.split(2)", "auto z = x.split(2);", setup=Setup.MATRICES.value),
}

SORT_AND_SEARCH: Definition = GroupedVariants(
    *parse_stmts(r"""
    Python                                   | C++
    ---------------------------------------- | ----------------------------------------
    # @SETUP                                 | // @SETUP
    x = torch.arange(16.0).view(4, 4)        | auto x = torch::arange(16.0).view({4, 4});

    # @sort                                  | // @sort
    torch.sort(x)                            | torch::sort(x);

    # @topk                                  | // @topk
    torch.topk(x, 2)                         | torch::topk(x, 2);

    # @argmax                                | // @argmax
    torch.argmax(x)                          | torch::argmax(x);

    # @nonzero                               | // @nonzero
    torch.nonzero(x)                         | torch::nonzero(x);
    """)
)
