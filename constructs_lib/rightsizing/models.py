"""What the memory of a model is computed from: its parameters and, for a transformer, its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing import tables
from constructs_lib.validation import complaint, instance_of, integer, number, one_of, text

_MOST = 10**9  # of anything in a shape: beyond all models, and within what can be calculated with
_LARGEST_MODEL = 1e15
_COPY_IT = "copy it from the model's config.json"
_TYPICAL = ("llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
MODEL_KINDS = ("decoder", "encoder", "vision", "diffusion")


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The shape of a transformer, as its ``config.json`` states it.

    Attributes:
        layers: ``num_hidden_layers``.
        hidden: width of a layer, ``hidden_size``.
        heads: attention heads, ``num_attention_heads``.
        kv_heads: heads whose keys and values are kept, ``num_key_value_heads``. Default: as many as ``heads``
            (no grouped-query attention).
        head_dim: width of a head. Default: ``hidden`` divided by ``heads``.
        ffn: width inside the feed-forward block, ``intermediate_size``. Default: four times ``hidden``.
        vocab: entries of the embedding, ``vocab_size``. Default: not counted apart from the other parameters.
        tied: whether the output layer shares the embedding. Default: no.
        experts: feed-forward blocks of a layer in a mixture of experts. Default: 1.

    Raises:
        ArgumentError: a value is out of range, or ``heads`` is not a multiple of ``kv_heads``.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    vocab: int | None = None
    tied: bool | None = None
    experts: int | None = None

    def __post_init__(self) -> None:
        where = "ModelShape"
        for parameter in ("layers", "hidden", "heads"):
            integer(where, parameter, getattr(self, parameter), minimum=1, maximum=_MOST, cure=_COPY_IT)
        for parameter, default in (
            ("kv_heads", self.heads),
            ("head_dim", max(1, self.hidden // self.heads)),
            ("ffn", 4 * self.hidden),
            ("vocab", None),
            ("experts", 1),
        ):
            value = getattr(self, parameter)
            if value is not None:
                integer(where, parameter, value, minimum=1, maximum=_MOST, cure=_COPY_IT)
            else:
                object.__setattr__(self, parameter, default)
        if self.tied is None:
            object.__setattr__(self, "tied", False)
        instance_of(where, "tied", self.tied, bool, cure="write True or False")
        if self.heads % self.key_value_heads:
            rule = f"be a divisor of heads ({self.heads})"
            cure = "each key and value head serves a whole number of attention heads"
            raise ArgumentError(complaint(where, "kv_heads", rule, self.kv_heads, cure))

    @property
    def key_value_heads(self) -> int:
        """``kv_heads``, settled."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def head_width(self) -> int:
        """``head_dim``, settled."""
        return self.hidden // self.heads if self.head_dim is None else self.head_dim

    @property
    def feed_forward(self) -> int:
        """``ffn``, settled."""
        return 4 * self.hidden if self.ffn is None else self.ffn

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the embedding and the output layer, which quantised checkpoints keep in 16 bits."""
        return 0 if self.vocab is None else self.vocab * self.hidden * (1 if self.tied else 2)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A published model, or one that is known by its size only.

    Attributes:
        name: under which it is found, for example ``llama-3.1-8b``.
        kind: ``decoder`` (writes text token by token), ``encoder``, ``vision`` or ``diffusion``.
        parameters: all of them, with every expert of a mixture.
        shape: of a transformer. Default: not known.
        context: longest sequence in tokens. Default: not known.
        source: who says so. Default: the user.

    Raises:
        ArgumentError: a value is out of range.
    """

    name: str
    kind: str
    parameters: float
    shape: ModelShape | None = None
    context: int | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        where = "Model"
        text(where, "name", self.name, cure="name the model, for example 'llama-3.1-8b'")
        one_of(where, "kind", self.kind, MODEL_KINDS, cure="a model that writes text is a 'decoder'")
        cure = "count the parameters: 8.03e9 for 8 billion"
        number(where, "parameters", self.parameters, above=0, maximum=_LARGEST_MODEL, cure=cure)
        if self.shape is not None:
            instance_of(where, "shape", self.shape, ModelShape, cure="write ModelShape(layers=32, ...)")


@cache
def known_models() -> Mapping[str, Model]:
    """The published models that a workload can name, by name."""
    return MappingProxyType({row["name"]: _from_row(row) for row in tables.read("models.csv")})


def typical_model(parameters: float) -> Model:
    """A published model whose shape stands in for one of that many parameters that nobody stated.

    It is the smallest of the Llama 3 family that is not smaller. They keep keys and values of few heads, as models of
    today do, and the larger one of them keeps more in any case.
    """
    family = sorted((known_models()[name] for name in _TYPICAL), key=lambda each: each.parameters)
    return next((each for each in family if each.parameters >= parameters), family[-1])


def model_named(where: str, parameter: str, name: str) -> Model:
    """Return the model of that name; spelling by case, underscores or blanks does not matter."""
    text(where, parameter, name, cure="name a published model, for example 'llama-3.1-8b'")
    models = known_models()
    spelled = "-".join(name.strip().lower().replace("_", "-").split())
    if spelled in models:
        return models[spelled]
    cure = "for another model state parameters= and shape=ModelShape(...), or a measured memory_mib="
    one_of(where, parameter, spelled, tuple(models), cure=cure)
    return models[spelled]


def _from_row(row: Mapping[str, str]) -> Model:
    return Model(
        name=row["name"],
        kind=row["kind"],
        parameters=int(row["parameters"]),
        shape=_shape(row) if row["layers"] else None,
        context=int(row["context"]) if row["context"] else None,
        source=row["source"],
    )


def _shape(row: Mapping[str, str]) -> ModelShape:
    return ModelShape(
        layers=int(row["layers"]),
        hidden=int(row["hidden"]),
        heads=int(row["heads"]),
        kv_heads=int(row["kv_heads"]),
        head_dim=int(row["head_dim"]),
        ffn=int(row["ffn"]),
        vocab=int(row["vocab"]) if row["vocab"] else None,
        tied=row["tied"] == "yes",
        experts=int(row["experts"]),
    )
