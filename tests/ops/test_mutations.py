"""Mutations of ops that the general tests must catch: a net is tested by what it lets through."""

from dataclasses import replace

import numpy as np
import pytest
import test_every_op as general
import test_signatures
import test_vectors

import backblocks as bb
from backblocks.ops import REGISTRY
from backblocks.ops._op import zero_gradient


def drop_gradient(op, patch):
    patch.setattr(op, "gradient", None)


def stop_gradient(op, patch):
    patch.setattr(op, "gradient", zero_gradient)


def forget_an_input(op, patch):
    whole = op.gradient
    patch.setattr(op, "gradient", lambda *given, **attrs: [*whole(*given, **attrs)[:-1], None])


def turn_gradient(op, patch):
    whole = op.gradient

    def turned(*given, **attrs):
        return [None if d is None else bb.ops.neg(d) for d in whole(*given, **attrs)]

    patch.setattr(op, "gradient", turned)


def refuse_second_gradient(op, patch):
    patch.setattr(REGISTRY["AvgPoolGrad"], "gradient", None)
    patch.setattr(REGISTRY["AvgPoolGrad"], "no_gradient_because", "It is left out.")


def drop_dtype(op, patch):
    names = tuple(name for name in op.dtypes["T"] if name != "float16")
    patch.setitem(op.dtypes, "T", names)
    patch.setitem(op._dtypes, "T", tuple(d for d in op._dtypes["T"] if d.name in names))


def wrap_in_int8(op, patch):
    whole = op.reference

    def wrong(x, y):
        return whole(x, y) + (x.dtype == np.int8)

    patch.setattr(op, "reference", wrong)
    patch.setattr(op, "kernels", [])


def widen_shape_rule(op, patch):
    patch.setattr(op, "shape_rule", lambda a, b, **attrs: (a.shape[0], b.shape[1]))


def drop_cases(op, patch):
    patch.setattr(op, "cases", [])


def drop_cases_of_numbers(op, patch):
    patch.setattr(op, "cases", [case for case in op.cases if not np.size(case.out)])


def forget_the_tail(op, patch):
    (kernel,) = op.kernels

    def plan(*specs, **attrs):
        fill = kernel.plan(*specs, **attrs)

        def short(*arrays):
            fill(*arrays)
            arrays[-1].reshape(-1)[-1:] = -1

        return fill and short

    patch.setattr(op, "kernels", [replace(kernel, plan=plan)])


def round_halves_twice(op, patch):
    whole = op.reference
    patch.setattr(op, "reference", lambda x: whole(x).astype(x.dtype) * 3 / 3)


def by_name(test):
    return lambda op: test(op.name)


def by_kernel(op):
    general.test_fast_kernels_agree_with_the_reference(op, op.kernels[0])


MUTATIONS = [
    ("Tanh", drop_gradient, general.test_is_complete),
    ("Tanh", stop_gradient, general.test_where_no_gradient_flows_nothing_changes),
    ("Mul", forget_an_input, general.test_gradient_is_the_slope),
    ("MaxPool", turn_gradient, general.test_gradient_is_the_slope),
    ("AvgPool", refuse_second_gradient, general.test_second_gradient_is_the_slope_of_the_first),
    (
        "Relu",
        drop_dtype,
        by_name(test_signatures.test_every_number_type_of_the_definition_is_there),
    ),
    ("Relu", drop_dtype, by_name(test_vectors.test_answers_as_tensorflow_does)),
    ("Add", wrap_in_int8, general.test_works_in_every_type_it_declares),
    (
        "Tanh",
        round_halves_twice,
        lambda op: general.test_half_types_round_once(op, general.HALVES[0]),
    ),
    ("MatMul", widen_shape_rule, general.test_refuses_with_a_clear_message),
    ("Relu", drop_cases, general.test_is_complete),
    ("Relu", drop_cases_of_numbers, general.test_works_in_every_type_it_declares),
    ("Relu", drop_cases_of_numbers, general.test_gradient_is_the_slope),
    ("MaxPool3D", forget_the_tail, by_kernel),
]


@pytest.mark.parametrize(
    ("name", "mutate", "test"), MUTATIONS, ids=[f"{name}: {m.__name__}" for name, m, _ in MUTATIONS]
)
def test_a_mutation_is_caught(name, mutate, test):
    op = REGISTRY[name]
    with pytest.MonkeyPatch.context() as patch:
        op.call_cache.clear()
        mutate(op, patch)
        with pytest.raises((AssertionError, bb.BackblocksError)):
            test(op)
    op.call_cache.clear()
