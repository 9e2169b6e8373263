"""The Python interface: count a statement, and look at where its instructions go.

.venv/bin/python examples/api.py
"""

from instruction_counts.api import Session


def main() -> None:
    """Print the count, and the three functions that spend most of it."""
    with Session() as session:
        found = session.count("x.sum()", "x = torch.ones((4, 4))")
    print(f"sum: {found.instructions:,} instructions per iteration")
    for row in found.table()[:3]:
        print(f"{row['instructions']:>8,}  {row['function']}")


if __name__ == "__main__":
    main()
