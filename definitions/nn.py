"""Matrix products, and the functions, modules and losses that networks are built from."""

from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants
from core.types import Definition
from core.utils import parse_stmts
from definitions.setup import Setup

MATMUL: Definition = {
    "mm": GroupedStmts(
        "z = torch.mm(x, y)",
        "auto z = torch::mm(x, y);",
        setup=Setup.MATRICES.value,
        signature="f(x, y) -> z",
        torchscript=True,
    ),
    "bmm": GroupedStmts(
        "z = torch.bmm(a, b)",
        setup=Setup.MATRICES.value,
        signature="f(a, b) -> z",
        torchscript=True,
    ),
    "matmul, broadcast": GroupedStmts(
        "z = a @ x", "auto z = a.matmul(x);", setup=Setup.MATRICES.value
    ),
    "addmm": GroupedStmts(
        "z = torch.addmm(v, x, y)", "auto z = torch::addmm(v, x, y);", setup=Setup.MATRICES.value
    ),
    "einsum": {
        "Matrix product": GroupedStmts(
            'z = torch.einsum("ij,jk->ik", x, y)',
            'auto z = torch::einsum("ij,jk->ik", {x, y});',
            setup=Setup.MATRICES.value,
        ),
        "Batched, three operands": GroupedStmts(
            'z = torch.einsum("bij,jk,k->bi", a, x, v)',
            'auto z = torch::einsum("bij,jk,k->bi", {a, x, v});',
            setup=Setup.MATRICES.value,
        ),
    },
}

NN_FUNCTIONAL: Definition = {
    "relu": GroupedStmts(
        "z = torch.nn.functional.relu(x)",
        "auto z = torch::relu(x);",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> z",
        torchscript=True,
    ),
    "softmax": GroupedStmts(
        "z = torch.nn.functional.softmax(x, 1)",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> z",
        torchscript=True,
    ),
    None: GroupedVariants(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # @SETUP                                 | // @SETUP
        import torch.nn.functional as F          | namespace F = torch::nn::functional;
        x = torch.ones((1, 2, 4, 4))             | auto x = torch::ones({1, 2, 4, 4});
        w = torch.ones((4, 4))                   | auto w = torch::ones({4, 4});

        # @linear                                | // @linear
        F.linear(x, w)                           | F::linear(x, w);

        # @layer_norm                            | // @layer_norm
        F.layer_norm(x, (4,))                    | torch::layer_norm(x, {4});

        # @scaled_dot_product_attention          | // @scaled_dot_product_attention
        F.scaled_dot_product_attention(x, x, x)  | torch::scaled_dot_product_attention(x, x, x);

        # @dropout, training                     | // @dropout, training
        F.dropout(x, 0.5)                        | torch::dropout(x, 0.5, /*train=*/true);
        """)
    ),
}

NN_MODULES: Definition = {
    "Linear": GroupedModules(
        "model = torch.nn.Linear(4, 2)",
        "auto model = torch::nn::Linear(4, 2);",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "Conv1d": GroupedModules(
        "model = torch.nn.Conv1d(4, 4, 2)",
        "auto model = torch::nn::Conv1d(torch::nn::Conv1dOptions(4, 4, 2));",
        setup=Setup.TRIVIAL_3D.value,
        signature="f(x) -> y",
    ),
    "Conv2d": GroupedModules(
        "model = torch.nn.Conv2d(4, 4, 2)",
        "auto model = torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 2));",
        setup=Setup.TRIVIAL_4D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "BatchNorm2d, training": GroupedModules(
        "model = torch.nn.BatchNorm2d(4)",
        "auto model = torch::nn::BatchNorm2d(4);",
        setup=Setup.TRIVIAL_4D.value,
        signature="f(x) -> y",
    ),
    "BatchNorm2d, evaluation": GroupedModules(
        "model = torch.nn.BatchNorm2d(4).eval()",
        setup=Setup.TRIVIAL_4D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "LayerNorm": GroupedModules(
        "model = torch.nn.LayerNorm(4)",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "MaxPool2d": GroupedModules(
        "model = torch.nn.MaxPool2d(2)",
        setup=Setup.TRIVIAL_4D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "GELU": GroupedModules(
        "model = torch.nn.GELU()",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "Dropout, evaluation": GroupedModules(
        "model = torch.nn.Dropout(0.5).eval()",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "Embedding": GroupedModules(
        "model = torch.nn.Embedding(4, 4)",
        "auto model = torch::nn::Embedding(4, 4);",
        setup=GroupedSetup("indices = torch.arange(4)", "auto indices = torch::arange(4);"),
        signature="f(indices) -> y",
        torchscript=True,
    ),
    "LSTM": GroupedModules(
        "model = torch.nn.LSTM(4, 4)",
        "auto model = torch::nn::LSTM(4, 4);",
        setup=Setup.TRIVIAL_3D.value,
        signature="f(x) -> y",
    ),
    "LSTMCell": GroupedModules(
        "model = torch.nn.LSTMCell(4, 4)",
        setup=Setup.TRIVIAL_2D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
    "GRU": GroupedModules(
        "model = torch.nn.GRU(4, 4)",
        "auto model = torch::nn::GRU(4, 4);",
        setup=Setup.TRIVIAL_3D.value,
        signature="f(x) -> y",
    ),
    "MultiheadAttention": GroupedModules(
        "model = torch.nn.MultiheadAttention(4, 2)",
        "auto model = torch::nn::MultiheadAttention(4, 2);",
        setup=GroupedSetup(
            *parse_stmts(r"""
            Python                                   | C++
            ---------------------------------------- | -------------------------------------
            query = torch.ones((4, 4, 4))            | auto query = torch::ones({4, 4, 4});
            key = torch.ones((4, 4, 4))              | auto key = torch::ones({4, 4, 4});
            value = torch.ones((4, 4, 4))            | auto value = torch::ones({4, 4, 4});
            """)
        ),
        signature="f(query, key, value) -> y",
    ),
    "Sequential": GroupedModules(
        """
        model = torch.nn.Sequential(
            torch.nn.Conv2d(4, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 2),
        ).eval()
        """,
        setup=Setup.TRIVIAL_4D.value,
        signature="f(x) -> y",
        torchscript=True,
    ),
}

LOSSES: Definition = {
    "mse_loss": GroupedStmts(
        "loss = torch.nn.functional.mse_loss(prediction, target)",
        "auto loss = torch::mse_loss(prediction, target);",
        setup=Setup.PREDICTION.value,
        signature="f(prediction, target) -> loss",
        autograd=True,
    ),
    "cross_entropy": GroupedStmts(
        "loss = torch.nn.functional.cross_entropy(prediction, classes)",
        "auto loss = torch::cross_entropy_loss(prediction, classes);",
        setup=Setup.PREDICTION.value,
        signature="f(prediction, classes) -> loss",
        torchscript=True,
        autograd=True,
    ),
    "BCEWithLogitsLoss": GroupedModules(
        "model = torch.nn.BCEWithLogitsLoss()",
        "auto model = torch::nn::BCEWithLogitsLoss();",
        setup=Setup.PREDICTION.value,
        signature="f(prediction, target) -> loss",
        autograd=True,
    ),
}
