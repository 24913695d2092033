"""`hopfieldphase learn`: trained attention, read with PyTorch."""

import typer

from hopfieldphase.cli import learn_capacity, learn_heads, learn_operators, options

app = typer.Typer(
    help="Look into trained attention (extra `learn`).", cls=options.Group, rich_markup_mode=None
)
app.command("heads", cls=options.Command, short_help="Find the phases of the heads of a checkpoint.")(
    learn_heads.heads
)
app.command("capacity", cls=options.Command, short_help="Train Transformers and load them with memories.")(
    learn_capacity.capacity
)
app.command("operators", cls=options.Command, short_help="Train maps between heavy-tailed measures.")(
    learn_operators.operators
)
app.command("temperature", cls=options.Command, short_help="Use trained Transformers at other temperatures.")(
    learn_capacity.temperature
)
