"""Inputs that many benchmarks share; use a member's ``.value``."""

import enum

from core.api import GroupedSetup
from core.utils import parse_stmts

_GENERIC = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        torch.manual_seed(20_10)                 | torch::manual_seed(2010);
        x = torch.rand((4, 4))                   | auto x = torch::rand({4, 4});
        y_float = torch.ones((4, 4))             | auto y_float = torch::ones({4, 4});
        y_int = torch.ones(                      | auto y_int = torch::ones(
            (4, 4), dtype=torch.int32)           |     {4, 4}, at::kInt);
    """)
)

_INDEXING = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
                                                 | using namespace torch::indexing;
        torch.manual_seed(20_11)                 | torch::manual_seed(2011);
        x = torch.randn((1, 1, 1))               | auto x = torch::randn({1, 1, 1});
        y = torch.randn((1, 1, 1))               | auto y = torch::randn({1, 1, 1});
        a = torch.zeros((100, 100, 1, 1, 1))     | auto a = torch::zeros({100, 100, 1, 1, 1});
        b = torch.arange(99, -1, -1)             | auto b = torch::arange(99, -1, -1);
    """)
)

_MESOSCALE = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
        y = torch.ones((4, 4))                   | auto y = torch::ones({4, 4});
        bias = torch.ones((1,))                  | auto bias = torch::ones({1});
        eye_4 = torch.eye(4)                     | auto eye_4 = torch::eye(4);
    """)
)

_TRAINING = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # Inputs                                 | // Inputs
        x = torch.ones((1,))                     | auto x = torch::ones({1});
        y = torch.ones((1,))                     | auto y = torch::ones({1});
                                                 |
        # Weights                                | // Weights
        w0 = torch.ones(                         | auto w0 = torch::ones({1});
            (1,), requires_grad=True)            | w0.set_requires_grad(true);
        w1 = torch.ones(                         | auto w1 = torch::ones({1});
            (1,), requires_grad=True)            | w1.set_requires_grad(true);
        w2 = torch.ones(                         | auto w2 = torch::ones({2});
            (2,), requires_grad=True)            | w2.set_requires_grad(true);
    """)
)

_MATRICES = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
        y = torch.ones((4, 4))                   | auto y = torch::ones({4, 4});
        v = torch.ones((4,))                     | auto v = torch::ones({4});
        a = torch.ones((2, 4, 4))                | auto a = torch::ones({2, 4, 4});
        b = torch.ones((2, 4, 4))                | auto b = torch::ones({2, 4, 4});
    """)
)

_PREDICTION = GroupedSetup(
    *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        torch.manual_seed(3)                     | torch::manual_seed(3);
        prediction = torch.rand(                 | auto prediction = torch::rand(
            (4, 4), requires_grad=True)          |     {4, 4}, torch::requires_grad());
        target = torch.rand((4, 4))              | auto target = torch::rand({4, 4});
        classes = torch.arange(4)                | auto classes = torch::arange(4);
    """)
)


class Setup(enum.Enum):
    """The shared inputs, by name.

    - ``TRIVIAL_2D``, ``_3D``, ``_4D``: ``x``, ones of size 4 in each dimension.
    - ``GENERIC``: ``x`` and ``y_float``, 4 by 4 floats, and ``y_int``, 4 by 4 int32.
    - ``INDEXING``: ``x`` and ``y`` of one element, ``a`` with 10,000, the index tensor ``b``.
    - ``MESOSCALE``: ``x``, ``y``, ``bias`` and ``eye_4`` for small mixed blocks.
    - ``TRAINING``: inputs ``x``, ``y`` and weights ``w0``, ``w1``, ``w2`` that require gradients.
    - ``MATRICES``: matrices ``x`` and ``y``, a vector ``v``, batches of two matrices ``a``, ``b``.
    - ``PREDICTION``: ``prediction``, which requires gradients, ``target`` and ``classes``.
    """

    TRIVIAL_2D = GroupedSetup("x = torch.ones((4, 4))", "auto x = torch::ones({4, 4});")
    TRIVIAL_3D = GroupedSetup("x = torch.ones((4, 4, 4))", "auto x = torch::ones({4, 4, 4});")
    TRIVIAL_4D = GroupedSetup("x = torch.ones((4, 4, 4, 4))", "auto x = torch::ones({4, 4, 4, 4});")
    GENERIC = _GENERIC
    INDEXING = _INDEXING
    MESOSCALE = _MESOSCALE
    TRAINING = _TRAINING
    MATRICES = _MATRICES
    PREDICTION = _PREDICTION
